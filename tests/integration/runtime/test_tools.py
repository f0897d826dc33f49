"""Tools in a turn: schema, threads, parallel calls, order, timeouts, errors, state and the turn's one commit."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Literal, cast

import pytest

from orchestra import Agent, RunResult, Runtime, ToolContext, ToolError, tool
from orchestra.core.events import Emitted, RunEnded, ToolEnded, ToolStarted
from orchestra.core.messages import Message
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply


def results(result: RunResult) -> list[Message]:
    return [message for message in result.messages if message.role == "tool"]


async def test_the_model_gets_a_schema_without_the_context(runtime: Runtime) -> None:
    @tool
    def weather(city: str, ctx: ToolContext, unit: Literal["c", "f"] = "c", days: int = 1) -> str:
        """Tell the weather.

        Args:
            city: Where.
            days: For how long.
        """
        return "sunny"

    model = ScriptedModel([reply("hi")])
    await runtime.register(Agent(name="a", model=model, tools=(weather,)))
    await runtime.run("a", "hi")
    (spec,) = model.requests[0].tools
    properties = cast("dict[str, dict[str, Any]]", spec.parameters["properties"])
    assert (spec.name, spec.description, spec.parameters["required"]) == ("weather", "Tell the weather.", ["city"])
    assert properties["city"] == {"type": "string", "description": "Where."}
    assert properties["unit"]["enum"] == ["c", "f"]
    assert (properties["days"]["default"], set(properties)) == (1, {"city", "unit", "days"})


async def test_a_sync_tool_does_not_run_on_the_event_loop(runtime: Runtime) -> None:
    threads = []

    def which() -> str:
        """Tell the thread."""
        threads.append(threading.get_ident())
        return "noted"

    await runtime.register(
        Agent(name="a", model=ScriptedModel([reply(calls=[call("which")]), reply("ok")]), tools=(which,))
    )
    await runtime.run("a", "go")
    assert threads != [threading.get_ident()]
    assert len(threads) == 1


async def test_calls_run_in_parallel_and_results_stand_in_call_order(runtime: Runtime) -> None:
    meet = asyncio.Barrier(3)

    async def together(number: int) -> str:
        """Wait for the others; the first call ends last."""
        await meet.wait()
        for _ in range(10 * (3 - number)):
            await asyncio.sleep(0)
        return f"result {number}"

    calls = [call("together", number=number) for number in range(3)]
    model = ScriptedModel([reply(calls=calls), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(together,)))
    result = await runtime.run("a", "go", session_id="s")
    assert [message.text for message in results(result)] == ["result 0", "result 1", "result 2"]
    assert [message.tool_call_id for message in results(result)] == ["call-0-0", "call-0-1", "call-0-2"]
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert (result.usage.model_calls, result.usage.tool_calls) == (2, 3)


async def test_errors_are_results_and_siblings_are_kept(runtime: Runtime) -> None:
    def fine(n: int) -> dict[str, int]:
        """Works."""
        return {"n": n}

    def broken() -> str:
        """Raises."""
        raise RuntimeError("the oven is on fire")

    def refuses() -> str:
        """Refuses."""
        raise ToolError("not on Sundays")

    def nothing() -> None:
        """Gives nothing."""

    @tool(timeout=0.02)
    async def slow() -> str:
        """Takes long."""
        await asyncio.Event().wait()
        return "never"

    calls = [
        call("fine", n=1),
        call("broken"),
        call("refuses"),
        call("slow"),
        call("nobody"),
        call("fine", n="x"),
        call("fine", n=1, m=2),
        call("nothing"),
    ]
    model = ScriptedModel([reply(calls=calls), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(fine, broken, refuses, slow, nothing)))
    result = await runtime.run("a", "go", session_id="s")
    found = results(result)
    assert [message.is_error for message in found] == [False, True, True, True, True, True, True, False]
    assert [message.text for message in found[:3]] == ['{"n":1}', "RuntimeError: the oven is on fire", "not on Sundays"]
    assert "longer than 0.02 s" in found[3].text
    assert "'nobody'" in found[4].text
    assert "fine, broken, refuses, slow, nothing" in found[4].text
    assert "arguments of fine: n" in found[5].text
    assert "arguments of fine: m" in found[6].text
    assert (found[7].text, result.status) == ("done", "completed")


@pytest.mark.parametrize("name", ["core_memory_append", "handoff_to_agent", "conversation_search"])
async def test_a_reserved_name_is_refused_when_it_is_registered(runtime: Runtime, name: str) -> None:
    @tool(name=name)
    def mine() -> str:
        """Mine."""
        return ""

    with pytest.raises(ValueError, match=name):
        await runtime.register(Agent(name="a", model="extractive", tools=(mine,)))
    assert await runtime.agents() == []


async def test_state_is_written_with_the_turn_and_not_before(runtime: Runtime) -> None:
    stored: list[dict[str, str]] = []

    async def count(ctx: ToolContext) -> str:
        """Count."""
        ctx.agent.state.increment("n")
        ctx.agent.state.set("gone", 1)
        ctx.agent.state.delete("gone")
        stored.append(await runtime.store.fields(runtime.store.keys.state("a|s")))
        return "counted"

    await runtime.register(
        Agent(name="a", model=ScriptedModel([reply(calls=[call("count")]), reply("ok")] * 2), tools=(count,))
    )
    await runtime.run("a", "go", session_id="s")
    await runtime.run("a", "go", session_id="s")
    assert stored == [{}, {"n": "1"}]
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"n": "2"}
    turns = await ThreadStore(runtime.store).turns("a|s")
    assert ['"before":{"n":[]}' in turns[0], '"before":{"n":[1]}' in turns[1]] == [True, True]


async def test_numbers_of_any_size_leave_no_half_written_turn(runtime: Runtime) -> None:
    """Beyond the server's integers, and floats: the same on the host that counted and in the store."""
    seen: list[object] = []

    def count(ctx: ToolContext) -> str:
        """Count."""
        state = ctx.agent.state
        seen.append([state.increment("huge", 10**30), state.increment("tenths", 0.1), state.increment("edge", 2**62)])
        return "counted"

    await runtime.register(
        Agent(name="a", model=ScriptedModel([reply(calls=[call("count")]), reply("ok")] * 3), tools=(count,))
    )
    for turn in range(1, 4):
        assert (await runtime.run("a", "go", session_id="s")).turn == turn
    assert seen[2] == [3 * 10**30, 0.1 + 0.1 + 0.1, 3 * 2**62]
    stored = await runtime.store.fields(runtime.store.keys.state("a|s"))
    assert stored == {"huge": str(3 * 10**30), "tenths": str(0.1 + 0.1 + 0.1), "edge": str(3 * 2**62)}


async def test_running_and_streaming_leave_the_same_items(runtime: Runtime) -> None:
    async def add(a: int, b: int, ctx: ToolContext) -> int:
        """Add."""
        ctx.emit({"sum": a + b})
        return a + b

    async def items(name: str, *, stream: bool) -> list[object]:
        model = ScriptedModel(
            [reply("let me see", calls=[call("add", a=1, b=2), call("add", a=3, b=4)]), reply("3 and 7")]
        )
        await runtime.register(Agent(name=name, model=model, tools=(add,)))
        if stream:
            events = [event async for event in runtime.stream(name, "sums", session_id="s")]
            assert [event.number for event in events] == list(range(1, len(events) + 1))
            assert [type(event) for event in events].count(RunEnded) == 1
            assert isinstance(events[-1], RunEnded)
            assert len([event for event in events if isinstance(event, ToolStarted | ToolEnded)]) == 4
            assert [event.value for event in events if isinstance(event, Emitted)] == [{"sum": 3}, {"sum": 7}]
            result = events[-1].result
        else:
            result = await runtime.run(name, "sums", session_id="s")
        stored = cast("list[Message]", await runtime.session("s", name).get_items())
        assert [message.to_json(meta=False) for message in result.messages] == [m.to_json(meta=False) for m in stored]
        return [result.output, *(message.to_json(meta=False) for message in stored)]

    assert await items("run", stream=False) == await items("streamed", stream=True)


async def test_an_edit_after_the_turn_has_ended_is_fenced(runtime: Runtime) -> None:
    """A tool left something behind that edits later: the lease it wrote under is given back."""
    from orchestra import Block
    from orchestra.core.errors import Fenced

    kept: list[ToolContext] = []

    def keep(ctx: ToolContext) -> str:
        """Keep the context."""
        kept.append(ctx)
        return "kept"

    await runtime.register(
        Agent(
            name="a",
            model=ScriptedModel([reply(calls=[call("keep")]), reply("ok")]),
            tools=(keep,),
            blocks=(Block(label="notes"),),
        )
    )
    await runtime.run("a", "go", session_id="s")
    with pytest.raises(Fenced):
        await kept[0].blocks.append("notes", "too late")
    (notes,) = await runtime.blocks.list(agent="a")
    assert notes.value == ""


async def test_what_a_tool_keeps_once_and_which_resources_it_uses(runtime: Runtime) -> None:
    opened: list[str] = []
    pieces: list[str] = []

    async def use(ctx: ToolContext) -> str:
        """Use things."""
        for _ in range(2):
            await ctx.once("piece", lambda: pieces.append("made") or len(pieces))
        ctx.checkpoint()
        return str([ctx.resource("db"), await cast("Any", ctx.resource("slow"))])

    async def slow() -> str:
        return "connected"

    runtime.resource("db", lambda: opened.append("db") or f"db{len(opened)}")
    runtime.resource("slow", slow)
    model = FunctionModel(lambda request: "ok" if request.messages[-1].role == "tool" else reply(calls=[call("use")]))
    await runtime.register(Agent(name="a", model=model, tools=(use,)))
    for session in ("s1", "s2"):
        result = await runtime.run("a", "go", session_id=session)
        assert results(result)[0].text == "['db1', 'connected']"
    assert opened == ["db"]
