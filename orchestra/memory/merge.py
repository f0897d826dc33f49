"""Three-way merge of texts by lines: what a pass and the primary changed at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from merge3 import Merge3


@dataclass(frozen=True, slots=True)
class Merged:
    """``text`` holds both sides' changes; where they overlap it holds ``ours``, and ``conflicts`` counts the places."""

    text: str
    conflicts: int


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Both changes of ``base``. Two insertions at one place are no conflict: ours comes first, then theirs."""
    if ours in (base, theirs):
        return Merged(theirs, 0)
    if theirs == base:
        return Merged(ours, 0)
    lines: list[str] = []
    conflicts = 0
    for region in Merge3(_lines(base), _lines(ours), _lines(theirs)).merge_groups():
        if region[0] != "conflict":
            lines.extend(region[1])
            continue
        both = _joined(*region[1:])
        conflicts += both is None
        lines.extend(region[2] if both is None else both)
    return Merged("\n".join(lines), conflicts)


def _joined(old: list[str], mine: list[str], other: list[str]) -> list[str] | None:
    """Both changes of ``old`` where they only touch: one wrote before or behind it; ``None`` where they overlap."""
    size = len(old)
    for changed, kept in ((mine, other), (other, mine)):
        if kept[:size] == old:
            return changed + [line for line in kept[size:] if line not in changed]
        if kept[-size:] == old:
            return [line for line in kept[:-size] if line not in changed] + changed
    return None


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []
