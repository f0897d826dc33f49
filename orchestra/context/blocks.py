"""Blocks in the prompt: the same blocks give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestra.core.blocks import BlockView

# Only what would close a tag is neutralised: ``</value>`` (and ``</value >``, which closes it) becomes ``<\/value>``.
# One backslash is added to any number that stands there already, so it can be undone exactly.
_CLOSING = re.compile(r"<(\\*)/(?=[A-Za-z][A-Za-z0-9_-]*\s*>)")
_NEUTRALISED = re.compile(r"<\\(\\*)/(?=[A-Za-z][A-Za-z0-9_-]*\s*>)")


def neutralised(text: str) -> str:
    """``text`` in which no tag is closed."""
    return _CLOSING.sub(r"<\\\1/", text) if "/" in text else text


def restored(text: str) -> str:
    """The inverse of :func:`neutralised`: what a model quotes from the prompt, as it stands in the block."""
    return _NEUTRALISED.sub(r"<\1/", text) if "\\" in text else text


def render(blocks: Sequence[BlockView], *, numbered: bool = False) -> str:
    """The ``<memory_blocks>`` envelope, in the order of ``blocks``; no blocks give an empty text.

    ``numbered`` puts ``1→`` and so on in front of each line, for a sleep-time agent.
    """
    if not blocks:
        return ""
    return "\n".join(["<memory_blocks>", *(_one(block, numbered) for block in blocks), "</memory_blocks>"])


def _one(block: BlockView, numbered: bool) -> str:
    value = neutralised(block.value)
    if numbered and value:
        value = "\n".join(f"{number}→{line}" for number, line in enumerate(value.split("\n"), 1))
    read_only = " read_only=true" if block.read_only else ""
    return "\n".join(
        (
            f"  <{block.label}>",
            f"    <description>{neutralised(block.description)}</description>",
            f"    <metadata>chars_current={len(block.value)} chars_limit={block.limit}{read_only}</metadata>",
            f"    <value>{value}</value>",
            f"  </{block.label}>",
        )
    )
