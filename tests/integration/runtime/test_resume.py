"""A run whose host is lost is sent again: another host goes on from the journal, and nothing is done twice."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra import Agent, Block, RunResult, ToolContext, tool
from orchestra.core.errors import Fenced
from orchestra.core.events import RunStarted
from orchestra.core.messages import Message
from orchestra.runtime.client import Client
from orchestra.runtime.host import Host
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import ScriptedModel, call, reply
from tests.hosts import Machines


class Parting:
    """Tools that note each start; ``hang`` (not idempotent) and ``steady`` (idempotent) hold the first host in them."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.reached, self.released = asyncio.Event(), asyncio.Event()

    def tools(self) -> tuple[object, ...]:
        async def count(ctx: ToolContext) -> str:
            """Count."""
            self.started.append("count")
            return str(ctx.agent.state.increment("n"))

        @tool
        async def hang(ctx: ToolContext) -> str:
            """Hold."""
            return await self.hold("hang", ctx)

        @tool(idempotent=True)
        async def steady(ctx: ToolContext) -> str:
            """Hold."""
            return await self.hold("steady", ctx)

        return count, hang, steady

    async def hold(self, name: str, ctx: ToolContext) -> str:
        self.started.append(name)
        ctx.agent.state.set(name, len(self.started))
        await ctx.blocks.append("notes", f"by {name}")
        await ctx.once("pay", lambda: self.started.append("paid"))
        if not self.reached.is_set():
            self.reached.set()
            await self.released.wait()
        return f"{name} done"


async def lost(
    machines: Machines, parting: Parting, model: ScriptedModel, *, persistence: str = "journal"
) -> tuple[Host, asyncio.Future[object], Client]:
    """A run ``r1`` whose host hangs in a tool and is then taken for dead, and a client on another host."""
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    blocks = (Block(label="notes"),)
    agent = {"name": "a", "model": model, "tools": parting.tools(), "blocks": blocks, "persistence": persistence}
    await client.register(Agent.model_validate(agent))
    running = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r1"))
    await parting.reached.wait()
    await first.hosts.leave(first.id)
    return first, running, await machines.client("primary-1")


async def test_what_is_journaled_is_not_done_again(machines: Machines) -> None:
    parting = Parting()
    model = ScriptedModel(
        [reply("first", calls=[call("count")]), reply(calls=[call("count"), call("steady")]), reply("done")]
    )
    _, running, client = await lost(machines, parting, model)
    events = [event async for event in client.stream("a", "go", session_id="s", run_id="r1")]
    result = events[-1].result
    assert isinstance(events[0], RunStarted)
    assert events[0].resumed
    assert (result.status, result.output, result.turn) == ("completed", "done", 1)
    # The replies and the finished tools of the first host are taken from the journal; the idempotent tool runs again.
    assert parting.started == ["count", "count", "steady", "paid", "steady"]
    assert len(model.requests) == 3
    assert [m.text for m in result.messages if m.role == "tool"] == ["1", "2", "steady done"]
    assert result.usage.model_calls == 3
    state = await machines.store.fields(machines.store.keys.state("a|s"))
    assert state == {"n": "2", "steady": "5"}
    (notes,) = await client.blocks.list(agent="a")
    assert (notes.value, notes.version) == ("by steady", 2)  # its edit, too, came once
    parting.released.set()
    with pytest.raises(Fenced):
        await running
    assert (await ThreadStore(machines.store).head("a|s"))["turn"] == "1"
    assert len(await client.session("s", "a").get_items()) == 7


async def test_a_tool_that_cannot_be_repeated_is_not_started_twice(machines: Machines) -> None:
    parting = Parting()
    model = ScriptedModel([reply(calls=[call("hang"), call("count")]), reply("I shall check")])
    _, running, client = await lost(machines, parting, model)
    result = await client.run("a", "go", session_id="s", run_id="r1")
    assert parting.started.count("hang") == 1
    assert parting.started.count("count") == 1
    answers = {m.name: m for m in result.messages if m.role == "tool"}
    assert answers["hang"].is_error
    assert answers["hang"].meta.synthetic
    assert "may or may not have run" in answers["hang"].text
    assert not answers["count"].is_error
    assert "may or may not have run" in model.requests[1].messages[-2].text  # the model is told
    assert result.status == "completed"
    assert await machines.store.fields(machines.store.keys.state("a|s")) == {"n": "1"}
    parting.released.set()
    with pytest.raises(Fenced):
        await running


async def test_nor_is_it_where_nothing_of_a_turn_is_journaled(machines: Machines) -> None:
    parting = Parting()
    model = ScriptedModel([reply(calls=[call("hang")]), reply("I shall check")])
    _, running, client = await lost(machines, parting, model, persistence="turn")
    result = await client.run("a", "go", session_id="s", run_id="r1")
    assert parting.started.count("hang") == 1
    assert (result.status, result.reason) == ("failed", "HostUnavailable")
    assert "cannot be repeated" in result.error
    assert await client.session("s", "a").get_items() == []
    parting.released.set()
    assert cast("RunResult", await running).duplicate  # the late owner gives what is stored


async def test_where_nothing_is_journaled_a_repeatable_tool_is_started_again(machines: Machines) -> None:
    parting = Parting()
    model = ScriptedModel([reply(calls=[call("steady")]), reply("done")])
    _, running, client = await lost(machines, parting, model, persistence="turn")
    result = await client.run("a", "go", session_id="s", run_id="r1")
    assert (result.status, result.output, parting.started.count("steady")) == ("completed", "done", 2)
    parting.released.set()
    assert cast("RunResult", await running).duplicate  # the late owner gives what is stored


async def test_a_second_loss_changes_nothing_of_what_was_answered(machines: Machines) -> None:
    """The synthetic answer is journaled as such; a third host gives the very same messages."""
    parting, again, on = Parting(), asyncio.Event(), asyncio.Event()

    @tool(idempotent=True)
    async def later() -> str:
        """Hold the second host."""
        if not again.is_set():
            again.set()
            await on.wait()
        return "later"

    model = ScriptedModel([reply(calls=[call("hang")]), reply(calls=[call("later")]), reply("done")])
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    tools = (*parting.tools(), later)
    await client.register(Agent(name="a", model=model, tools=tools, blocks=(Block(label="notes"),)))  # type: ignore[arg-type]
    attempts = [asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r1"))]
    await parting.reached.wait()
    await first.hosts.leave(first.id)
    second = await machines.host("primary-1")
    attempts.append(asyncio.ensure_future(machines.client_of(second).run("a", "go", session_id="s", run_id="r1")))
    await again.wait()
    await second.hosts.leave(second.id)
    result = await (await machines.client("primary-2")).run("a", "go", session_id="s", run_id="r1")
    assert [(m.name, m.is_error, m.meta.synthetic) for m in result.messages if m.role == "tool"] == [
        ("hang", True, True),
        ("later", False, False),
    ]
    parting.released.set()
    on.set()
    assert [type(error) for error in await asyncio.gather(*attempts, return_exceptions=True)] == [Fenced, Fenced]


async def test_with_persistence_turn_the_run_starts_again(machines: Machines) -> None:
    parting = Parting()
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    model = ScriptedModel([reply(calls=[call("steady")]), reply("done")])
    agent = Agent(name="a", model=model, tools=parting.tools(), blocks=(Block(label="notes"),), persistence="turn")  # type: ignore[arg-type]
    await client.register(agent)
    running = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r1"))
    await parting.reached.wait()
    await first.hosts.leave(first.id)
    result = await (await machines.client("primary-1")).run("a", "go", session_id="s", run_id="r1")
    assert (result.status, len(model.requests)) == ("completed", 3)
    (notes,) = await client.blocks.list(agent="a")
    assert notes.value == "by steady"  # edits have derived operation ids all the same
    parting.released.set()
    late = cast("RunResult", await running)
    assert (late.duplicate, late.output, late.host) == (True, "done", first.id)  # what is stored, not what it made


async def test_the_same_run_id_twice_gives_the_stored_result(machines: Machines) -> None:
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    model = ScriptedModel([reply("one"), reply("two")])
    await clients[0].register(Agent(name="a", model=model))
    first = await clients[0].run("a", "go", session_id="s", run_id="r1")
    for client in clients:
        again = await client.run("a", "go", session_id="s", run_id="r1")
        assert again.duplicate
        assert (again.output, again.status, again.turn, again.usage) == ("one", "completed", 1, first.usage)
        assert [m.to_json(meta=False) for m in again.messages] == [m.to_json(meta=False) for m in first.messages]
    assert not first.duplicate
    assert len(model.requests) == 1
    both = await asyncio.gather(*(client.run("a", "go", session_id="s", run_id="r2") for client in clients))
    assert sorted(result.duplicate for result in both) == [False, True]
    assert [result.output for result in both] == ["two", "two"]
    assert len(model.requests) == 2


async def test_another_run_goes_on_after_a_lost_one(machines: Machines) -> None:
    """The lost run wrote nothing into the log; sent again later it stands behind the other one, whole."""
    parting = Parting()
    model = ScriptedModel([reply(calls=[call("steady")]), reply("done")])
    _, running, client = await lost(machines, parting, model)
    await client.register(
        Agent(name="a", model=ScriptedModel([reply("other")]), tools=parting.tools(), blocks=(Block(label="notes"),))
    )  # type: ignore[arg-type]
    other = await client.run("a", "hello", session_id="s", run_id="r2")
    assert (other.output, other.turn) == ("other", 1)
    parting.released.set()
    with pytest.raises(Fenced):
        await running
    log = cast("list[Message]", await client.session("s", "a").get_items())
    assert [message.text for message in log] == ["hello", "other"]
