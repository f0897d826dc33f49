"""The last turns, the last messages, or those that a predicate lets pass: never without what every view keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestra.context.history_limit import limit
from orchestra.context.repair import repair
from orchestra.context.summary_message import head_length, newest_user
from orchestra.core.conversation import Window
from orchestra.core.messages import Message


def last_ones(messages: Sequence[Message], window: Window) -> Sequence[Message]:
    """The strategy ``window``: the last turns, or the last messages, repaired, and what every view keeps."""
    whole = repair(messages)
    if window.messages is not None:
        return last_messages(whole, window.messages)
    return repair(limit(whole, window.turns))


def last_messages(messages: Sequence[Message], count: int) -> Sequence[Message]:
    """The last ``count`` messages, with a head summary and the user's newest message in front when they are older.

    Where a call would be parted from its results, it goes with them: there may be fewer. Unchanged when all fit.
    """
    head = head_length(messages)
    cut = max(head, len(messages) - count)
    newest = newest_user(messages)
    older = [messages[newest]] if newest is not None and head <= newest < cut else []
    if cut == head + len(older):
        return messages
    return repair([*messages[:head], *older, *messages[cut:]])


def passing(messages: Sequence[Message], predicate: Callable[[Message], bool]) -> Sequence[Message]:
    """The messages that pass, with a head summary and the user's newest message whether they pass or not.

    A call and its result go together: when one does not pass, the other does not either; the text beside a call stays.
    Unchanged when all pass.
    """
    messages = repair(messages)
    head, newest = head_length(messages), newest_user(messages)
    kept = [message for place, message in enumerate(messages) if place < head or place == newest or predicate(message)]
    return messages if len(kept) == len(messages) else repair(kept, unanswered="drop")
