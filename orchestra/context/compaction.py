"""When a summary takes the place of older messages, and where the cut is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestra.context.flush_gate import reserve_floor_of
from orchestra.context.gate import Gate
from orchestra.context.splitting import legal_places
from orchestra.context.summary_message import head_length, is_user_turn, newest_user
from orchestra.core.conversation import Compaction, Pressure
from orchestra.core.messages import Message

KEEP_RECENT = 20_000


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the kept messages begin.

    ``index`` is that of the first message kept; 0: nothing can be freed. ``turn_start`` is where the turn began that
    the cut goes through, ``None`` when it goes between turns; the messages from there up to ``index`` are summarised
    separately. ``carried`` is the newest user message when it stands before the cut: it is shown all the same.
    """

    index: int
    turn_start: int | None = None
    carried: int | None = None


def keep_recent_of(window: int, configured: int | None) -> int:
    """Tokens of recent messages that stay as they are: as configured, else min(20000, W/4)."""
    return configured if configured is not None else min(KEEP_RECENT, window // 4)


def compaction_due(tokens: int, window: int, settings: Compaction, pressure: Pressure | None) -> Gate:
    """Whether the context (``tokens`` now) is to be compacted.

    It is when it leaves less than the reserve free, and with ``pressure`` also from its ``evict_at`` share of the
    window on, whichever comes first: at 100 % of the window there would be no room left for a reply.
    """
    if not settings.enabled:
        return Gate(False, "compaction is off")
    limit = window - reserve_floor_of(window, settings.reserve_floor)
    if tokens > limit:
        return Gate(True, f"{tokens} tokens, more than the {limit} that leave room for a reply")
    if pressure is not None and tokens >= pressure.evict_at * window:
        return Gate(True, f"{tokens} tokens, at least {pressure.evict_at:.0%} of the window of {window}")
    return Gate(False, f"{tokens} tokens, a compaction is due above {limit}")


def cut(messages: Sequence[Message], tokens: Sequence[int], keep_recent: int, *, protected: int | None = None) -> Cut:
    """The cut that keeps as much as fits into ``keep_recent`` tokens, and never parts a call from its result.

    When not even what follows the latest legal place fits, the cut is there: freeing something beats freeing nothing.

    Args:
        messages: what is shown of the log, repaired. A summary at the head is no message: a cut right behind it would
            free nothing.
        tokens: their estimates, one for each.
        keep_recent: tokens.
        protected: the index of a message (a pending approval) that must be kept with all that follow.
    """
    head = head_length(messages)
    if sum(tokens) - sum(tokens[:head]) <= keep_recent:
        return Cut(0)
    kept, end, best = 0, len(messages), 0
    for at in legal_places(messages):
        kept += sum(tokens[at:end])
        end = at
        if at <= head or (best and kept > keep_recent):
            break
        if protected is not None and at > protected:
            continue
        best = at
        if kept > keep_recent:
            break
    return cut_at(messages, best)


def cut_at(messages: Sequence[Message], index: int) -> Cut:
    """The cut in front of ``messages[index]``, with what follows from it."""
    if index <= 0:
        return Cut(0)
    newest = newest_user(messages)
    carried = newest if newest is not None and newest < index else None
    if is_user_turn(messages[index]):
        return Cut(index, None, carried)
    head = head_length(messages)
    start = next((at for at in range(index - 1, head - 1, -1) if is_user_turn(messages[at])), head)
    while start > head and is_user_turn(messages[start - 1]):
        start -= 1
    return Cut(index, start, carried)


def kept_after(messages: Sequence[Message], at: Cut) -> Sequence[Message]:
    """The messages that stay: those from the cut on, the newest user message in front when it stood before the cut."""
    if not at.index:
        return messages
    kept = messages[at.index :]
    return kept if at.carried is None else [messages[at.carried], *kept]
