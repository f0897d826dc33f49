"""Tools that end in odd ways: each is an error result, and neither host, siblings nor session suffer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from orchestra import Agent, RunResult, Runtime, ToolContext, tool
from orchestra.context.invariants import faults
from orchestra.core.errors import InputError, StoreUnavailable
from orchestra.core.events import Emitted, RunEnded, ToolEnded
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply
from orchestra.runtime.tool import Tool
from orchestra.testing import ScriptedModel, call, reply


class Leave(BaseException):
    """What some test runners and async libraries raise to get out."""


async def one_turn(runtime: Runtime, *tools: Tool, session_id: str = "s") -> list[Message]:
    """A reply that calls each tool, and an answer; the tools' results."""
    model = ScriptedModel([reply(calls=[call(made.name) for made in tools]), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=tools))
    async with asyncio.timeout(5):
        result = await runtime.run("a", "go", session_id=session_id)
    assert (result.status, result.output) == ("completed", "done")
    return [message for message in result.messages if message.role == "tool"]


@pytest.mark.parametrize("kind", [SystemExit, Leave, asyncio.CancelledError, StopIteration, StopAsyncIteration])
async def test_whatever_a_tool_raises_is_a_result(runtime: Runtime, kind: type[BaseException]) -> None:
    @tool
    async def here() -> str:
        """Raise on the loop."""
        raise kind("out")

    @tool
    def there() -> str:
        """Raise in a thread."""
        raise kind("out")

    @tool
    async def fine() -> str:
        """Be the sibling."""
        return "kept"

    first, second, third = await one_turn(runtime, here, there, fine)
    assert (first.is_error, second.is_error, third.is_error) == (True, True, False)
    assert third.text == "kept"


async def test_an_error_without_a_text_is_named(runtime: Runtime) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise TypeError("no text")

    @tool
    def mute() -> str:
        """Raise it."""
        raise Mute

    (result,) = await one_turn(runtime, mute)
    assert (result.text, result.is_error) == ("Mute", True)


async def test_a_tool_that_cancels_itself(runtime: Runtime) -> None:
    @tool
    async def quit_() -> str:
        """Cancel the task that runs it."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    @tool
    async def fine() -> str:
        """Be the sibling."""
        return "kept"

    first, second = await one_turn(runtime, quit_, fine)
    assert first.is_error
    assert "cancelled itself" in first.text
    assert second.text == "kept"


async def test_another_server_that_is_away_is_the_tools_own_business(runtime: Runtime) -> None:
    @tool
    async def ask() -> str:
        """Ask some other Redis."""
        raise StoreUnavailable("redis://elsewhere", "it is down")

    (result,) = await one_turn(runtime, ask)
    assert result.is_error
    assert "elsewhere" in result.text


async def test_text_that_cannot_be_stored_is_made_storable(runtime: Runtime) -> None:
    @tool
    def listing() -> str:
        """Name a file whose name is no Unicode."""
        return "caf\udce9.txt"

    (result,) = await one_turn(runtime, listing)
    assert (result.text, result.is_error) == ("caf\ufffd.txt", False)
    with pytest.raises(InputError, match="surrogate"):
        await runtime.run("a", "caf\udce9", session_id="s")
    with pytest.raises(InputError, match="surrogate"):
        await runtime.run("a", "hi", session_id="caf\udce9")
    with pytest.raises(InputError, match="user id"):
        await runtime.run("a", "hi", session_id="s", user_id="")


async def test_tools_that_hang_take_no_other_tools_thread(runtime: Runtime) -> None:
    go = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        """Hang past its time."""
        go.wait(30)
        return "late"

    @tool
    def quick() -> str:
        """Be quick."""
        return "quick"

    try:
        hung = await one_turn(runtime, *(Tool(hang.function, name=f"hang{i}", timeout=0.05) for i in range(40)))
        assert all("was stopped" in result.text for result in hung)
        (result,) = await one_turn(runtime, quick, session_id="other")
        assert result.text == "quick"
    finally:
        go.set()


async def test_a_tool_that_ran_out_of_time_changes_no_state_any_more(runtime: Runtime) -> None:
    go, refused = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def late(ctx: ToolContext) -> str:
        """Set something when nobody waits any more."""
        ctx.agent.state.set("early", 1)
        go.wait(30)
        try:
            ctx.agent.state.set("late", 1)
        except Exception:
            refused.set()
        return "late"

    @tool
    async def look(ctx: ToolContext) -> str:
        """Let the late one go on, and look."""
        go.set()
        await asyncio.to_thread(refused.wait, 5)
        return " ".join(ctx.agent.state.keys())

    model = ScriptedModel([reply(calls=[call("late")]), reply(calls=[call("look")]), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(late, look)))
    result = await runtime.run("a", "go", session_id="s")
    assert refused.is_set()
    assert [m.text for m in result.messages if m.name == "look"] == ["early"]
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"early": "1"}


async def test_a_sync_tool_emits_through_the_loop(runtime: Runtime) -> None:
    """A loop in debug mode refuses what is not meant for another thread."""
    heard = threading.Semaphore(0)

    @tool
    def talk(ctx: ToolContext) -> str:
        """Emit, again and again, each time when the last one was heard."""
        for number in range(100):
            ctx.emit(number)
            if not heard.acquire(timeout=5):
                return "not heard"
        return "heard"

    model = ScriptedModel([reply(calls=[call("talk")]), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(talk,)))
    asyncio.get_running_loop().set_debug(True)
    numbers: list[int] = []
    ended: RunResult | None = None
    async for event in runtime.stream("a", "go", session_id="s"):
        numbers.append(event.number)
        if isinstance(event, Emitted):
            heard.release()
        if isinstance(event, ToolEnded):
            assert event.content == "heard"
        if isinstance(event, RunEnded):
            ended = event.result
    assert ended is not None
    assert ended.status == "completed"
    assert numbers == sorted(set(numbers))


async def test_a_call_that_cannot_be_answered_is_not_stored(runtime: Runtime) -> None:
    """A provider would refuse it in every later prompt."""
    broken, whole = ToolCall("c", "", {}), ToolCall("d", "look", {})
    replies = [ModelReply(Message("assistant", "both", (broken, whole))), reply("done")]
    model = ScriptedModel([*replies, ModelReply(Message("assistant", "", (broken,)))])
    await runtime.register(Agent(name="a", model=model, tools=(Tool(lambda: "seen", name="look"),)))
    result = await runtime.run("a", "go", session_id="s")
    assert [message.tool_calls for message in result.messages] == [(), (whole,), (), ()]
    assert faults([message for message in model.requests[1].messages if message.role != "system"]) == []
    alone = await runtime.run("a", "go", session_id="s")
    assert (alone.status, alone.reason) == ("failed", "model")
    assert "without an id or a name" in alone.error
