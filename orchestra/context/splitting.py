"""Where a list of messages may be cut: only between complete groups of a tool call and its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestra.core.messages import Message


def legal_places(messages: Sequence[Message]) -> Iterator[int]:
    """The indices in front of which a cut may be, the newest first; lazy, so a cut near the end costs little.

    A message there is no tool result, and no call stands before it with its result behind it, also when the result
    comes late. Results pair within a frame: from a message with calls up to the next one with calls.
    """
    waiting: set[str | None] = set()  # ids of results whose call, further in front, was not seen yet
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "tool":
            waiting.add(message.tool_call_id)
            continue
        if message.tool_calls:
            waiting.clear()
        if not waiting:
            yield at


def groups(messages: Sequence[Message]) -> list[range]:
    """The smallest pieces that may be parted from each other, in order; together they are all messages."""
    if not messages:
        return []
    starts = list(legal_places(messages))
    if starts[-1:] != [0]:
        starts.append(0)  # results without a call, of a log that was not repaired
    starts.reverse()
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(messages)], strict=True)]


def split_by_share(messages: Sequence[Message], tokens: Sequence[int], parts: int) -> list[range]:
    """At most ``parts`` ranges of indices with about the same tokens each; none is empty, together they are all.

    ``tokens[i]`` are the estimated tokens of ``messages[i]``. There are fewer when there are fewer groups.
    """
    pieces = groups(messages)
    sizes = [sum(tokens[piece.start : piece.stop]) for piece in pieces]
    total = sum(sizes)
    made: list[range] = []
    last, before = -1, 0
    for piece, size in zip(pieces, sizes, strict=True):
        # A group belongs to the part in which its middle lies: no part is off by more than half a group.
        part = min(parts - 1, (2 * before + size) * parts // (2 * total)) if total else 0
        before += size
        if part == last:
            made[-1] = range(made[-1].start, piece.stop)
        else:
            made.append(piece)
            last = part
    return made


def split_by_maximum(messages: Sequence[Message], tokens: Sequence[int], maximum: int) -> list[range]:
    """Ranges of indices of at most ``maximum`` tokens each; a group that is larger stands alone."""
    made: list[range] = []
    filled = 0
    for piece in groups(messages):
        size = sum(tokens[piece.start : piece.stop])
        if made and filled + size <= maximum:
            made[-1] = range(made[-1].start, piece.stop)
            filled += size
        else:
            made.append(piece)
            filled = size
    return made
