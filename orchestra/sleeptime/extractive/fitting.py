"""Making the lines fit the block's limit."""

from __future__ import annotations

from collections.abc import Iterable

from orchestra.sleeptime.extractive.ledger import Entry
from orchestra.sleeptime.extractive.line import Line
from orchestra.sleeptime.extractive.salience import salience


def fitted(entries: Iterable[Entry], limit: int, purpose: frozenset[str]) -> tuple[Line, ...]:
    """The entries that fit, in order: the least salient go first, of equals the oldest, typed ones last."""
    ordered = list(entries)
    size = sum(len(entry.text) + 1 for entry in ordered) - 1
    if size > limit:

        def worth(entry: Entry) -> tuple[bool, float, int, int]:
            bonus = 0.5 if purpose & entry.claim.terms else 0.0
            return entry.typed, round(salience(entry.text) + bonus, 3), max(entry.sources, default=0), entry.number

        dropped: set[int] = set()
        for entry in sorted(ordered, key=worth):
            if size <= limit or len(dropped) == len(ordered) - 1:
                break
            dropped.add(entry.number)
            size -= len(entry.text) + 1
        ordered = [entry for entry in ordered if entry.number not in dropped]
    return tuple(Line(_cut(entry.text, limit), entry.sources) for entry in ordered)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    if limit < 2:
        return text[:limit]
    head = text[: limit - 1]
    space = len(head) if text[limit - 1].isspace() else head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip() + "…"
