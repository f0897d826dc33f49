"""A question deep below: the whole run waits, is answered at its root, and each level goes on where it was."""

from __future__ import annotations

import json

import pytest

from orchestra import Agent, Approve, Reject, RunState, ToolContext, tool
from orchestra.core.errors import InputError, SessionInterrupted, UnknownInterrupt
from orchestra.core.events import Interrupted
from orchestra.core.result import RunResult
from orchestra.runtime.client import Client
from orchestra.runtime.orphans import OrphanWatch
from orchestra.store.run_store import RunStore
from orchestra.testing import ScriptedModel, call, reply
from tests.asking import note, pay, ran
from tests.hosts import Machines


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


async def register(client: Client, turns: int = 1) -> list[ScriptedModel]:
    """Three levels: ``top`` calls ``mid``, which calls ``low``, which pays."""
    low = ScriptedModel([reply(calls=[call("note"), call("pay", amount=5)]), reply("low done")])
    mid = ScriptedModel([reply(calls=[call("note"), call("low", input="pay")]), reply("mid done")])
    top = ScriptedModel([reply(calls=[call("mid", input="go"), call("note")]), reply("top done")] * turns)
    last = Agent(name="low", model=low, tools=(pay, note))
    middle = Agent(name="mid", model=mid, tools=(note, last.as_tool()))
    await client.register(last, middle, Agent(name="top", model=top, tools=(middle.as_tool(), note)))
    return [top, mid, low]


def done_once(result: RunResult, models: list[ScriptedModel]) -> None:
    assert (result.status, result.output, ran) == ("completed", "top done", ["note"] * 3 + [("pay", 5)])
    assert [len(model.requests) for model in models] == [2, 2, 2]
    assert result.usage.model_calls == 6
    assert {name: usage.model_calls for name, usage in result.usage_by_agent.items()} == {"top": 2, "mid": 2, "low": 2}


async def test_an_approval_two_levels_below(machines: Machines) -> None:
    client = await machines.client()
    models = await register(client)
    events = [event async for event in client.stream("top", "go", session_id="s", run_id="r")]
    result = events[-1].result  # type: ignore[union-attr]
    assert result.status == "interrupted"
    (asked,) = result.interrupts
    assert (asked.id, asked.agent, asked.tool) == ("r.0.0.0.1:0.1", "low", "pay")
    assert [event.run_id for event in events if isinstance(event, Interrupted)] == ["r"]
    assert ran == ["note"] * 3
    assert result.usage.model_calls == 3
    with pytest.raises(InputError, match=r"part of run r\.0\.0: resume that one"):
        await client.resume("r.0.0.0.1", {asked.id: Approve()})
    with pytest.raises(UnknownInterrupt):
        await client.resume("r", {"r.0.0:0.1": Approve()})
    elsewhere = await machines.client("primary-1")
    done_once(await elsewhere.resume("r", {asked.id: Approve()}), models)
    assert await RunStore(machines.store).live() == []


async def test_a_rejection_two_levels_below(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    result = await client.run("top", "go", session_id="s")
    done = await client.resume(result.run_id, {result.interrupts[0].id: Reject("no")})
    assert (done.output, ran) == ("top done", ["note"] * 3)


async def test_always_below_is_remembered_for_the_session(machines: Machines) -> None:
    client = await machines.client()
    await register(client, turns=2)
    result = await client.run("top", "go", session_id="s")
    await client.resume(result.run_id, {result.interrupts[0].id: Approve(always=True)})
    assert (await client.run("top", "again", session_id="s")).status == "completed"
    assert ran.count(("pay", 5)) == 2
    assert (await client.run("top", "go", session_id="t")).status == "interrupted"


async def test_ending_the_run_ends_what_waits_below(machines: Machines) -> None:
    client = await machines.client()
    models = await register(client)
    await client.run("top", "go", session_id="s", run_id="r")
    assert len(await RunStore(machines.store).live()) == 3
    assert await client.cancel("r")
    assert await RunStore(machines.store).live() == []
    assert ran == ["note"] * 3
    assert [len(model.requests) for model in models] == [1, 1, 1]
    child = await RunStore(machines.store).get("r.0.0.0.1")
    assert child is not None
    assert child.outcome == "cancelled"


async def test_without_a_session_the_state_carries_all_levels(machines: Machines) -> None:
    client = await machines.client()
    models = await register(client)
    result = await client.run("top", "go")
    state = RunState(json.loads(json.dumps(result.to_state())))
    state.approve(state.interrupts[0])
    done_once(await (await machines.client("primary-1")).resume(state), models)


async def test_two_children_wait_at_once_and_are_answered_together(machines: Machines) -> None:
    client = await machines.client()
    low = ScriptedModel([reply(calls=[call("pay", amount=5)]), reply("low done")])
    top = ScriptedModel([reply(calls=[call("low", input="a"), call("low", input="b")]), reply("top done")])
    last = Agent(name="low", model=low, tools=(pay,))
    await client.register(last, Agent(name="top", model=top, tools=(last.as_tool(),)))
    result = await client.run("top", "go", session_id="s", run_id="r")
    assert [one.id for one in result.interrupts] == ["r.0.0:0.0", "r.0.1:0.0"]
    done = await client.resume("r", {"r.0.0:0.0": Approve(), "r.0.1:0.0": Reject()})
    assert (done.status, ran) == ("completed", [("pay", 5)])


async def test_a_question_of_the_parent_beside_one_of_its_child(machines: Machines) -> None:
    client = await machines.client()
    low = ScriptedModel([reply(calls=[call("pay", amount=5)]), reply("low done")])
    top = ScriptedModel([reply(calls=[call("pay", amount=7), call("low", input="b")]), reply("top done")])
    last = Agent(name="low", model=low, tools=(pay,))
    await client.register(last, Agent(name="top", model=top, tools=(pay, last.as_tool())))
    result = await client.run("top", "go", session_id="s", run_id="r")
    assert [one.id for one in result.interrupts] == ["r:0.0", "r.0.1:0.0"]
    done = await client.resume("r", {one.id: Approve() for one in result.interrupts})
    assert done.status == "completed"
    assert sorted(ran) == [("pay", 5), ("pay", 7)]  # type: ignore[type-var]


async def test_a_host_that_dies_after_the_child_was_answered_loses_nothing(machines: Machines) -> None:
    """The root is answered, its child too, then the host is gone: both are done, nothing twice."""
    host = await machines.host()
    client = machines.client_of(host)
    models = await register(client)
    await client.run("top", "go", session_id="s", run_id="r")
    answer = '{"approve":true,"always":false}'
    id_ = "r.0.0.0.1:0.1"
    await host.interrupts.answer("r", "top|s", {id_: answer})
    low = await RunStore(machines.store).get("r.0.0.0.1")
    assert low is not None
    await host.interrupts.answer("r.0.0.0.1", low.thread, {id_: answer})
    with pytest.raises(SessionInterrupted):
        await client.run("top", "more", session_id="s")
    assert await OrphanWatch(await machines.host("primary-1"), grace=0).once() == ["r"]
    done_once(await client.resume("r"), models)


async def test_the_asking_tool_of_a_child_gets_a_value(machines: Machines) -> None:
    @tool
    def choose(ctx: ToolContext) -> str:
        """Choose, in a thread."""
        return f"chose {ctx.interrupt('which')}"

    client = await machines.client()
    low = ScriptedModel([reply(calls=[call("choose")]), reply("low done")])
    top = ScriptedModel([reply(calls=[call("low", input="a")]), reply("top done")])
    last = Agent(name="low", model=low, tools=(choose,))
    await client.register(last, Agent(name="top", model=top, tools=(last.as_tool(memory="session"),)))
    result = await client.run("top", "go", session_id="s", run_id="r", invocation_state={"k": 1})
    done = await client.resume("r", {result.interrupts[0].id: {"n": None}}, invocation_state={"k": 1})
    assert done.status == "completed"
    assert "chose {'n': None}" in low.requests[-1].messages[-1].text
