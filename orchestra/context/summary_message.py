"""The message that stands at the head of a view in place of the messages a summary took the place of."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.context.blocks import neutralised, restored
from orchestra.core.messages import Message, Meta

OPENING = "<summary>\n"
CLOSING = "\n</summary>"


def summary_message(text: str) -> Message:
    """The message that shows a summary: from the user's side, made by nobody (``meta.synthetic``).

    Not a system message: several providers join those in front, before the instructions that they must follow.
    """
    return Message("user", f"{OPENING}{neutralised(text)}{CLOSING}", meta=Meta(synthetic=True))


def is_summary(message: Message) -> bool:
    """Whether a message was made by :func:`summary_message`. A user who types the tag makes no summary."""
    if message.role != "user" or not message.meta.synthetic:
        return False
    return isinstance(message.content, str) and message.content.startswith(OPENING)


def summary_text(message: Message) -> str:
    """The summary that :func:`summary_message` was given."""
    return restored(message.text[len(OPENING) : -len(CLOSING)])


def head_length(messages: Sequence[Message]) -> int:
    """How many messages at the start are summaries: what every step keeps in front."""
    for place, message in enumerate(messages):
        if not is_summary(message):
            return place
    return len(messages)


def is_user_turn(message: Message) -> bool:
    """Whether a person (or another agent) said this: notes and summaries that the runtime put in do not count."""
    return message.role == "user" and not message.meta.synthetic


def newest_user(messages: Sequence[Message]) -> int | None:
    """The place of the newest message of the user."""
    return next((place for place in range(len(messages) - 1, -1, -1) if is_user_turn(messages[place])), None)
