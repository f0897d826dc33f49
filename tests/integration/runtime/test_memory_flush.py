"""The memory flush: once a cycle, before the turn, with tools that save, and never in the way of the answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from orchestra import Agent, Block, Runtime
from orchestra.core.agent import Limits
from orchestra.core.conversation import Compaction, Conversation, Flush, WindowGuard
from orchestra.core.events import ContextDecided, RunEvent, TextDelta
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.models.extractive import ExtractiveModel
from orchestra.store.context_store import ContextStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines

NOTES = Block(label="notes", description="What to know.")
PERSONA = Block(label="persona", value="Brisk.")
LONG = "a long story about nothing in particular, told again and again " * 30


def is_flush(request: ModelRequest) -> bool:
    return any(message.meta.synthetic and "will soon be shortened" in message.text for message in request.messages)


def agent(
    saves: Callable[[ModelRequest], ModelReply | str], *, failures: int = 3, **more: object
) -> tuple[Agent, FunctionModel]:
    """An agent that flushes from 1100 tokens on; ``saves`` is what it answers then."""

    def answer(request: ModelRequest) -> ModelReply | str:
        if "takes the place of these messages" in request.messages[0].text:
            return ""  # no summary comes about, so the cycle stays
        return saves(request) if is_flush(request) else "ok"

    model = FunctionModel(answer)
    conversation = Conversation(
        guard=WindowGuard(minimum=0),
        flush=Flush(soft_threshold=400, max_failures=failures),
        compaction=Compaction(keep_recent=1_000, retries=0),
    )
    fields = {"blocks": (PERSONA, NOTES), "context_tokens": 2_000, "conversation": conversation, **more}
    return Agent(name="a", model=model, **fields), model  # type: ignore[arg-type]


def once(request: ModelRequest) -> ModelReply | str:
    if request.messages[-1].role == "tool":
        return "NO_REPLY"
    return reply(calls=[call("core_memory_append", label="notes", content="Ana lives in Lisbon.")])


async def told(runtime: Runtime, text: str) -> list[RunEvent]:
    return [event async for event in runtime.stream("a", text, session_id="s")]


def flushes(events: list[RunEvent]) -> list[str]:
    return [event.decision for event in events if isinstance(event, ContextDecided) and event.part == "flush"]


async def fill(runtime: Runtime) -> None:
    """So much that the next turn flushes, and nothing is compacted yet."""
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", LONG)])
    await runtime.session("s", "a").add_items([Message("user", LONG[:600]), Message("assistant", "ok")])


async def hangs_in_a_flush(request: ModelRequest) -> str:
    """What a model says whose memory flush never comes to an end."""
    if is_flush(request):
        await asyncio.Event().wait()
    return "ok"


async def test_it_saves_once_a_cycle_and_leaves_nothing_in_the_log(runtime: Runtime) -> None:
    one, model = agent(once)
    await runtime.register(one)
    await runtime.run("a", "hello", session_id="s")
    await fill(runtime)
    events = await told(runtime, "go")
    assert flushes(events) == ["yes", "yes"]
    assert [request for request in model.requests if is_flush(request)]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["ok"]
    (_, notes) = await runtime.blocks.list(agent="a")
    assert notes.value == "Ana lives in Lisbon."
    # What was saved is in the very next prompt: that of the turn itself.
    asked = next(request for request in model.requests if request.messages[-1].text == "go")
    assert any("Ana lives in Lisbon." in message.text for message in asked.messages)
    assert {tool.name for tool in model.requests[1].tools} == {
        "core_memory_append",
        "core_memory_replace",
        "memory_insert",
    }
    assert flushes(await told(runtime, "again")) == ["no"]
    said = [message.text for message in await runtime.session("s", "a").get_items()]  # type: ignore[attr-defined]
    assert said[-4:] == ["go", "ok", "again", "ok"]


async def test_it_cannot_rewrite_who_the_agent_is(runtime: Runtime) -> None:
    def saves(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "tool":
            assert "persona" in request.messages[-1].text
            return "NO_REPLY"
        return reply(calls=[call("core_memory_append", label="persona", content="Now I am rude.")])

    one, _ = agent(saves)
    await runtime.register(one)
    await runtime.run("a", "hello", session_id="s")
    await fill(runtime)
    assert flushes(await told(runtime, "go")) == ["yes", "yes"]
    assert [block.value for block in await runtime.blocks.list(agent="a")] == ["Brisk.", ""]


async def test_three_failures_end_the_cycle_and_no_answer_is_lost(runtime: Runtime) -> None:
    def saves(request: ModelRequest) -> ModelReply | str:
        raise ValueError("away")

    one, model = agent(saves)
    await runtime.register(one)
    await runtime.run("a", "hello", session_id="s")
    await fill(runtime)
    decisions = []
    for number in range(4):
        events = await told(runtime, f"go {number}")
        decisions.append(flushes(events))
        assert events[-1].result.status == "completed"  # type: ignore[union-attr]
    assert decisions == [["yes", "failed"]] * 3 + [["no"]]
    record = await ContextStore(runtime.store).record("a|s")
    assert (record.flushed, record.failures) == (0, 3)
    assert sum(map(is_flush, model.requests)) == 3


async def test_two_workers_flush_once(machines: Machines) -> None:
    one, model = agent(once)
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await clients[0].register(one)
    await clients[0].run("a", "hello", session_id="s")
    session = clients[0].session("s", "a")
    await session.add_items([Message("user", LONG), Message("assistant", LONG), Message("user", LONG[:600])])

    await asyncio.gather(*(client.run("a", f"go {n}", session_id="s") for n, client in enumerate(clients)))
    flushing = [request for request in model.requests if is_flush(request) and request.messages[-1].role == "user"]
    assert len(flushing) == 1
    (_, notes) = await clients[0].blocks.list(agent="a")
    assert notes.value == "Ana lives in Lisbon."


@pytest.mark.parametrize("archive", [True, False])
async def test_the_extractive_model_saves_sentences_that_were_said(runtime: Runtime, archive: bool) -> None:
    one, _ = agent(once)
    one = one.model_copy(update={"model": ExtractiveModel(), "archive": archive})
    await runtime.register(one)
    await runtime.run("a", "My boat is the Albatros and lies in Lisbon.", session_id="s")
    await fill(runtime)
    assert flushes(await told(runtime, "go")) == ["yes", "yes"]
    if archive:
        (found,) = await runtime.passages.list("a")
        saved = found.text
    else:
        saved = (await runtime.blocks.list(agent="a"))[1].value
    assert "My boat is the Albatros and lies in Lisbon." in saved


async def test_a_host_that_is_lost_in_a_flush_saves_nothing_twice(machines: Machines) -> None:
    """The first host dies after the tool has saved; the second one goes on with the flush, then with the turn."""
    reached, released = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply | str:
        if "takes the place of these messages" in request.messages[0].text:
            return ""
        if not is_flush(request):
            return "ok"
        if request.messages[-1].role == "tool" and not reached.is_set():
            reached.set()
            await released.wait()
        return once(request)

    one, _ = agent(once)
    model = FunctionModel(answer)
    one = one.model_copy(update={"model": model})
    first = await machines.client("primary-0")
    await first.register(one)
    await first.run("a", "hello", session_id="s")
    await first.session("s", "a").add_items(
        [Message("user", LONG), Message("assistant", LONG), Message("user", LONG[:600])]
    )
    running = asyncio.ensure_future(first.run("a", "go", session_id="s", run_id="r1"))
    await asyncio.wait_for(reached.wait(), 5)
    await machines.hosts[0].hosts.leave(machines.hosts[0].id)
    second = await machines.client("primary-1")
    result = await second.run("a", "go", session_id="s", run_id="r1")
    assert (result.status, result.output) == ("completed", "ok")
    released.set()
    await asyncio.gather(running, return_exceptions=True)
    (_, notes) = await second.blocks.list(agent="a")
    assert notes.value == "Ana lives in Lisbon."
    assert (await ContextStore(machines.store).record("a|s")).flushed == 0
    calls = [one for one in model.requests if is_flush(one) and one.messages[-1].role == "user"]
    assert len(calls) == 1  # the reply was in the journal


class Trip(BaseModel):
    """A trip."""

    city: str


async def test_what_a_flush_says_is_of_no_output_type(runtime: Runtime) -> None:
    one, model = agent(once)
    await runtime.register(one.model_copy(update={"output_type": Trip}))
    await fill(runtime)
    events = await told(runtime, "go")
    assert flushes(events) == ["yes", "yes"]
    (done,) = [e for e in events if isinstance(e, ContextDecided) and e.part == "flush" and "done" in e.reason]
    assert re.search(r"done, 1 tool calls, [1-9]\d+ tokens", done.reason)  # no result counts them
    asked = [request for request in model.requests if is_flush(request)]
    assert [request.output_schema for request in asked] == [None, None]
    assert any(request.output_schema is not None for request in model.requests)


async def test_the_turns_limit_of_seconds_holds_in_a_flush(runtime: Runtime) -> None:
    """A flush that took the end of the turn for its own would let the turn go on without a limit."""
    one, _ = agent(once)
    model = FunctionModel(hangs_in_a_flush)
    await runtime.register(one.model_copy(update={"model": model, "limits": Limits(seconds=0.2)}))
    await fill(runtime)
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason) == ("limit", "seconds")
    assert all(map(is_flush, model.requests))
    assert (await ContextStore(runtime.store).record("a|s")).failures == 0


async def test_a_flush_that_takes_too_long_has_failed_and_the_answer_comes(runtime: Runtime) -> None:
    one, _ = agent(once)
    flush = one.conversation.flush.model_copy(update={"timeout": 0.1})
    conversation = one.conversation.model_copy(update={"flush": flush})
    one = one.model_copy(update={"model": FunctionModel(hangs_in_a_flush), "conversation": conversation})
    await runtime.register(one)
    await fill(runtime)
    assert flushes(await told(runtime, "go")) == ["yes", "failed"]
    assert (await runtime.session("s", "a").get_items())[-1].text == "ok"  # type: ignore[attr-defined]
