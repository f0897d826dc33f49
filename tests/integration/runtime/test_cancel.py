"""Cancelling: the log stays valid, finished pairs are kept as an aborted turn that does not count."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing
from typing import cast

import pytest

from orchestra import Agent, Block, Runtime, ToolContext
from orchestra.core.events import TextDelta, ToolStarted
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.waiting import until


class Slow:
    """An agent with a quick tool, one that hangs, and a model that asks for both in one reply."""

    def __init__(self, **more: object) -> None:
        self.hangs = asyncio.Event()
        self.agent = Agent.model_validate(
            {"name": "a", "model": FunctionModel(self.answer), "tools": (self.quick, self.hang), **more}
        )

    async def answer(self, request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].text == "hi":
            return "hello there, how are you today?"
        if request.messages[-1].text == "think":
            self.hangs.set()
            await asyncio.Event().wait()
        return reply("let me see", calls=[call("quick"), call("hang")])

    async def quick(self, ctx: ToolContext) -> str:
        """Be done at once."""
        ctx.agent.state.set("quick", 1)
        return "quick as that"

    async def hang(self, ctx: ToolContext) -> str:
        """Never come back."""
        ctx.agent.state.set("hang", 1)
        await asyncio.sleep(0.01)  # the quick one is journaled by then
        self.hangs.set()
        await asyncio.Event().wait()
        return "never"


async def stored(runtime: Runtime) -> list[Message]:
    return cast("list[Message]", await runtime.session("s", "a").get_items())


async def check_the_aborted_turn(runtime: Runtime, before: int = 0) -> None:
    messages = (await stored(runtime))[before:]
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool"]
    assert all(message.meta.aborted for message in messages)
    assert [message.tool_call_id for message in messages[2:]] == [made.id for made in messages[1].tool_calls]
    assert [(m.text, m.meta.synthetic) for m in messages[2:3]] == [("quick as that", False)]
    assert messages[3].is_error
    assert messages[3].meta.synthetic
    assert "may or may not have run" in messages[3].text
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"quick": "1"}  # what the finished tool set
    head = await ThreadStore(runtime.store).head("a|s")
    assert (head["run"], head["host"], head["turn"]) == ("", "", "0" if before == 0 else "1")


async def test_cancel_by_run_id(runtime: Runtime) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    running = asyncio.ensure_future(runtime.run("a", "go", session_id="s", run_id="r1"))
    await slow.hangs.wait()
    assert await runtime.cancel("r1")
    result = await running
    assert (result.status, result.reason, result.output, result.turn) == ("cancelled", "cancelled", None, 0)
    assert result.usage.model_calls == 1
    assert len(result.messages) == 4
    await check_the_aborted_turn(runtime)
    assert not await runtime.cancel("r1")
    after = await runtime.run("a", "hi", session_id="s")
    assert (after.status, after.turn) == ("completed", 1)


async def test_cancel_while_the_model_answers(runtime: Runtime) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    await runtime.run("a", "hi", session_id="s")
    running = asyncio.ensure_future(runtime.run("a", "think", session_id="s", run_id="r1"))
    await slow.hangs.wait()
    assert await runtime.cancel("r1")
    assert (await running).status == "cancelled"
    assert [(m.role, m.meta.aborted) for m in (await stored(runtime))[2:]] == [("user", True)]


async def test_cancel_of_a_run_that_waits_for_its_session(runtime: Runtime) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    first = asyncio.ensure_future(runtime.run("a", "think", session_id="s", run_id="r1"))
    await slow.hangs.wait()
    second = asyncio.ensure_future(runtime.run("a", "hi", session_id="s", run_id="r2"))
    await until("the second run waits", lambda: _cancelled(runtime, "r2"))
    await runtime.cancel("r1")
    assert [(await one).status for one in (first, second)] == ["cancelled", "cancelled"]
    assert all(message.role == "user" for message in await stored(runtime))


async def _cancelled(runtime: Runtime, run_id: str) -> bool:
    return await runtime.cancel(run_id)


async def test_a_stream_that_is_closed_early(runtime: Runtime) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    async with aclosing(runtime.stream("a", "go", session_id="s")) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, ToolStarted) and event.tool == "hang":
                break
        await slow.hangs.wait()
    await check_the_aborted_turn(runtime)


async def test_a_stream_whose_loop_is_left(runtime: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    async for event in runtime.stream("a", "hi", session_id="s"):
        if isinstance(event, TextDelta):
            break
    gc.collect()

    async def ended() -> bool:
        return (await ThreadStore(runtime.store).head("a|s")).get("last_run", "") != ""

    await until("the turn is committed", ended)
    assert (await stored(runtime))[0].role == "user"
    assert caplog.text == ""


async def test_a_caller_that_goes_away(runtime: Runtime) -> None:
    slow = Slow()
    await runtime.register(slow.agent)
    running = asyncio.ensure_future(runtime.run("a", "go", session_id="s"))
    await slow.hangs.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await check_the_aborted_turn(runtime)


async def test_with_persistence_turn_a_failed_run_leaves_the_history_as_it_was(runtime: Runtime) -> None:
    slow = Slow(persistence="turn")
    await runtime.register(slow.agent)
    await runtime.run("a", "hi", session_id="s")
    before = await stored(runtime)
    running = asyncio.ensure_future(runtime.run("a", "go", session_id="s", run_id="r1"))
    await slow.hangs.wait()
    await runtime.cancel("r1")
    assert (await running).status == "cancelled"
    assert await stored(runtime) == before
    head = await ThreadStore(runtime.store).head("a|s")
    assert (head["turn"], head["run"]) == ("1", "")
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"quick": "1"}


async def test_a_failed_model_leaves_an_aborted_turn(runtime: Runtime) -> None:
    async def look() -> str:
        """Look."""
        return "found"

    async def answer(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "tool":
            raise ValueError("out of words")
        return "hello" if request.messages[-1].text == "hi" else reply(calls=[call("look")])

    await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(look,), blocks=(Block(label="notes"),)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason, result.turn) == ("failed", "model", 0)
    assert "out of words" in result.error
    messages = await stored(runtime)
    assert [(message.role, message.meta.aborted) for message in messages] == [
        ("user", True),
        ("assistant", True),
        ("tool", True),
    ]
    turns = await ThreadStore(runtime.store).turns("a|s")
    assert turns[0].startswith("0 1 3 aborted ")
    assert (await runtime.run("a", "hi", session_id="s")).turn == 1


async def test_something_else_that_was_cancelled_is_an_error_and_not_a_cancelled_run(runtime: Runtime) -> None:
    async def stray() -> str:
        """Wait for a task that somebody cancels."""
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        return str(await task)

    async def answer(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].text == "model":
            return await stray()
        return request.messages[-1].text if request.messages[-1].role == "tool" else reply(calls=[call("stray")])

    await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(stray,)))
    result = await runtime.run("a", "tool", session_id="s")
    assert (result.status, result.messages[2].is_error) == ("completed", True)
    assert "cancelled" in result.messages[2].text
    result = await runtime.run("a", "model", session_id="s")
    assert (result.status, result.reason) == ("failed", "error")


@pytest.mark.parametrize("hosts", [1, 2])
async def test_a_run_that_waits_for_its_session_ends_at_once(machines: Machines, hosts: int) -> None:
    """Whether the session is held on this host or on another one."""
    slow = Slow()
    clients = [await machines.client(f"primary-{number}") for number in range(hosts)]
    await clients[0].register(slow.agent)
    first = asyncio.ensure_future(clients[0].run("a", "think", session_id="s", run_id="r1"))
    await slow.hangs.wait()
    waiting = asyncio.ensure_future(clients[-1].run("a", "hi", session_id="s", run_id="r2"))
    await until("it waits", lambda: "r2" in machines.hosts[-1].active)
    assert await clients[-1].cancel("r2")
    async with asyncio.timeout(5):
        result = await waiting
    assert (result.status, result.reason, result.messages) == ("cancelled", "cancelled", ())
    assert not first.done()
    assert await clients[0].cancel("r1")
    assert (await first).status == "cancelled"
    assert (await clients[-1].run("a", "hi", session_id="s", run_id="r2")).status == "completed"
