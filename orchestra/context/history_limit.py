"""The last turns of a user: a turn begins with a message of the user."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.context.summary_message import head_length, is_user_turn
from orchestra.core.messages import Message


def limit(messages: Sequence[Message], turns: int | None, *, hysteresis: bool = False) -> Sequence[Message]:
    """``messages`` from the ``turns``-th message of the user from the end on, with a head summary in front.

    ``None``, 0 and less: unchanged. Only messages of the user count, not the notes and summaries that stand on their
    side.

    With ``hysteresis`` the view grows to ``ceil(1.5 turns)`` turns before it is cut back to ``turns``, so that its
    beginning, which providers cache, stays for a while. The cuts lie on a grid over the turn numbers in
    ``meta.turn``: where they are is told by the log alone, so a host that loaded only its end cuts at the same place.
    Messages without a number are counted on.
    """
    if turns is None or turns <= 0:
        return messages
    cut = _from_end(messages, turns)
    if hysteresis and cut:
        # Turn numbers may have gaps; never less than the plain limit shows.
        cut = min(cut, _on_grid(messages, turns))
    head = head_length(messages)
    return messages if cut <= head else [*messages[:head], *messages[cut:]]


def _from_end(messages: Sequence[Message], turns: int) -> int:
    """The place of the ``turns``-th message of the user from the end; 0 when there are no more of them."""
    seen = 0
    kept = 0
    for place in range(len(messages) - 1, -1, -1):
        if is_user_turn(messages[place]):
            seen += 1
            if seen > turns:
                return kept
            kept = place
    return 0


def _on_grid(messages: Sequence[Message], turns: int) -> int:
    """The place of the first turn after the last line of the grid."""
    spacing = -(-3 * turns // 2) - turns + 1
    numbered = _numbered(messages)
    first = (numbered[-1][0] - turns) // spacing * spacing + 1
    return next(place for number, place in numbered if number >= first)


def _numbered(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(turn number, place) of each message of the user; numbers never fall."""
    out: list[tuple[int, int]] = []
    number = 0
    for place, message in enumerate(messages):
        if is_user_turn(message):
            number = max(number, message.meta.turn) if message.meta.turn else number + 1
            out.append((number, place))
    return out
