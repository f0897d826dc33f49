"""What is in the archive of an agent that was deleted: kept, found again, counted, or deleted with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from orchestra import Agent, Runtime
from orchestra.core.errors import UnknownName
from orchestra.store.connection import Store
from orchestra.testing import ScriptedModel
from tests.indexes import INDEXES, index_or_skip


@pytest.fixture(params=INDEXES)
async def runtime(request: pytest.FixtureRequest, each_store: Store) -> AsyncIterator[Runtime]:
    config = {
        "redis": {"url": each_store.url},
        "namespace": each_store.keys.namespace,
        "embeddings": {"model": "tests.meanings:make", "index": await index_or_skip(each_store, request.param)},
    }
    async with Runtime.start(config, inline=True) as made:
        yield made


async def filled(runtime: Runtime) -> Agent:
    agent = Agent(name="a", model=ScriptedModel([]), archive=True)
    await runtime.register(agent)
    await runtime.passages.insert("a", "the boat is blue", ["x"])
    await runtime.passages.insert("a", "the boat of ana", user_id="ana")
    assert len(await runtime.passages.search("a", "ship", user_id="ana")) == 2
    return agent


async def test_without_cascade_they_stay(runtime: Runtime) -> None:
    agent = await filled(runtime)
    await runtime.delete_agent("a")
    assert await runtime.agents() == []
    await runtime.passages.known("a")
    assert [one.text for one in await runtime.passages.list("a")] == ["the boat is blue"]
    assert await runtime.passages.reindex() == 2
    await runtime.register(agent)
    assert len(await runtime.passages.search("a", "ship", user_id="ana")) == 2


async def test_a_later_cascade_takes_what_a_deletion_left(runtime: Runtime) -> None:
    agent = await filled(runtime)
    await runtime.delete_agent("a")
    await runtime.delete_agent("a", cascade=True)
    with pytest.raises(UnknownName, match="none is known"):
        await runtime.passages.known("a")
    assert await runtime.passages.reindex() == 0
    await runtime.register(agent)
    assert await runtime.passages.search("a", "ship", user_id="ana") == []
    assert await runtime.passages.list("a", user_id="ana") == []


async def test_clear_tells_how_many(runtime: Runtime) -> None:
    await filled(runtime)
    await runtime.passages.insert("ab", "the boat of another agent")
    assert await runtime.passages.clear("a") == 2
    assert await runtime.passages.clear("a") == 0
    assert await runtime.agents() == ["a"]
    assert len(await runtime.passages.list("ab")) == 1
