"""Agents on Ray: served by other processes, with functions that travel, errors that keep their type."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from contextlib import aclosing

import pytest

from orchestra import Agent, Block, Runtime, ToolContext
from orchestra.core.errors import (
    BlockScopeError,
    FunctionUnavailable,
    HostFull,
    InvocationStateError,
    SessionBusy,
    UnknownName,
)
from orchestra.core.events import RunEnded, RunStarted, TextDelta
from orchestra.core.model import ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import until_async

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]


async def test_a_turn_is_served_by_another_process_with_a_tool_that_travels_by_value(config: Config) -> None:
    suffix = "seen by value"

    def where(ctx: ToolContext) -> str:
        return f"{os.getpid()} {ctx.invocation_state['user']} {suffix}"

    async with Runtime.start(config(primary=2)) as runtime:
        model = ScriptedModel([reply(calls=[call("where")]), reply("Done.")])
        await runtime.register(Agent(name="a", model=model, tools=[where]))
        result = await runtime.run("a", "Where?", session_id="s", invocation_state={"user": "ana"})
        hosts = {host.id: host for host in await runtime.hosts()}
    assert result.output == "Done."
    pid, rest = result.messages[2].text.split(maxsplit=1)
    assert int(pid) != os.getpid()
    assert rest == "ana seen by value"
    assert hosts[result.host].pid == int(pid)
    assert {host.name for host in hosts.values()} == {"primary-0", "primary-1"}
    assert all(host.alive and host.node and host.memory_bytes > 0 and host.active == () for host in hosts.values())


async def test_sessions_are_spread_over_the_hosts_and_each_stays_where_it_is(config: Config) -> None:
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(Agent(name="a", model=ScriptedModel([reply("x")] * 3)))
        first = [(await runtime.run("a", "x", session_id=f"s{number}")).host for number in range(12)]
        second = [(await runtime.run("a", "x", session_id=f"s{number}")).host for number in range(12)]
        alone = [(await runtime.run("a", "x")).host for _ in range(2)]
    assert first == second
    assert len(set(first)) == 2
    assert len(set(alone)) == 2


async def test_a_model_that_is_a_closure_travels_and_errors_keep_their_type(config: Config) -> None:
    async with Runtime.start(config()) as runtime:
        prefix = "said: "
        await runtime.register(
            Agent(name="echo", model=FunctionModel(lambda request: prefix + request.messages[-1].text)),
            Agent(name="own", model=ScriptedModel([reply("x")]), blocks=[Block(label="human", scope="user")]),
        )
        assert (await runtime.run("echo", "hello", session_id="s")).output == "said: hello"
        with pytest.raises(UnknownName, match="nobody"):
            await runtime.run("nobody", "x", session_id="s")
        with pytest.raises(BlockScopeError) as raised:
            await runtime.run("own", "x", session_id="s")
        assert raised.value.missing == "user_id"
        with pytest.raises(InvocationStateError, match="lock"):
            await runtime.run("echo", "x", invocation_state={"lock": (i for i in ())})


async def test_a_function_that_cannot_travel_is_named_when_it_is_registered(config: Config) -> None:
    held = (number for number in range(3))

    def stuck() -> str:
        return str(next(held))

    async with Runtime.start(config()) as runtime:
        with pytest.raises(FunctionUnavailable, match="stuck"):
            await runtime.register(Agent(name="a", model=ScriptedModel([reply("x")]), tools=[stuck]))


async def test_a_function_by_value_ends_with_its_program(config: Config) -> None:
    def mine() -> str:
        return "mine"

    model = ScriptedModel([reply(calls=[call("mine")]), reply("Done.")])
    async with Runtime.start(config()) as runtime:
        await runtime.register(Agent(name="a", model=model, tools=[mine]))
        assert (await runtime.run("a", "x", session_id="s1")).output == "Done."
    async with Runtime.start(config()) as runtime:
        with pytest.raises(FunctionUnavailable, match="mine"):
            await runtime.run("a", "x", session_id="s2")


async def test_a_resource_is_opened_once_in_the_host(config: Config) -> None:
    def opened() -> dict[str, int]:
        return {"pid": os.getpid(), "uses": 0}

    def use(ctx: ToolContext) -> str:
        connection = ctx.resource("connection")
        connection["uses"] += 1  # type: ignore[index]
        return f"{connection['pid'] == os.getpid()} {connection['uses']}"  # type: ignore[index]

    async with Runtime.start(config()) as runtime:
        runtime.resource("connection", opened)
        model = ScriptedModel([reply(calls=[call("use")]), reply("Done.")])
        await runtime.register(Agent(name="a", model=model, tools=[use]))
        said = [(await runtime.run("a", "x", session_id=f"s{number}")).messages[2].text for number in range(2)]
    assert said == ["True 1", "True 2"]


async def test_a_busy_session_and_a_full_host_are_told_by_their_types(config: Config) -> None:
    async def never(request: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    async with Runtime.start(config(max_concurrent_turns=1, max_pending=1)) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(never)))
        async with aclosing(runtime.stream("a", "x", session_id="s")) as events:
            assert isinstance(await anext(events), RunStarted)
            with pytest.raises(SessionBusy):
                await runtime.run("a", "x", session_id="s", on_busy="reject")
            waiting = asyncio.ensure_future(runtime.run("a", "x", session_id="t"))
            await until_async("the second run to wait", lambda: _active(runtime), 2)
            with pytest.raises(HostFull, match="later"):
                await runtime.run("a", "x", session_id="u")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting


async def _active(runtime: Runtime) -> int:
    return sum(len(host.active) for host in await runtime.hosts())


async def test_the_events_are_those_of_the_turn_and_the_first_comes_soon(config: Config) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    first: list[float] = []
    async with Runtime.start(config()) as runtime:
        await runtime.register(Agent(name="a", model=ScriptedModel([reply(words)])))
        for number in range(20):
            events, begun = [], time.perf_counter()
            async for event in runtime.stream("a", "x", session_id=f"s{number}"):
                if not events:
                    first.append(time.perf_counter() - begun)
                events.append(event)
            assert isinstance(events[0], RunStarted)
            assert "".join(event.text for event in events if isinstance(event, TextDelta)) == words
            assert isinstance(events[-1], RunEnded)
            assert [event.number for event in events] == sorted({event.number for event in events})
    assert statistics.median(first) < 0.05  # the target is 5 ms on a quiet machine; this notices a lost factor of ten
