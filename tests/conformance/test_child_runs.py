"""Agents as tools by number of section P (and S45, S46), on the real runtime with a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orchestra import Agent, Limits, Runtime, ToolContext, tool
from orchestra.core.errors import InvocationStateError
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.names import branch_of, thread_name
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.waiting import until


def caller(child: Agent, *inputs: str, name: str = "boss", **fields: Any) -> Agent:
    """An agent that calls ``child`` once per input in one reply, and answers then."""
    model = ScriptedModel([reply(calls=[call(child.name, input=text) for text in inputs]), reply("done")])
    return Agent(name=name, model=model, tools=(child.as_tool(),), **fields)


async def echo(request: ModelRequest) -> ModelReply:
    """Says what it heard last."""
    return reply(f"heard {request.messages[-1].text}")


@pytest.mark.parametrize("session", ["s", None])
async def test_p35_the_same_child_called_twice_at_once_is_served_twice_in_call_order(
    runtime: Runtime, session: str | None
) -> None:
    there = asyncio.Barrier(2)

    async def meet(request: ModelRequest) -> ModelReply:
        await there.wait()  # both are at work at the same time, or none ever ends
        return reply(f"heard {request.messages[-1].text}")

    child = Agent(name="child", model=FunctionModel(meet))
    await runtime.register(caller(child, "one", "two"))
    result = await runtime.run("boss", "go", session_id=session)
    assert result.output == "done"
    assert [m.text for m in result.messages if m.role == "tool"] == ["heard one", "heard two"]


async def test_p36_a_calls_b_calls_a_is_an_error_result_and_no_hang(runtime: Runtime) -> None:
    heard: list[str] = []

    async def ask(request: ModelRequest) -> ModelReply:
        last = request.messages[-1]
        if last.role == "tool":
            heard.append(last.text)
            return reply(f"told: {last.text}")
        return reply(calls=[call(request.tools[0].name, input="again")])

    a = Agent(name="a", model=FunctionModel(ask), tools=("agent:b",))
    b = Agent(name="b", model=FunctionModel(ask), tools=("agent:a",))
    await runtime.register(a, b)
    async with asyncio.timeout(10):
        result = await runtime.run("a", "go", session_id="s")
    assert result.status == "completed"
    assert len(heard) == 2
    assert "at work already (a -> b -> a)" in heard[0]


async def test_p36_a_chain_of_nine_ends_at_the_limit_of_depth(runtime: Runtime) -> None:
    kid = Agent(name="n0", model=FunctionModel(echo))
    for number in range(1, 10):
        kid = caller(kid, "down", name=f"n{number}")
    await runtime.register(kid)
    result = await runtime.run("n9", "go", session_id="s")
    assert (result.status, result.output) == ("completed", "done")
    assert "n0" not in result.usage_by_agent
    assert set(result.usage_by_agent) == {f"n{number}" for number in range(1, 10)}
    deepest = await ThreadStore(runtime.store).children("n9|s")
    texts = [text for thread in deepest for text in await ThreadStore(runtime.store).entries(thread)]
    assert any("9 runs deep already" in text for text in texts)


async def test_p37_cancelling_the_parent_cancels_the_child(runtime: Runtime) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    child = Agent(name="child", model=ScriptedModel([reply(calls=[call("wait")]), reply("no")]), tools=(wait,))
    await runtime.register(caller(child, "x"))
    running = asyncio.ensure_future(runtime.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()
    assert await runtime.cancel("r")
    result = await running
    assert result.status == "cancelled"
    assert ended.is_set()
    assert result.usage_by_agent["child"].model_calls == 1  # what it had used by then
    threads = ThreadStore(runtime.store)
    log = await threads.entries(thread_name("child", "s", branch_of("r.0.0")))
    assert '"aborted":true' in log[-1]
    head = await threads.head(thread_name("child", "s", branch_of("r.0.0")))
    assert (head["run"], head["host"]) == ("", "")
    # S45: its pair stands in the parent's log although the parent was cancelled, and it is a valid one.
    assert [m.role for m in result.messages] == ["user", "assistant", "tool"]


async def test_s45_a_sibling_that_has_finished_keeps_its_pair_when_the_run_is_cancelled(runtime: Runtime) -> None:
    begun = asyncio.Event()

    async def wait(request: ModelRequest) -> ModelReply:
        begun.set()
        await asyncio.Event().wait()
        return reply("never")

    quick, slow = Agent(name="quick", model=FunctionModel(echo)), Agent(name="slow", model=FunctionModel(wait))
    model = ScriptedModel([reply(calls=[call("quick", input="a"), call("slow", input="b")]), reply("no")])
    await runtime.register(Agent(name="boss", model=model, tools=(quick.as_tool(), slow.as_tool())))
    running = asyncio.ensure_future(runtime.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()

    async def journaled() -> bool:
        return bool(await runtime.store.read("HEXISTS", runtime.store.keys.run("r"), "j:t:0.0"))

    await until("the quick one to be journaled", journaled)
    await runtime.cancel("r")
    result = await running
    tools = [m for m in result.messages if m.role == "tool"]
    assert (tools[0].text, tools[0].is_error) == ("heard a", False)
    assert tools[1].is_error
    assert result.usage_by_agent["quick"].model_calls == 1
    log = await runtime.session("s", "boss").get_items()
    assert [m.role for m in log] == ["user", "assistant", "tool", "tool"]  # type: ignore[attr-defined]


async def test_p38_invocation_state_at_depth_five_is_read_only_and_each_has_its_own_copy(runtime: Runtime) -> None:
    seen: list[object] = []

    @tool
    def spoil(ctx: ToolContext) -> str:
        """Change what was handed in."""
        items: Any = ctx.invocation_state["items"]
        seen.append(list(items))
        items.append("spoiled")
        return "spoiled"

    @tool
    def write(ctx: ToolContext) -> str:
        """Write into it."""
        ctx.invocation_state["mine"] = 1  # type: ignore[index]
        return "written"

    model = ScriptedModel([reply(calls=[call("spoil"), call("write")]), reply("ok")])
    kid = Agent(name="deepest", model=model, tools=(spoil, write))
    for number in range(4):
        kid = caller(kid, "down", "down", name=f"level{number}")
    await runtime.register(kid)
    given = {"items": ["one"]}
    result = await runtime.run("level3", "go", session_id="s", invocation_state=given)
    assert result.status == "completed"
    assert seen == [["one"]] * 16
    assert given == {"items": ["one"]}
    threads = ThreadStore(runtime.store)
    texts = [text for one in await threads.children("level3|s") for text in await threads.entries(one)]
    assert sum("TypeError" in text for text in texts) == 16  # the write, in each of the deepest


async def test_p39_a_value_that_cannot_travel_is_refused_before_anything_ran(runtime: Runtime) -> None:
    child = Agent(name="child", model=(model := ScriptedModel([reply("no")])))
    await runtime.register(boss := caller(child, "x"))
    with pytest.raises(InvocationStateError) as raised:
        await runtime.run("boss", "go", session_id="s", invocation_state={"db": (item for item in ())})
    assert raised.value.key == "db"
    assert isinstance(boss.model, ScriptedModel)
    assert boss.model.requests == model.requests == []


async def test_p27_usage_of_children_counts_once_in_total_and_by_agent(runtime: Runtime) -> None:
    @tool
    def count() -> str:
        """Count."""
        return "counted"

    inner = Agent(name="inner", model=ScriptedModel([reply(calls=[call("count")]), reply("i")]), tools=(count,))
    middle = caller(inner, "a", "b", name="middle")
    await runtime.register(caller(middle, "x"))
    result = await runtime.run("boss", "go", session_id="s")
    assert {name: usage.model_calls for name, usage in result.usage_by_agent.items()} == {
        "boss": 2,
        "middle": 2,
        "inner": 4,
    }
    assert {name: usage.tool_calls for name, usage in result.usage_by_agent.items()} == {
        "boss": 1,
        "middle": 2,
        "inner": 2,
    }
    total = result.usage_by_agent["boss"] + result.usage_by_agent["middle"] + result.usage_by_agent["inner"]
    assert result.usage == total


async def test_s46_streaming_and_running_leave_the_very_same_items_with_agents_below(runtime: Runtime) -> None:
    inner = caller(Agent(name="leaf", model=FunctionModel(echo)), "a", "b", name="inner")
    await runtime.register(caller(inner, "x"))
    run = await runtime.run("boss", "go", session_id="ran")
    events = [event async for event in runtime.stream("boss", "go", session_id="streamed")]
    assert events[-1].result.output == run.output  # type: ignore[union-attr]
    threads = ThreadStore(runtime.store)

    async def items(session: str) -> list[list[tuple[str, str]]]:
        found = []
        for thread in [f"boss|{session}", *await threads.children(f"boss|{session}")]:
            texts = await threads.entries(thread)
            found.append([(text.split('"role":"')[1][:4], text.split('"content":')[1][:20]) for text in texts])
        return sorted(found)

    assert await items("ran") == await items("streamed")
    paths = {event.path for event in events}
    assert paths == {(), ("inner",), ("inner", "leaf")}


async def test_limits_of_the_run_hold_for_its_children(runtime: Runtime) -> None:
    @tool
    def more() -> str:
        """Go on."""
        return "more"

    async def endless(request: ModelRequest) -> ModelReply:
        return reply(calls=[call("more")])

    child = Agent(name="child", model=FunctionModel(endless), tools=(more,))
    await runtime.register(caller(child, "x"))
    result = await runtime.run("boss", "go", session_id="s", limits=Limits(model_calls=5))
    assert (result.status, result.reason) == ("limit", "model_calls")
    assert result.usage.model_calls == 5
    assert result.usage_by_agent["child"].model_calls == 4
