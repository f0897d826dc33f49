"""What holds for every list of messages that a model is shown: the one checker, for tests and for the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.context.summary_message import is_summary
from orchestra.core.messages import Message


def faults(messages: Sequence[Message], *, newest: Message | None = None, summary: Message | None = None) -> list[str]:
    """What is wrong with ``messages``, one line each; nothing is wrong with an empty list.

    Results stand in call order right after their calls, one for each; there is no result without its call.
    ``newest`` is the user's newest message, ``summary`` the summary at the head: both must be there. A step may shorten
    or redact the newest message; it counts as kept when a user's message with its ``meta.seq`` is there.
    """
    found = []
    place = 0
    while place < len(messages):
        message, asked = messages[place], place
        place += 1
        if message.role == "tool":
            found.append(f"message {asked}: a result of {message.tool_call_id!r} without its call")
            continue
        if message.tool_calls and message.role != "assistant":
            found.append(f"message {asked}: a {message.role} message makes calls")
            continue
        for call in message.tool_calls:
            if not call.id or not call.name:
                found.append(f"message {asked}: a call without id or name")
            answer = messages[place] if place < len(messages) else None
            if answer is None or answer.role != "tool" or answer.tool_call_id != call.id:
                found.append(f"message {asked}: the result of {call.id!r} does not stand in its place")
                break
            place += 1
    if newest is not None and not any(_same(message, newest) for message in messages):
        found.append("the user's newest message is gone")
    if summary is not None and not (messages and is_summary(messages[0]) and messages[0] == summary):
        found.append("the summary does not stand at the head")
    return found


def _same(message: Message, newest: Message) -> bool:
    if message is newest or message == newest:
        return True
    return message.role == newest.role == "user" and message.meta.seq == newest.meta.seq != 0
