"""The fixed instructions under memory pressure name what the agent has, and nothing else."""

from __future__ import annotations

from typing import get_args

from orchestra.context.zones import Tier, fixed_instructions

ALL: tuple[Tier, ...] = get_args(Tier)
TOOLS = (
    "core_memory_append",
    "conversation_search",
    "archival_memory_search",
    "memory_file_append",
    "retrieve_offloaded",
)


def test_every_tier_is_explained_with_the_tools_that_are_there() -> None:
    text = fixed_instructions(ALL, tools=TOOLS)
    assert all(text.count(name) == 1 for name in TOOLS)
    assert "archival_memory_insert" not in text
    assert "core_memory_replace" not in text
    assert len(text.splitlines()) == 2 + len(ALL)


def test_absent_tiers_are_not_mentioned() -> None:
    text = fixed_instructions(("recall",), tools=TOOLS)
    assert "conversation_search" in text
    assert "archive" not in text
    assert "memory_blocks" not in text
    assert "Tools:" not in fixed_instructions(("blocks",), tools=())


def test_the_same_tiers_give_the_same_bytes() -> None:
    assert fixed_instructions(ALL, tools=TOOLS) == fixed_instructions(ALL, tools=set(TOOLS))
