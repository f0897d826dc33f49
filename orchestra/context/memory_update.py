"""Edits of blocks since they were rendered, as a note: the prefix of the prompt stays, and so does its cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestra.context.blocks import neutralised, render
from orchestra.core.blocks import BlockView
from orchestra.core.tokens import text_tokens


def pinned_notes(pinned: Sequence[BlockView], now: Sequence[BlockView]) -> str:
    """The ``<memory_update>`` note that makes of ``pinned``, the blocks as rendered, what they are ``now``.

    A changed value is given by its changed lines when they are fewer characters than all of it. Blocks that were
    attached, detached or renamed are named. An empty text: nothing that a model sees has changed.
    """
    before = {(block.id, block.born): block for block in pinned}
    present = {(block.id, block.born) for block in now}
    lines = [f"  <detached>{block.label}</detached>" for block in pinned if (block.id, block.born) not in present]
    for block in now:
        old = before.get((block.id, block.born))
        lines.extend(_attached(block) if old is None else _changed(old, block))
    if not lines:
        return ""
    intro = "  Since the memory blocks above were written they have changed; this is how they are now."
    return "\n".join(("<memory_update>", intro, *lines, "</memory_update>"))


def notes_too_large(notes: str, limit: int, *, estimate: Callable[[str], int] = text_tokens) -> bool:
    """Whether the blocks are better rendered afresh: the notes are larger than ``limit`` tokens."""
    return len(notes) > 0 and estimate(notes) > limit


def _attached(block: BlockView) -> list[str]:
    body = render((block,)).removeprefix("<memory_blocks>\n").removesuffix("\n</memory_blocks>")
    return [f"  <attached>{block.label}</attached>", body]


def _changed(old: BlockView, new: BlockView) -> list[str]:
    inner: list[str] = []
    if old.label != new.label:
        inner.append(f"    <renamed_from>{old.label}</renamed_from>")
    if old.description != new.description:
        inner.append(f"    <description>{neutralised(new.description)}</description>")
    if old.value != new.value or old.limit != new.limit or old.read_only != new.read_only:
        read_only = f" read_only={'true' if new.read_only else 'false'}" if old.read_only or new.read_only else ""
        inner.append(f"    <metadata>chars_current={len(new.value)} chars_limit={new.limit}{read_only}</metadata>")
    if old.value != new.value:
        inner.append(_value(old.value, new.value))
    return [f"  <{new.label}>", *inner, f"  </{new.label}>"] if inner else []


def _value(old: str, new: str) -> str:
    """The new value, or the one stretch of lines in which everything lies that changed."""
    whole = f"    <value>{neutralised(new)}</value>"
    was, now = old.split("\n"), new.split("\n")
    most = min(len(was), len(now))
    head = next((at for at in range(most) if was[at] != now[at]), most)
    tail = next((at for at in range(most - head) if was[-1 - at] != now[-1 - at]), most - head)
    gone, come = range(head + 1, len(was) - tail + 1), now[head : len(now) - tail]
    if not gone:
        place = f"after line {head}" if head else "before line 1"
    else:
        place = f"in place of line {gone[0]}" if len(gone) == 1 else f"in place of lines {gone[0]} to {gone[-1]}"
    lines = neutralised("\n".join(come)) if come else "(nothing: removed)"
    part = f"    <changed_lines>{place} of the value:\n{lines}</changed_lines>"
    return part if len(part) < len(whole) else whole
