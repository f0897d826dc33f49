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
        _, old, mine, other = region
        if not old:
            lines.extend(mine)
            lines.extend(line for line in other if line not in mine)
        elif mine[: len(old)] == old and other[: len(old)] == old:
            lines.extend(mine)
            lines.extend(line for line in other[len(old) :] if line not in mine)
        else:
            conflicts += 1
            lines.extend(mine)
    return Merged("\n".join(lines), conflicts)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []
