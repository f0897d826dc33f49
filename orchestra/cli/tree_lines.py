"""A run's tree as lines of text: one for each node, tool call and handoff, none longer than the screen is wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from orchestra.cli.run_tree import Change, TreeItem

MARKS = {
    "running": ("●", "cyan"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "interrupted": ("?", "yellow"),
    "cancelled": ("×", "yellow"),
    "limit": ("!", "yellow"),
    "skipped": ("-", "dim"),
}
GIVEN = 32
MANY = 6
"""So many items of one ``map`` are shown by themselves; of more only those that stand out."""


def tree_lines(root: TreeItem, width: int, *, seconds: Callable[[TreeItem], float | None]) -> list[Text]:
    """The whole tree. ``seconds`` tells how long an item took, or has been running, if it is known."""
    return [_line(root, "", "", width, seconds), *_below(root, "", width, seconds)]


def plain_line(change: Change, width: int, *, seconds: float) -> Text | None:
    """What has just ended, on a line of its own with what it is part of; ``None`` for what would be too much.

    Of a ``map`` the first items are told, and what happened inside the very first one; all that failed is.
    """
    item, above = change.item, change.above
    inside = any(one.place > 0 for one in above if one.group)
    if item.status == "running" or (item.status != "failed" and (inside or (item.group and item.place >= MANY))):
        return None
    way = "".join(f"{one.label} › " for one in above)
    return _cut(Text.assemble((way, "dim"), item_text(item, seconds=seconds)), width)


def summaries(root: TreeItem) -> list[Text]:
    """A line for each large ``map``, of which :func:`plain_line` tells only the first items."""
    found: list[Text] = []
    for group in dict.fromkeys(one.group for one in root.items if one.group):
        mine = [one for one in root.items if one.group == group]
        if len(mine) > MANY:
            found.append(_summary(group, mine))
    for item in root.items:
        if not item.group:
            found += summaries(item)
    return found


def item_text(item: TreeItem, *, seconds: float | None) -> Text:
    """An item in one line: what it is, what it cost, what came out of it."""
    mark, style = MARKS[item.status]
    if item.kind == "handoff":
        return Text.assemble(("→ ", "magenta"), (item.label, "bold"), (f"  {_one_line(item.note)}", "dim"))
    text = Text.assemble((f"{mark} ", style), (item.label, "" if item.kind == "tool" else "bold"))
    if item.kind == "tool" and not item.agent:
        text.append(f"({item.given if len(item.given) <= GIVEN else item.given[: GIVEN - 1] + '…'})", "dim")
    elif item.agent and item.agent != item.key.split("#")[0] and item.agent != item.label:
        text.append(f" ({item.agent})", "dim")
    timed = seconds is not None and (item.kind != "tool" or bool(item.agent) or seconds >= 0.1)
    facts = [f"{seconds:.2f} s"] if timed else []
    if item.tokens:
        facts.append(f"{item.tokens:,} tokens")
    if item.status not in ("running", "completed", "failed"):
        facts.append("waits for an answer" if item.status == "interrupted" else item.status)
    text.append("  " + ", ".join(facts) if facts else "", "dim")
    note = _one_line(item.said if item.status == "running" else item.note)
    if note:
        text.append(f"  {note}", "red" if item.status == "failed" else "dim")
    return text


def _below(item: TreeItem, before: str, width: int, seconds: Callable[[TreeItem], float | None]) -> list[Text]:
    out: list[Text] = []
    shown = _grouped(item.items)
    for i, one in enumerate(shown):
        last = i == len(shown) - 1
        branch, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if isinstance(one, Text):
            out.append(_cut(Text.assemble((before + branch, "dim"), one), width))
            continue
        out.append(_line(one, before + branch, before + rest, width, seconds))
        out += _below(one, before + rest, width, seconds)
    return out


def _line(item: TreeItem, before: str, _: str, width: int, seconds: Callable[[TreeItem], float | None]) -> Text:
    return _cut(Text.assemble((before, "dim"), item_text(item, seconds=seconds(item))), width)


def _grouped(items: Sequence[TreeItem]) -> list[TreeItem | Text]:
    """The items, those of a large ``map`` as one line with numbers and, below it, the ones that failed or wait."""
    sizes: dict[str, int] = {}
    for item in items:
        sizes[item.group] = sizes.get(item.group, 0) + 1
    out: list[TreeItem | Text] = []
    told: set[str] = set()
    for item in items:
        if not item.group or sizes[item.group] <= MANY:
            out.append(item)
        elif item.group not in told:
            told.add(item.group)
            mine = [one for one in items if one.group == item.group]
            out.append(_summary(item.group, mine))
            out += [one for one in mine if one.status not in ("running", "completed", "skipped")][:MANY]
    return out


def _summary(group: str, items: Sequence[TreeItem]) -> Text:
    node, _, visit = group.rpartition("#")
    name = node if visit == "1" else f"{node}, visit {visit}"
    counts: dict[str, int] = {}
    for item in items:
        counts[item.status] = counts.get(item.status, 0) + 1
    mark, style = MARKS["running" if "running" in counts else "failed" if "failed" in counts else "completed"]
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    tokens = sum(item.tokens for item in items)
    facts = f"  {len(items)} items: {said}" + (f", {tokens:,} tokens" if tokens else "")
    return Text.assemble((f"{mark} ", style), (name, "bold"), (facts, "dim"))


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    text.rstrip()
    return text


def _one_line(text: str) -> str:
    return " ".join(text[:400].split())
