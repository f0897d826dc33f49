"""Runs whose host and caller are gone: done by a living host, or waiting for their invocation_state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra import Agent, ToolContext, tool
from orchestra.core.errors import InputError, RunNotFound
from orchestra.runtime.orphans import OrphanWatch
from orchestra.runtime.resuming import ending
from orchestra.store.connection import Store
from orchestra.store.run_store import RunStore
from orchestra.testing import ScriptedModel, call, reply
from tests.hosts import Machines

paused: list[asyncio.Task[object]] = []


@tool
async def stuck(ctx: ToolContext) -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


@pytest.fixture
async def machines(store: Store) -> AsyncIterator[Machines]:
    made = Machines(store)
    yield made
    for task in paused:
        task.cancel()
    await asyncio.gather(*paused, return_exceptions=True)
    paused.clear()
    await made.stop()


async def orphaned(machines: Machines, run_id: str, **more: object) -> None:
    """A run that hangs in its tool on a host that is then declared dead."""
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    model = ScriptedModel([reply(calls=[call("stuck")]), reply("done")])
    await client.register(Agent(name="a", model=model, tools=(stuck,)))
    running = asyncio.create_task(client.run("a", "hello", session_id="s", run_id=run_id, **more))  # type: ignore[arg-type]
    async with asyncio.timeout(5):
        while not (run := await machines.store.fields(machines.store.keys.run(run_id))) or "j:m:0" not in run:
            await asyncio.sleep(0)
    await first.hosts.leave(first.id)  # a dead host: its heartbeat is gone, what it still does is fenced
    paused.append(running)


async def test_an_orphan_is_done_to_its_end_by_a_living_host(machines: Machines) -> None:
    await orphaned(machines, "r1")
    second = await machines.host("primary-1")
    assert await OrphanWatch(second, grace=60).once() == []
    assert await OrphanWatch(second, grace=0).once() == ["r1"]
    client = machines.client_of(second)
    result = await client.resume("r1")
    assert (result.status, result.output, result.duplicate) == ("completed", "done", True)
    items = await client.session("s", "a").get_items()
    assert [message.role for message in items] == ["user", "assistant", "tool", "assistant"]  # type: ignore[attr-defined]
    assert "may or may not have run" in items[2].text  # type: ignore[attr-defined]


async def test_an_orphan_with_invocation_state_waits_until_it_is_handed_in(machines: Machines) -> None:
    await orphaned(machines, "r2", invocation_state={"key": "secret"})
    second = await machines.host("primary-1")
    assert await OrphanWatch(second, grace=0).once() == ["r2"]
    found = await RunStore(machines.store).get("r2")
    assert found is not None
    assert (found.status, found.reason) == ("interrupted", "invocation_state")
    assert "secret" not in found.request
    client = machines.client_of(second)
    with pytest.raises(InputError, match="hand it in again"):
        await client.resume("r2")
    assert (await client.resume("r2", invocation_state={"key": "secret"})).output == "done"


async def test_a_run_that_nobody_started_cannot_be_resumed(machines: Machines) -> None:
    client = await machines.client()
    with pytest.raises(RunNotFound, match="nobody"):
        await client.resume("nobody")


async def test_a_child_run_waits_for_its_parent_and_is_ended_when_that_has_ended(machines: Machines) -> None:
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    child = Agent(name="a", model=ScriptedModel([reply(calls=[call("stuck")]), reply("done")]), tools=(stuck,))
    boss = Agent(name="boss", model=ScriptedModel([reply(calls=[call("a", input="x")])]), tools=(child.as_tool(),))
    await client.register(boss)
    running = asyncio.create_task(client.run("boss", "hello", session_id="s", run_id="r"))
    paused.append(running)
    keys = machines.store.keys
    async with asyncio.timeout(5):
        while "j:m:0" not in await machines.store.fields(keys.run("r.0.0")):
            await asyncio.sleep(0)
    await first.hosts.leave(first.id)
    second = await machines.host("primary-1")
    watch = OrphanWatch(second, grace=0)
    assert "r.0.0" not in {run.run_id for run in await watch._found()}  # its parent is there, and is the orphan
    await second.run(
        ending(next(run for run in await RunStore(machines.store).live() if run.run_id == "r"), "cancelled")
    )
    assert await watch.once() == ["r.0.0"]
    assert await RunStore(machines.store).live() == []
    assert await RunStore(machines.store).answer("r.0.0") is not None
