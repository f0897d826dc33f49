"""Blocks in the process behave as the server's do."""

from __future__ import annotations

import random

import pytest

from orchestra.core.blocks import Block, BlockView
from orchestra.core.errors import OrchestraError
from orchestra.experiments.memory_drafts import MemoryDrafts
from orchestra.memory import edits
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store

WORDS = ("", "a", "b", "a b", "tee\nbag", "é", "x" * 30, "\n", "aa")


def random_edit(rng: random.Random) -> edits.Edit:
    kind = rng.randrange(4)
    if kind == 0:
        return edits.append(rng.choice(WORDS))
    if kind == 1:
        return edits.replace(rng.choice(WORDS[1:]), rng.choice(WORDS))
    if kind == 2:
        return edits.insert(rng.choice(WORDS), rng.randint(-2, 5))
    return edits.rethink(rng.choice(WORDS))


@pytest.mark.parametrize("seed", range(6))
async def test_any_edits_come_to_the_same(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    blocks = BlockStore(store)
    declared = Block(label="memory", value="a\nb", limit=40, description="d")
    await blocks.create("m", declared, "a", "test")
    server = RunBlocks(blocks, "test", f"run-{seed}", ("m",), {"m": "write"})
    local = MemoryDrafts(BlockView(id="m", label="memory", value="a\nb", limit=40))
    refused = 0
    for number in range(60):
        edit = random_edit(rng)
        found = await blocks.read("m")
        assert found is not None
        server.refresh([found])
        expected = rng.choice((None, found.version, found.version - 1))
        outcomes = []
        for one in (server, local):
            try:
                done = await one.edit("memory", edit, str(number), expected)
                outcomes.append((done.version, done.chars, done.limit, done.changed))
            except OrchestraError as error:
                outcomes.append((type(error), error.args))
        refused += isinstance(outcomes[0][0], type)
        assert outcomes[0] == outcomes[1], edit
        found = await blocks.read("m")
        assert found is not None
        assert found.value == local.by_label("memory").value
    assert 5 < refused < 55
