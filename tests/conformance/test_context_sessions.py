"""The context in a session, cases C10, C11 and C14 of the conformance list, and what must hold over many turns."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import pytest

from orchestra import Agent, Block, Runtime
from orchestra.context.invariants import faults
from orchestra.context.summary_message import is_summary
from orchestra.core.conversation import Compaction, Conversation, Flush, WindowGuard
from orchestra.core.errors import ContextOverflow
from orchestra.core.events import ContextDecided
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.context_store import ContextStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.waiting import until

NOTES = Block(label="notes", description="What to know.")
LONG = "a long story about nothing in particular, told again and again " * 20


def is_summary_request(request: ModelRequest) -> bool:
    return "takes the place of these messages" in request.messages[0].text


def is_flush(request: ModelRequest) -> bool:
    return any(message.meta.synthetic and "will soon be shortened" in message.text for message in request.messages)


def answers(request: ModelRequest) -> ModelReply | str:
    if is_summary_request(request):
        return "They told stories."
    if is_flush(request):
        saves = request.messages[-1].role == "user"
        return reply(calls=[call("core_memory_append", label="notes", content="A story.")]) if saves else "NO_REPLY"
    return "ok"


def agent(model: FunctionModel, **more: object) -> Agent:
    conversation = Conversation(
        guard=WindowGuard(minimum=0),
        flush=Flush(soft_threshold=300),
        compaction=Compaction(retries=0, keep_recent=600),
    )
    fields = {"blocks": (NOTES,), "context_tokens": 3_000, "conversation": conversation, **more}
    return Agent(name="a", model=model, **fields)  # type: ignore[arg-type]


async def test_c10_two_workers_on_one_session_flush_once_and_compact_once_a_cycle(machines: Machines) -> None:
    model = FunctionModel(answers)
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await clients[0].register(agent(model))
    contexts = ContextStore(machines.store)
    for number in range(8):
        await asyncio.gather(*(client.run("a", f"{number} {LONG}", session_id="s") for client in clients))
    await until("no summary is made any more", lambda: not any(host.background.working for host in machines.hosts))
    record = await contexts.record("a|s")
    assert record.cycle >= 2
    flushes = [request for request in model.requests if is_flush(request) and request.messages[-1].role == "user"]
    (notes,) = await clients[0].blocks.list(agent="a")
    assert notes.value.split("\n") == ["A story."] * len(flushes)
    assert len(flushes) <= record.cycle + 1
    log = await clients[0].session("s", "a").get_items()
    assert len(log) == 2 * 16  # nothing is lost from the log, and the flushes are not in it


async def test_c11_a_restored_context_is_the_last_reduced_one_without_another_model_call(machines: Machines) -> None:
    model = FunctionModel(answers)
    warm = await machines.client("primary-0")
    await warm.register(agent(model))
    contexts = ContextStore(machines.store)
    for number in range(6):
        await warm.run("a", f"{number} {LONG}", session_id="s")
        await until("no summary is being made", lambda: not machines.hosts[0].background.working)
    assert (await contexts.record("a|s")).cycle >= 1
    snapshot = await warm.snapshot("s", "a")
    await warm.run("a", "look", session_id="s")
    shown = model.requests[-1].messages
    assert is_summary(shown[1])
    await warm.restore(snapshot)
    before = len(model.requests)
    cold = await machines.client("cold-0")
    await cold.run("a", "look", session_id="s")
    assert len(model.requests) == before + 1
    plain = [(message.role, message.text) for message in shown]
    assert [(message.role, message.text) for message in model.requests[-1].messages] == plain


async def test_c14_an_overflow_is_compacted_and_tried_again_three_times_at_most(runtime: Runtime) -> None:
    refused: list[int] = []

    def refuses(request: ModelRequest) -> ModelReply | str:
        if is_summary_request(request):
            return "They told stories."
        if request.messages[-1].text == "go" and len(refused) < 3:
            refused.append(len(request.messages))
            raise ContextOverflow("m", "too long")
        return "ok"

    model = FunctionModel(refuses)
    await runtime.register(agent(model, blocks=(), context_tokens=20_000))
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", LONG)] * 10)
    events = [event async for event in runtime.stream("a", "go", session_id="s")]
    overflows = [event for event in events if isinstance(event, ContextDecided) and event.part == "overflow"]
    assert events[-1].result.output == "ok"  # type: ignore[union-attr]
    assert len(overflows) == len(refused) == 3
    assert refused == sorted(refused, reverse=True)
    assert refused[-1] < refused[0]
    assert (await ContextStore(runtime.store).record("a|s")).cycle >= 1
    assert faults(model.requests[-1].messages, newest=model.requests[-1].messages[-1]) == []


@pytest.mark.parametrize("strategy", ["safeguard", "window", "full"])
async def test_the_memory_of_a_host_does_not_grow_with_turns(runtime: Runtime, strategy: str) -> None:
    """Of one long session and of many short ones: what is cached is bounded by bytes and by what a view needs."""
    window = Conversation(strategy=strategy)  # type: ignore[arg-type]
    model = FunctionModel(lambda request: "ok")
    await runtime.register(Agent(name="a", model=model, context_tokens=16_000, conversation=window))
    host = runtime._inline_host
    threads = host.caches.threads

    async def play(count: int) -> int:
        for number in range(count):
            await runtime.run("a", f"{number} and more", session_id="s")
            model.requests.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    await play(150)
    tracemalloc.start()
    try:
        first = await play(150)
        grown = await play(150) - first
    finally:
        tracemalloc.stop()
    # Two messages a turn are in the cached view until it is cut; nothing else stays of a turn.
    assert grown < 150 * 2 * 2_500
    assert threads.currsize <= threads.maxsize
    assert host.background.working == ()
    assert len(host._queues) == 0
