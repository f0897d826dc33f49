"""Compaction: a summary in place of old messages, in the background, once, or not at all."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import cast

import pytest

from orchestra import Agent, Runtime
from orchestra.context.invariants import faults
from orchestra.context.summary_message import is_summary, summary_text
from orchestra.core.conversation import Compaction, Conversation, WindowGuard
from orchestra.core.errors import ContextOverflow
from orchestra.core.events import ContextDecided
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.tokens import message_tokens
from orchestra.memory.session_list import delete_session
from orchestra.memory.sessions import Session
from orchestra.models.extractive import ExtractiveModel
from orchestra.runtime.background import MOST
from orchestra.runtime.compactor import Compactor
from orchestra.store.context_store import ContextRecord, ContextStore
from orchestra.testing import FunctionModel
from tests.hosts import Machines
from tests.waiting import until

WINDOW = 2_000
LONG = "a long story about nothing in particular, told again and again " * 30


def is_asked_to_summarise(request: ModelRequest) -> bool:
    return request.messages[0].role == "system" and "takes the place of these messages" in request.messages[0].text


def conversation(**more: object) -> Conversation:
    fields = {"retries": 0, **more}
    return Conversation(guard=WindowGuard(minimum=0), compaction=Compaction.model_validate(fields))


def agent(summary: Callable[[ModelRequest], object], **more: object) -> tuple[Agent, FunctionModel]:
    """An agent that says little; ``summary`` is what it gives when it is to summarise."""

    async def answer(request: ModelRequest) -> ModelReply | str:
        if not is_asked_to_summarise(request):
            return "ok"
        made = summary(request)
        return cast("str", await made if asyncio.iscoroutine(made) else made)

    model = FunctionModel(answer)
    return Agent(name="a", model=model, context_tokens=WINDOW, conversation=conversation(**more)), model


def talks(model: FunctionModel) -> list[ModelRequest]:
    return [request for request in model.requests if not is_asked_to_summarise(request)]


async def record(runtime: Runtime, cycle: int = 1) -> ContextRecord:
    contexts = ContextStore(runtime.store)

    async def there() -> ContextRecord | None:
        found = await contexts.record("a|s")
        return found if found.cycle >= cycle else None

    return cast("ContextRecord", await until(f"compaction {cycle} is recorded", there))


async def idle(runtime: Runtime) -> None:
    await until("nothing is done in the background", lambda: not runtime._inline_host.background.working)


async def test_old_messages_become_a_summary_and_the_log_stays_whole(runtime: Runtime) -> None:
    one, model = agent(lambda request: "They told a story.")
    await runtime.register(one)
    for number in range(8):
        await runtime.run("a", f"{number} {LONG}", session_id="s")
        await idle(runtime)
    found = await record(runtime)
    await runtime.run("a", "last", session_id="s")
    shown = talks(model)[-1].messages
    assert is_summary(shown[0])
    assert summary_text(shown[0]).startswith("They told a story.")
    assert sum(map(is_summary, shown)) == 1
    assert shown[-1].text == "last"
    assert faults(shown, newest=shown[-1], summary=shown[0]) == []
    assert len(await runtime.session("s", "a").get_items()) == 18
    assert found.upto > 0


@pytest.mark.parametrize("summary", ["", "much longer " * 5_000, ValueError("away"), "slow"])
async def test_a_summariser_that_fails_leaves_the_history(runtime: Runtime, summary: object) -> None:
    async def fails(request: ModelRequest) -> str:
        if isinstance(summary, Exception):
            raise summary
        if summary == "slow":
            await asyncio.Event().wait()
        return cast("str", summary)

    one, model = agent(fails, timeout=0.05, block_stream=True)
    await runtime.register(one)
    events: list[ContextDecided] = []
    for number in range(4):
        async for event in runtime.stream("a", f"{number} {LONG}", session_id="s"):
            if isinstance(event, ContextDecided) and event.part == "compaction":
                events.append(event)
    assert [event.decision for event in events][-2:] == ["yes", "failed"]
    assert events[-1].reason
    assert (await ContextStore(runtime.store).record("a|s")).cycle == 0
    await runtime.run("a", "last", session_id="s")
    assert not any(map(is_summary, talks(model)[-1].messages))


async def test_two_hosts_that_compact_the_same_stretch_leave_one_record(machines: Machines) -> None:
    one, _ = agent(lambda request: "They told a story.", reserve_floor=0, keep_recent=100)
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await clients[0].register(one)
    for client in (*clients, *clients):
        await client.run("a", LONG, session_id="s")
    compactors = []
    for host in machines.hosts:
        cached, loaded = host.caches.threads["a|s"], host.caches.agents["a"].loaded
        if cached.count == 8:
            made = Compactor(host, loaded, "a|s", cached.view, cached.decided, edition=cached.edition, fixed=0)
            compactors += [made, made]
    done = await asyncio.gather(*(compactor.compact("both at once") for compactor in compactors))
    assert sorted(one.status for one in done) in (["elsewhere", "recorded"], ["recorded", "recorded"])
    found = await ContextStore(machines.store).record("a|s")
    assert found.cycle == 1


async def test_the_host_ends_between_summary_and_record_and_the_next_turn_does_it_again(machines: Machines) -> None:
    reached = asyncio.Event()

    async def hangs(request: ModelRequest) -> str:
        if not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        return "They told a story."

    one, _ = agent(hangs)
    first, second = await machines.client("primary-0"), await machines.client("primary-1")
    await first.register(one)
    for number in range(4):
        await first.run("a", f"{number} {LONG}", session_id="s")
    await asyncio.wait_for(reached.wait(), 5)
    await machines.hosts[0].stop()
    contexts = ContextStore(machines.store)
    assert (await contexts.record("a|s")).cycle == 0
    await second.run("a", LONG, session_id="s")

    async def once() -> bool:
        return (await contexts.record("a|s")).cycle == 1

    await until("the other host has compacted", once)


async def test_the_loop_goes_on_while_a_long_log_is_summarised(runtime: Runtime) -> None:
    """A heartbeat on the loop of the host is never kept waiting for 50 ms by what the loop itself works.

    By the clock a busy machine is late, too: half of the beats must be in time there.
    """
    waited: list[tuple[float, float]] = []
    over = asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            start, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.005)
            waited.append((time.thread_time() - worked, time.perf_counter() - start))

    model = ExtractiveModel()
    conversation_ = Conversation(guard=WindowGuard(minimum=0))
    await runtime.register(Agent(name="a", model=model, context_tokens=24_000, conversation=conversation_))
    roles = ("user", "assistant")
    text = "On day {0} we counted {0} boxes in hall {0} of Hamburg and sent {0} of them to Ana Silva in Lisbon. "
    items = [Message(roles[n % 2], text.format(n) * 6) for n in range(600)]  # type: ignore[arg-type]
    await runtime.session("s", "a").add_items(items)
    gc.collect()
    gc.freeze()  # what hundreds of tests have left is not looked through while the beats are measured
    beating = asyncio.ensure_future(beat())
    await runtime.run("a", "and now?", session_id="s")
    waited.clear()
    await record(runtime)
    over.set()
    await beating
    gc.unfreeze()
    del waited[0]  # it began while the turn was still at work
    assert len(waited) > 10
    assert max(worked for worked, _ in waited) < 0.05
    assert sorted(late for _, late in waited)[len(waited) // 2] < 0.05


async def test_a_prompt_that_is_too_long_for_the_provider_is_compacted_and_tried_again(runtime: Runtime) -> None:
    left = [3]

    def answer(request: ModelRequest) -> str:
        if is_asked_to_summarise(request):
            return "They told a story."
        if len(request.messages) > 1 and left[0]:
            left[0] -= 1
            raise ContextOverflow("m", "too long")
        return "ok"

    model = FunctionModel(answer)
    await runtime.register(Agent(name="a", model=model, context_tokens=20_000))
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", LONG)] * 6)
    assert (await runtime.run("a", "go", session_id="s")).output == "ok"
    sizes = [len(request.messages) for request in talks(model)]
    assert sizes[0] == 13
    assert sizes[-1] < sizes[0]
    left[0] = 4
    result = await runtime.run("a", "go", session_id="s")
    assert result.status == ("failed" if len(talks(model)[-1].messages) > 1 else "completed")


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_each_overflow_of_a_turn_is_compacted_further(runtime: Runtime, times: int) -> None:
    """The second compaction of a turn builds on the first: one that does not know of it would be recorded nowhere."""
    left, shown = [times], list[int]()

    def answer(request: ModelRequest) -> str:
        if is_asked_to_summarise(request):
            return "They told a story."
        shown.append(sum(map(message_tokens, request.messages)))
        if left[0]:
            left[0] -= 1
            raise ContextOverflow("m", "too long")
        return "ok"

    await runtime.register(Agent(name="a", model=FunctionModel(answer), context_tokens=20_000))
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", LONG)] * 6)
    assert (await runtime.run("a", "go", session_id="s")).output == "ok"
    assert (await record(runtime)).cycle == times
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) == times + 1


async def test_four_overflows_end_the_turn(runtime: Runtime) -> None:
    def answer(request: ModelRequest) -> str:
        raise ContextOverflow("m", "too long")

    model = FunctionModel(answer)
    await runtime.register(Agent(name="a", model=model))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason) == ("failed", "model")
    assert len(model.requests) == 4


async def test_instructions_larger_than_the_window_are_a_typed_error(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: "ok")
    await runtime.register(
        Agent(name="a", model=model, instructions=LONG * 20, context_tokens=WINDOW, conversation=conversation())
    )
    result = await runtime.run("a", "go", session_id="s")
    assert result.status == "failed"
    assert "instructions, blocks and tools alone take" in result.error
    assert model.requests == []


@pytest.mark.parametrize("strategy", ["full", "window"])
async def test_without_summaries_an_overflow_leaves_older_turns_out(runtime: Runtime, strategy: str) -> None:
    """What was refused is not asked for again as it was."""
    sizes: list[int] = []

    def answer(request: ModelRequest) -> str:
        sizes.append(len(request.messages))
        if sum(map(message_tokens, request.messages)) > 2_000:
            raise ContextOverflow("m", "too long")
        return "ok"

    fields = {"guard": {"minimum": 0}, "strategy": strategy, "window": {"messages": 100}}
    made = Conversation.model_validate(fields)
    await runtime.register(Agent(name="a", model=FunctionModel(answer), context_tokens=4_000, conversation=made))
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", "ok")] * 8)
    assert (await runtime.run("a", "go", session_id="s")).output == "ok"
    assert sizes[-1] < sizes[0]
    assert len(set(sizes)) == len(sizes)


async def test_a_host_that_makes_many_summaries_says_that_this_one_waits(machines: Machines) -> None:
    one, _ = agent(lambda request: "They told a story.")
    client = await machines.client()
    await client.register(one)
    over, background = asyncio.Event(), machines.hosts[0].background
    for number in range(MOST):
        assert background.start(f"other {number}", over.wait)
    told: list[ContextDecided] = []
    for number in range(4):
        async for event in client.stream("a", f"{number} {LONG}", session_id="s"):
            if isinstance(event, ContextDecided) and event.part == "compaction":
                told.append(event)
    assert (told[-1].decision, told[-1].reason.partition("; ")[2]) == (
        "no",
        "this host makes as many summaries as it may at once",
    )
    over.set()
    await until("the others have ended", lambda: not background.working)
    await client.run("a", "go on", session_id="s")

    async def recorded() -> bool:
        return (await ContextStore(machines.store).record("a|s")).cycle == 1

    await until("the next turn has compacted", recorded)


@pytest.mark.parametrize("meanwhile", ["compacted", "popped", "rewound", "cleared", "deleted", "made again"])
async def test_a_host_that_wakes_up_late_records_no_summary_of_what_has_changed(
    machines: Machines, meanwhile: str
) -> None:
    """As after SIGSTOP, or a pause for a minute: its summary is of a log that is another one now."""
    late = asyncio.Event()

    async def summary(request: ModelRequest) -> str:
        if "late" not in started:
            started.append("late")
            await late.wait()
            return "What the one that is late tells."
        return "They told a story."

    started: list[str] = []
    one, model = agent(summary, keep_recent=300)
    paused, other = await machines.client("primary-0"), await machines.client("primary-1")
    await paused.register(one)
    for number in range(4):
        await paused.run("a", f"{number} {LONG}", session_id="s")
    await until("it summarises", lambda: started == ["late"])
    session, contexts = other.session("s", "a"), ContextStore(machines.store)
    if meanwhile == "compacted":
        await other.run("a", LONG, session_id="s")
        await until("the other one has compacted", lambda: not machines.hosts[1].background.working)
        assert (await contexts.record("a|s")).cycle == 1
    elif meanwhile == "popped":
        await session.pop_item()
    elif meanwhile == "rewound":
        await session.rewind(1)
    elif meanwhile == "cleared":
        await session.clear_session()
    else:
        await delete_session(machines.store, Session(machines.store, "s", "a"))
        if meanwhile == "made again":
            for number in range(4):
                await session.add_items([Message("user", f"{number} {LONG}"), Message("assistant", "ok")])
    before, items = await contexts.record("a|s"), await session.get_items()
    late.set()
    await until("the late one is done", lambda: not machines.hosts[0].background.working)
    assert await contexts.record("a|s") == before
    assert await session.get_items() == items
    await paused.run("a", "go on", session_id="s")
    assert not any("one that is late" in message.text for message in talks(model)[-1].messages)
