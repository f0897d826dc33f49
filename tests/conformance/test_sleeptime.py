"""Sleep-time, cases Z1 to Z12 of the conformance list."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra import Agent, Block, Budget, Runtime, Sleeptime
from orchestra.core.conversation import Conversation
from orchestra.core.errors import UnknownBlock
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.scopes import scoped_id
from orchestra.sleeptime.llm_consolidator import LlmConsolidator
from orchestra.sleeptime.passes import Pass
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines
from tests.sleeping import HELLO, NOTES, Sleeper, drained, passes, primary, read_by, reports, said
from tests.waiting import until


async def test_z01_the_primary_leaves_editing_to_its_sleeptime_agent(runtime: Runtime) -> None:
    sleeper = Sleeper()
    talks = FunctionModel(lambda request: "hello")
    blocks = (NOTES, Block(label="persona", value="Brisk.", read_only=True))
    sleeps, fresh = Sleeptime(every=1, model=sleeper.model), Conversation(blocks_in_prompt="fresh")
    agent = Agent(name="a", model=talks, blocks=blocks, sleeptime=sleeps, conversation=fresh)
    await runtime.register(agent)
    await runtime.run("a", "hi", session_id="s")
    await passes(runtime.store, 1)
    edits = {"core_memory_append", "core_memory_replace", "memory_insert", "memory_rethink"}
    searches = {"conversation_search", "archival_memory_search"}
    assert {tool.name for tool in talks.requests[0].tools} <= searches
    has = {tool.name for tool in sleeper.model.requests[0].tools}
    assert has - {"archival_memory_insert"} == edits | {"memory_finish_edits"}
    shown = sleeper.model.requests[0].messages[0].text
    assert "<notes>" in shown
    assert "Brisk." not in shown  # read-only ones are not its business
    (notes, _) = await runtime.blocks.list(agent="a")
    assert await runtime.blocks.agents(notes.id) == ["a", "a-sleeptime"]

    lent = await runtime.blocks.create(Block(label="lent"))
    await runtime.blocks.attach("a", lent.id)
    assert await runtime.blocks.agents(lent.id) == ["a", "a-sleeptime"]
    await runtime.run("a", "again", session_id="s")
    await passes(runtime.store, 2)
    assert "<lent>" in talks.requests[1].messages[0].text
    assert "<lent>" in sleeper.model.requests[-1].messages[0].text
    await runtime.blocks.detach("a", lent.id)
    assert await runtime.blocks.agents(lent.id) == []
    await runtime.run("a", "again", session_id="s")
    await passes(runtime.store, 3)
    assert "<lent>" not in talks.requests[2].messages[0].text
    assert "<lent>" not in sleeper.model.requests[-1].messages[0].text


async def test_z01_edit_tools_of_the_primary_only_when_configured(runtime: Runtime) -> None:
    talks = FunctionModel(lambda request: "hello")
    agent = Agent(name="a", model=talks, blocks=(NOTES,), memory_tools=True, sleeptime=Sleeptime(every=5, model=talks))
    await runtime.register(agent)
    await runtime.run("a", "hi", session_id="s")
    assert "core_memory_append" in [tool.name for tool in talks.requests[0].tools]


@pytest.mark.parametrize(("every", "turns", "expected"), [(2, 6, [2, 4, 6]), (5, 15, [5, 10, 15])])
async def test_z02_a_pass_after_every_so_many_turns(
    runtime: Runtime, every: int, turns: int, expected: list[int]
) -> None:
    sleeper = Sleeper()
    await runtime.register(primary(sleeper.model, every=every))
    seen: list[int] = []
    for turn in range(1, turns + 1):
        await runtime.run("a", "hi", session_id="s")
        await drained(runtime.store)
        if len(await reports(runtime.store)) > len(seen):
            seen.append(turn)
    assert seen == expected
    assert [report["turn"] for report in await reports(runtime.store)] == expected
    assert [number for read in sleeper.read for number in read] == list(range(1, 2 * turns + 1))


async def test_z02_failed_and_cancelled_turns_do_not_count(runtime: Runtime) -> None:
    sleeper = Sleeper()

    def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "fail":
            raise ValueError("no")
        return "hello"

    agent = primary(sleeper.model).model_copy(update={"model": FunctionModel(answer)})
    await runtime.register(agent)
    turns = [(await runtime.run("a", text, session_id="s")).turn for text in ("hi", "fail", "fail", "hi")]
    assert turns == [1, 1, 1, 2]
    (report,) = await passes(runtime.store, 1)
    assert (report["turn"], report["upto"]) == (2, 6)
    assert sleeper.read == [[1, 2, 3, 4, 5, 6]]  # the aborted turns are read too, marked so
    assert sleeper.model.requests[0].messages[1].text.count("(of a turn that was broken off)") == 2


async def test_z03_parallel_turns_never_lose_a_count(machines: Machines) -> None:
    """On two hosts at once."""
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await clients[0].register(primary(HELLO, every=4))
    await asyncio.gather(*(clients[number % 2].run("a", "hi", session_id="s") for number in range(20)))
    head = await ThreadStore(machines.store).head("a|s")
    assert (head["turn"], head["due_turn"], head["seq"]) == ("20", "20", "40")
    assert list(await PassStore(machines.store).pending()) == ["a|s"]


async def test_z04_two_hundred_waiting_messages_are_all_read(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=100, max_tokens=100))
    await said(client, 100)
    await machines.worker(host)
    await drained(machines.store)
    assert len(sleeper.read) > 3
    assert [number for read in sleeper.read for number in read] == list(range(1, 201))


async def test_z04_after_a_failed_pass(machines: Machines) -> None:
    tried: list[list[int]] = []

    async def act(request: ModelRequest) -> ModelReply:
        tried.append(read_by(request))
        if len(tried) == 2:
            raise ValueError("no")
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(FunctionModel(act)))
    await machines.worker(host)
    for count in (1, 2):
        await said(client, 2)
        await passes(machines.store, count)
    assert tried == [[1, 2, 3, 4], [5, 6, 7, 8], [5, 6, 7, 8]]
    assert [report["tries"] for report in await reports(machines.store)] == [1, 2]


async def test_z04_after_a_killed_host(machines: Machines) -> None:
    """A worker that claimed a pass and was heard of no more: its lease ends, another one does the very same stretch."""
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model))
    await said(client, 2)
    killed = PassStore(machines.store, lease_ms=50)
    claim = await killed.claim("a|s", "sleeptime-0@gone", "claim")
    assert claim is not None
    await said(client, 1)
    await machines.worker(host)
    await drained(machines.store)
    await said(client, 1)
    await passes(machines.store, 2)
    await drained(machines.store)
    assert [number for read in sleeper.read for number in read] == list(range(1, 9))


async def test_z04_turns_that_end_while_a_pass_reads(machines: Machines) -> None:
    """Between the claim and the reading of the log other turns are committed: nothing is passed over."""
    sleeper = Sleeper()
    client = await machines.client()
    agent = primary(sleeper.model)
    await client.register(agent)
    await said(client, 2)
    claim = await PassStore(machines.store).claim("a|s", "sleeptime-0@here", "claim")
    assert claim is not None
    await said(client, 3)
    attachments = await DefinitionStore(machines.store).attachments("a")
    one = Pass(machines.store, claim, cast("Sleeptime", agent.sleeptime), attachments, LlmConsolidator(sleeper.model))
    assert await one.work(0) == "published"
    assert sleeper.read == [list(range(1, 11))]
    assert (await ThreadStore(machines.store).head("a|s"))["watermark"] == "10"


async def test_z04_a_pass_that_found_nothing_does_not_hide_the_next(machines: Machines) -> None:
    """All its messages were popped while it was due; the messages that came later are read all the same."""
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=1))
    await said(client, 1)
    claim = await PassStore(machines.store, lease_ms=1).claim("a|s", "gone", "claim")
    assert claim is not None
    session = client.session("s", "a")
    while await session.pop_item():
        pass
    await machines.worker(host)
    await passes(machines.store, 1)
    await said(client, 1)
    await passes(machines.store, 2)
    await drained(machines.store)
    assert sleeper.read == [[3, 4]]


async def test_z05_a_slow_pass_is_alone_and_triggers_coalesce(runtime: Runtime) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def act(request: ModelRequest) -> ModelReply:
        going.set()
        await on.wait()
        return reply(calls=[call("memory_finish_edits")])

    sleeper = Sleeper(act)
    await runtime.register(primary(sleeper.model, every=1))
    await said(runtime, 1)
    await going.wait()
    await said(runtime, 9)  # nine more triggers, and ten answers, while the first pass is at work
    assert await reports(runtime.store) == []
    on.set()
    await passes(runtime.store, 2)
    await drained(runtime.store)
    assert sleeper.most == 1
    assert sleeper.read == [[1, 2], list(range(3, 21))]


async def test_z06_a_transcript_never_ends_inside_a_reply(machines: Machines) -> None:
    async def look(what: str) -> str:
        """Look something up."""
        return f"{what} " * 30

    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    talks = ScriptedModel([reply(calls=[call("look", what="x")]), reply("there")] * 6)
    agent = primary(sleeper.model, every=6, max_tokens=30).model_copy(update={"model": talks, "tools": (look,)})
    await client.register(agent)
    await said(client, 6)
    await machines.worker(host)
    await drained(machines.store)
    assert [read[-1] for read in sleeper.read] == [4, 8, 12, 16, 20, 24]
    assert [number for read in sleeper.read for number in read] == list(range(1, 25))


async def test_z07_nothing_worth_keeping(runtime: Runtime) -> None:
    await runtime.register(primary(Sleeper().model))
    await said(runtime, 2)
    (report,) = await passes(runtime.store, 1)
    assert (report["changed"], report["upto"]) == ([], 4)
    (notes,) = await runtime.blocks.list(agent="a")
    assert notes.version == 1
    assert [entry.version for entry in await runtime.blocks.log(notes.id)] == [1]
    assert (await ThreadStore(runtime.store).head("a|s"))["watermark"] == "4"


async def test_z08_a_conflict_with_the_primarys_edit_keeps_both(runtime: Runtime) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def act(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            going.set()
            await on.wait()
            return reply(calls=[call("memory_finish_edits")])
        return reply(calls=[call("core_memory_append", label="notes", content="by the pass")])

    await runtime.register(primary(Sleeper(act).model, blocks=(NOTES.model_copy(update={"value": "at first"}),)))
    await said(runtime, 2)
    await going.wait()
    (notes,) = await runtime.blocks.list(agent="a")
    assert (notes.value, notes.version) == ("at first", 1)  # nothing of a pass is seen before it is published
    await runtime.blocks.append(notes.id, "by the primary")
    on.set()
    (report,) = await passes(runtime.store, 1)
    after = await runtime.blocks.get(notes.id)
    assert sorted(after.value.split("\n")) == ["at first", "by the pass", "by the primary"]
    assert after.version == 3
    assert (report["merges"], report["conflicts"]) == (1, 0)
    blamed = {line.text: (line.author, line.seqs) for line in await runtime.blocks.blame(notes.id)}
    assert blamed["by the pass"] == ("agent:a-sleeptime", (1, 2, 3, 4))
    assert blamed["by the primary"] == ("developer", ())


async def test_z09_a_pass_that_fails_three_times_is_set_aside(machines: Machines) -> None:
    broken, tries = True, 0

    async def act(request: ModelRequest) -> ModelReply:
        nonlocal tries
        if broken and request.messages[-1].role == "tool":
            tries += 1
            raise ValueError("the model is ill")
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        return reply(calls=[call("core_memory_append", label="notes", content="line")])

    sleeper = Sleeper(act)
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model))
    await machines.worker(host)
    await said(client, 2)

    async def aside() -> bool:
        return (await PassStore(machines.store).status("a|s")).get("aside") == "1"

    await until("the pass is set aside", aside)
    status = await PassStore(machines.store).status("a|s")
    assert "the model is ill" in status["error"]
    assert tries == 3
    assert await PassStore(machines.store).pending() == {}
    (notes,) = await client.blocks.list(agent="a")
    assert (notes.value, notes.version) == ("", 1)
    broken = False
    sleeper.read.clear()
    await said(client, 2)
    (report,) = await passes(machines.store, 1)
    assert sleeper.read == [list(range(1, 9))]
    assert (report["turn"], (await client.blocks.get(notes.id)).value) == (4, "line")
    assert (await PassStore(machines.store).status("a|s"))["error"] == ""


async def test_z09_a_trigger_during_the_last_try_is_not_lost(machines: Machines) -> None:
    broken = True

    async def act(request: ModelRequest) -> ModelReply:
        if broken:
            await said(client, 2)
            raise ValueError("the model is ill")
        return reply(calls=[call("memory_finish_edits")])

    async def act_once(request: ModelRequest) -> ModelReply:
        nonlocal broken
        try:
            return await act(request)
        finally:
            broken = False

    sleeper = Sleeper(act_once)
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, max_tries=1))
    await machines.worker(host)
    await said(client, 2)
    (report,) = await passes(machines.store, 1)
    assert (report["turn"], sleeper.read[-1]) == (4, list(range(1, 9)))


async def test_z10_a_wedged_pass_blocks_its_own_session_only(machines: Machines) -> None:
    on, hangs = asyncio.Event(), asyncio.Event()

    async def act(request: ModelRequest) -> ModelReply:
        if "stuck" in request.messages[1].text:
            hangs.set()
            await on.wait()
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(FunctionModel(act), every=1))
    await machines.worker(host)
    await client.run("a", "stuck", session_id="s1")
    await hangs.wait()
    await client.run("a", "hi", session_id="s2")
    await passes(machines.store, 1, "s2")
    assert await reports(machines.store, "s1") == []
    on.set()
    await passes(machines.store, 1, "s1")


async def test_z10_a_wedged_pass_ends_with_its_time(machines: Machines) -> None:
    errors: list[str] = []

    async def act(request: ModelRequest) -> ModelReply:
        errors.append((await PassStore(machines.store).status("a|s")).get("error", ""))
        if len(errors) == 1:
            await asyncio.Event().wait()
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(FunctionModel(act), timeout=0.3))
    await machines.worker(host)
    await said(client, 2)
    (report,) = await passes(machines.store, 1)
    assert (report["tries"], report["upto"]) == (2, 4)
    assert errors[1].endswith("it took longer than 0.3 s")


async def test_z10_a_worker_that_was_away_is_fenced(machines: Machines) -> None:
    """It stops (no renewals), its lease ends, another one publishes; what it does afterwards changes nothing."""
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper().model))
    await said(client, 2)
    slow = PassStore(machines.store, lease_ms=1)
    late = await slow.claim("a|s", "sleeptime-0@away", "late")
    assert late is not None
    await machines.worker(host)
    await passes(machines.store, 1)
    assert not await slow.renew(late)
    assert not await slow.fail(late, "late", max_tries=1, backoff_ms=0)
    assert (await PassStore(machines.store).status("a|s"))["error"] == ""


async def test_z11_deleting_the_primary_deletes_it(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper().model))
    worker_on = await machines.worker(host)
    await said(client, 2)
    await passes(machines.store, 1)
    (notes,) = await client.blocks.list(agent="a")
    persona = scoped_id("agent", "persona", "a-sleeptime")
    assert (await client.blocks.get(persona)).read_only
    await worker_on.stop()
    await said(client, 2)
    await client.delete_agent("a", cascade=True)
    await machines.worker(host)
    await drained(machines.store)  # the pass that was due finds nobody to do it for
    assert len(await reports(machines.store)) == 1
    for block_id in (notes.id, persona):
        with pytest.raises(UnknownBlock):
            await client.blocks.get(block_id)


async def skipped(store: Store, session: str) -> str:
    async def aside() -> str:
        status = await PassStore(store).status(f"a|{session}")
        return status.get("error", "") if status.get("aside") == "1" else ""

    return cast("str", await until(f"the pass of {session} is skipped", aside))


async def test_z12_a_budget_that_is_reached_is_a_named_skip(runtime: Runtime) -> None:
    sleeper = Sleeper()
    await runtime.register(primary(sleeper.model, every=1, budget=Budget(tokens_per_session=1)))
    await said(runtime, 1)
    (report,) = await passes(runtime.store, 1)
    assert cast("dict[str, int]", report["usage"])["input_tokens"] > 1
    await said(runtime, 1)
    assert await skipped(runtime.store, "s") == "budget reached: tokens_per_session=1"
    assert len(sleeper.read) == 1
    await said(runtime, 1, "other")
    await passes(runtime.store, 1, "other")


async def test_z12_the_budget_of_a_day_is_that_of_all_sessions(runtime: Runtime) -> None:
    sleeper = Sleeper()
    await runtime.register(primary(sleeper.model, every=1, budget=Budget(tokens_per_day=1)))
    await said(runtime, 1)
    await passes(runtime.store, 1)
    await said(runtime, 1, "other")
    assert await skipped(runtime.store, "other") == "budget reached: tokens_per_day=1"
    assert len(sleeper.read) == 1
