"""Runs that nobody works on any more: their thread is not held for ever, and they come to an end with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra import Agent, Limits, Runtime, ToolContext, tool
from orchestra.core.errors import InputError, StoreUnavailable
from orchestra.runtime.client import Client
from orchestra.runtime.orphans import OrphanWatch
from orchestra.store.connection import Store
from orchestra.store.run_store import RunStore
from orchestra.store.thread_store import Begun, Busy, Ended, MissingBlocks, Stale, ThreadStore, Wanted
from orchestra.testing import ScriptedModel, call, reply
from tests.hosts import Machines
from tests.servers import Server, binary


class LateAnswer(ThreadStore):
    """The server's answer to ``begin`` arrives when the test says so."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.taken, self.go = asyncio.Event(), asyncio.Event()

    async def begin(self, wanted: Wanted) -> Begun | Stale | MissingBlocks | Busy | Ended:
        found = await super().begin(wanted)
        if isinstance(found, Begun):
            self.taken.set()
            await self.go.wait()
        return found


async def status_of_next(client: Client | Runtime) -> str:
    async with asyncio.timeout(5):
        return (await client.run("a", "next", session_id="s")).status


async def test_a_caller_that_leaves_while_the_lease_is_taken(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(Agent(name="a", model=ScriptedModel([reply("fine")])))
    host.threads = late = LateAnswer(machines.store)
    running = asyncio.ensure_future(client.run("a", "hello", session_id="s"))
    await late.taken.wait()
    running.cancel()
    await asyncio.sleep(0)
    late.go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await status_of_next(client) == "completed"
    items = await client.session("s", "a").get_items()
    assert [(m.text, m.meta.aborted) for m in items] == [("hello", True), ("next", False), ("fine", False)]  # type: ignore[attr-defined]


async def test_a_turn_that_cannot_start_frees_its_session(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=ScriptedModel([reply("fine")])))
    with pytest.raises(InputError, match="cost"):
        await runtime.run("a", "hello", session_id="s", limits=Limits(cost=1.0))
    assert await status_of_next(runtime) == "completed"
    assert len(await runtime.session("s", "a").get_items()) == 2


@pytest.fixture
async def mortal(namespace: str) -> AsyncIterator[tuple[Server, Machines]]:
    """A server of this test's own that keeps its data, and hosts that have little patience with it."""
    path = binary("valkey")
    assert path is not None
    server = Server(path, appendfsync="always")
    store = await Store.open(server.url, namespace, patience=0.1)
    machines = Machines(store)
    yield server, machines
    await machines.stop()
    await store.close()
    server.stop()


@pytest.mark.parametrize("state", [None, {"key": "secret"}])
async def test_a_run_whose_server_was_away_too_long(
    mortal: tuple[Server, Machines], state: dict[str, object] | None
) -> None:
    server, machines = mortal

    @tool
    async def unplug() -> str:
        """Kill the server."""
        server.process.kill()
        server.process.wait()
        return "dark"

    host = await machines.host()
    client = machines.client_of(host)
    model = ScriptedModel([reply(calls=[call("unplug")]), reply("fine")])
    await client.register(Agent(name="a", model=model, tools=(unplug,)))
    with pytest.raises(StoreUnavailable):
        await client.run("a", "hello", session_id="s", run_id="r", invocation_state=state)
    server.start()
    watch = OrphanWatch(host, grace=0)
    assert await watch.once() == ["r"]  # the host is alive, and does nothing for this run
    found = await RunStore(machines.store).get("r")
    assert found is not None
    if state is None:
        assert (found.status, found.outcome) == ("ended", "completed")
    else:
        assert (found.status, found.reason) == ("interrupted", "invocation_state")
    assert await watch.once() == []
    await client.register(Agent(name="a", model=ScriptedModel([reply("fine"), reply("fine"), reply("fine")])))
    assert await status_of_next(client) == "completed"


async def test_a_run_that_cannot_be_done_keeps_no_other_one_waiting(machines: Machines) -> None:
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    stuck = asyncio.Event()

    @tool
    async def hang(ctx: ToolContext) -> str:
        """Wait."""
        stuck.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel([reply(calls=[call("hang")]), reply("done")])
    running = []
    for name in ("gone", "a"):
        stuck.clear()
        await client.register(Agent(name=name, model=model, tools=(hang,)))
        running.append(asyncio.ensure_future(client.run(name, "hello", session_id="s", run_id=f"of-{name}")))
        await stuck.wait()
    await first.hosts.leave(first.id)
    await client.delete_agent("gone")
    second = await machines.host("primary-1")
    assert sorted(await OrphanWatch(second, grace=0).once()) == ["of-a", "of-gone"]
    runs = RunStore(machines.store)
    done, impossible = await runs.get("of-a"), await runs.get("of-gone")
    assert done is not None
    assert impossible is not None
    assert (done.status, done.outcome) == ("ended", "completed")
    assert (impossible.status, impossible.reason) == ("interrupted", "UnknownName")
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
