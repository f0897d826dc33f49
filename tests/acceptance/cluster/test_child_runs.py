"""Child runs on the hosts of a cluster: spread over them, cancelled with their parent, carried on when a host dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestra import Agent, Graph, Runtime, ToolContext, tool
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.result import RunResult
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import Failpoint, note, until

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]
Arm = Callable[[str], Failpoint]


def counting(file: Path, name: str) -> Agent:
    """An agent whose tool writes its name and the process into ``file``."""

    @tool(name="count")
    def count() -> str:
        note(file, f"{name} {os.getpid()}")
        return "counted"

    return Agent(
        name=name, model=ScriptedModel([reply(calls=[call("count")]), reply(f"{name} is done")]), tools=[count]
    )


async def test_children_are_spread_over_the_hosts_and_their_events_come_back(config: Config, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    nodes = {name: counting(starts, name) for name in "abcdefgh"}
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(Graph("wide", nodes=nodes))
        events = [event async for event in runtime.stream("wide", "go", session_id="s")]
        alone = await runtime.run("wide", "go")
    assert events[-1].result.status == alone.status == "completed"  # type: ignore[union-attr]
    lines = [line.split() for line in starts.read_text().splitlines()]
    assert sorted(name for name, _ in lines) == sorted("abcdefgh" * 2)
    assert len({pid for _, pid in lines[:8]}) == 2  # with a session, by the child's thread
    assert len({pid for _, pid in lines[8:]}) == 2  # without one, in turns
    assert {event.path for event in events} == {(), *((name,) for name in "abcdefgh")}
    own = [event.number for event in events if event.path == ()]
    assert own == sorted(set(own))


@pytest.mark.parametrize("place", ["turn.tool_journaled", "turn.committed"])
async def test_a_host_that_is_killed_under_a_child_or_its_parent_repeats_no_tool(
    config: Config, arm: Arm, tmp_path: Path, place: str
) -> None:
    failpoint, starts = arm(place), tmp_path / "starts"
    kid = counting(starts, "kid")

    @tool(name="mine")
    def mine() -> str:
        note(starts, f"boss {os.getpid()}")
        return "mine"

    calls = [reply(calls=[call("mine"), call("kid", input="go")]), reply("all done")]
    boss = Agent(name="boss", model=ScriptedModel(calls), tools=[mine, kid.as_tool()])
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(boss)
        running = asyncio.ensure_future(runtime.run("boss", "x", session_id="s", run_id="run-1"))
        os.kill(await failpoint.reached(), signal.SIGKILL)
        result = await running
    assert (result.status, result.output) == ("completed", "all done")
    started = [line.split()[0] for line in starts.read_text().splitlines()]
    assert sorted(started) in (["boss", "kid"], ["kid"], ["boss"])  # once each, or unknown and not started again
    assert max(map(started.count, started)) == 1
    assert result.usage_by_agent["kid"].model_calls == 2


async def test_cancelling_the_parent_cancels_children_on_other_hosts(config: Config, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    async def wait(request: ModelRequest) -> ModelReply:
        note(begun, str(os.getpid()))
        try:
            await asyncio.Event().wait()
        finally:
            note(ended, str(os.getpid()))
        return reply("never")

    nodes = {name: Agent(name=name, model=FunctionModel(wait)) for name in "abcdef"}
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(Graph("wide", nodes=nodes))
        running = asyncio.ensure_future(runtime.run("wide", "go", session_id="s", run_id="r"))
        await until("all to have begun", lambda: begun.exists() and len(begun.read_text().split()) == 6)
        assert await runtime.cancel("r")
        result = await running
        assert result.status == "cancelled"
        await until("all to have ended", lambda: ended.exists() and len(ended.read_text().split()) == 6)
        assert len(set(begun.read_text().split())) == 2
        assert await runtime.store.scored(runtime.store.keys.runs) == []


@pytest.mark.parametrize("listened", [True, False])
async def test_children_outlive_the_host_of_their_parent_which_finds_their_answers(
    config: Config, tmp_path: Path, listened: bool
) -> None:
    """A host that dies takes its calls along: the children that it had on other hosts are not cancelled by that."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"

    @tool
    async def talk(ctx: ToolContext) -> str:
        for word in range(30):  # what is said to a caller that is gone tells Ray that it is
            ctx.emit(word)
            await asyncio.sleep(0.02)
        return "said"

    async def wait(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply("done")
        note(begun, str(os.getpid()))
        await until("the gate to open", gate.exists)
        return reply(calls=[call("talk")])

    async def go(runtime: Runtime) -> RunResult:
        if not listened:
            return await runtime.run("wide", "go", session_id="s", run_id="r")
        events = [event async for event in runtime.stream("wide", "go", session_id="s", run_id="r")]
        return events[-1].result  # type: ignore[union-attr]

    nodes = {name: Agent(name=name, model=FunctionModel(wait), tools=[talk]) for name in "abcdef"}
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(Graph("wide", nodes=nodes))
        running = asyncio.ensure_future(go(runtime))
        await until("all to have begun", lambda: begun.exists() and len(begun.read_text().split()) == 6)
        first = begun.read_text().split()
        (parent,) = [one.pid for one in await runtime.hosts() if "r" in one.active]
        os.kill(parent, signal.SIGKILL)
        lost = first.count(str(parent))
        await until("those of the dead host to begin again", lambda: len(begun.read_text().split()) == 6 + lost)
        gate.touch()
        result = await running
    assert 0 < lost < 6
    assert (result.status, result.output) == ("completed", dict.fromkeys("abcdef", "done"))
    assert len(begun.read_text().split()) == 6 + lost
