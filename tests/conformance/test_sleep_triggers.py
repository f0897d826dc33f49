"""The other triggers of sleep-time (tokens, idle, compaction, adaptive), by those cases of the list that apply."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra.core.jsontext import Json
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.connection import Store
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.sleeping import HELLO, Sleeper, drained, passes, primary, read_by, reports, said
from tests.waiting import until

TRIGGERS: list[Json] = [{"tokens": 20}, {"adaptive": {"min": 2, "max": 6}}]


async def rings(store: Store, thread: str = "a|s") -> None:
    """The time that silence waits for has come."""
    assert await store.read("ZADD", store.keys.idles, "XX", "CH", 1, thread) == 1


async def silent(store: Store) -> list[str]:
    return [name for name, _ in await store.scored(store.keys.idles)]


async def waiting_tokens(store: Store) -> int:
    mark = int((await ThreadStore(store).head("a|s"))["watermark"])
    entries = [text.split(" ", 3) for text in await ThreadStore(store).entries("a|s")]
    return sum(int(tokens) for seq, _, tokens, _ in entries if int(seq) > mark)


async def turns_of_passes(machines: Machines, turns: int, **more: object) -> list[int]:
    """After which turns a pass was published, with a worker that is always at once there."""
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(more.pop("sleep", Sleeper().model), **more))
    await machines.worker(host)
    for _ in range(turns):
        await said(client, 1)
        await drained(machines.store)
    return [cast("int", report["turn"]) for report in await reports(machines.store)]


async def test_z02_tokens_since_the_last_pass(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper().model, trigger={"tokens": 20}))
    await said(client, 1)
    one = await waiting_tokens(machines.store)
    per_pass = -(-20 // one)
    assert 1 < per_pass < 12
    await machines.worker(host)
    for turn in range(2, 25):
        await said(client, 1)
        await drained(machines.store)
        assert await waiting_tokens(machines.store) < 20
        assert len(await reports(machines.store)) == turn // per_pass
    assert [report["turn"] for report in await reports(machines.store)] == list(range(per_pass, 25, per_pass))


async def test_z02_adaptive_backs_off_and_comes_closer(machines: Machines) -> None:
    learns = False

    async def act(request: ModelRequest) -> ModelReply:
        if not learns or request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        lines = "\n".join(f"line {number} of {len(request.messages[1].text)}" for number in range(8))
        return reply(calls=[call("core_memory_append", label="notes", content=lines)])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper(act).model, trigger={"adaptive": {"min": 2, "max": 5}}))
    await machines.worker(host)

    async def play(turns: int) -> list[int]:
        for _ in range(turns):
            await said(client, 1)
            await drained(machines.store)
        return [cast("int", report["turn"]) for report in await reports(machines.store)]

    assert await play(19) == [2, 5, 9, 14, 19]  # 2, then 3, 4, 5 and never less often
    assert (await PassStore(machines.store).status("a|s"))["interval"] == "5"
    learns = True
    # By halves towards as often as it may, while facts come.
    assert await play(16) == [2, 5, 9, 14, 19, 24, 28, 31, 33, 35]


async def test_z02_failed_turns_do_not_count(machines: Machines) -> None:
    def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "fail":
            raise ValueError("no")
        return "hello"

    for trigger in TRIGGERS:
        client = await machines.client()
        agent = primary(HELLO, trigger=trigger).model_copy(update={"model": FunctionModel(answer), "name": "a"})
        await client.register(agent)
        session = f"s-{TRIGGERS.index(trigger)}"
        for _ in range(6):
            await client.run("a", "fail", session_id=session)
        assert await PassStore(machines.store).pending() == {}
    await client.register(agent.model_copy(update={"sleeptime": primary(HELLO, trigger="idle").sleeptime}))
    await client.run("a", "fail", session_id="idle")
    assert await silent(machines.store) == []


async def test_z03_parallel_turns_never_lose_a_token(machines: Machines) -> None:
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await clients[0].register(primary(HELLO, trigger={"tokens": 100_000}))
    await asyncio.gather(*(clients[number % 2].run("a", "hi", session_id="s") for number in range(20)))
    head = await ThreadStore(machines.store).head("a|s")
    assert head["counted"].split(" ")[2:] == ["40", str(await waiting_tokens(machines.store))]


@pytest.mark.parametrize("trigger", [*TRIGGERS, "compaction", "idle"])
async def test_z04_two_hundred_waiting_messages_are_all_read(machines: Machines, trigger: Json) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, trigger=trigger, max_tokens=100))
    await said(client, 100)
    if trigger == "idle":
        await rings(machines.store)
    elif trigger == "compaction":
        assert await PassStore(machines.store).ask("a|s")
    await machines.worker(host)
    await drained(machines.store)
    await said(client, 6)
    if trigger == "idle":
        await rings(machines.store)
    elif trigger == "compaction":
        assert await PassStore(machines.store).ask("a|s")
    await drained(machines.store)
    numbers = [number for read in sleeper.read for number in read]
    assert len(numbers) >= 200
    assert numbers == list(range(1, len(numbers) + 1))
    assert (trigger not in ("compaction", "idle")) or len(numbers) == 212


async def test_z04_a_pass_reads_no_more_of_a_long_backlog_than_it_takes(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=1000, max_tokens=300))
    await client.session("s", "a").add_items([{"role": "user", "content": f"message {n}"} for n in range(3000)])
    await said(client, 1)
    got, entries = 0, ThreadStore.entries

    async def noting(self: ThreadStore, thread: str, first: int = 0, last: int = -1) -> list[str]:
        nonlocal got
        found = await entries(self, thread, first, last)
        got += len(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadStore, "entries", noting)
        await PassStore(machines.store).ask("a|s")
        await machines.worker(host)
        await drained(machines.store)
    assert [number for read in sleeper.read for number in read] == list(range(1, 3003))
    assert len(sleeper.read) > 20
    assert got < 3002 + 256 * len(sleeper.read)  # each reads its own stretch and at most two chunks more


@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_z05_what_comes_while_a_pass_works_waits_for_its_own_time(machines: Machines, trigger: Json) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def act(request: ModelRequest) -> ModelReply:
        going.set()
        await on.wait()
        return reply(calls=[call("memory_finish_edits")])

    sleeper = Sleeper(act)
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, trigger=trigger))
    await machines.worker(host)
    await said(client, 6)
    await going.wait()
    first = len(sleeper.read[0])
    await said(client, 1)  # one more turn is no reason for one more pass
    on.set()
    await passes(machines.store, 1)
    await drained(machines.store)
    while sum(map(len, sleeper.read)) < 14 and len(await reports(machines.store)) < 2:
        await said(client, 1)
        await drained(machines.store)
    assert sleeper.most == 1
    assert first < 14
    numbers = [number for read in sleeper.read for number in read]
    assert numbers == list(range(1, len(numbers) + 1))
    if len(sleeper.read) > 1:
        assert len(sleeper.read[1]) > 2


@pytest.mark.parametrize("trigger", TRIGGERS)
async def test_z09_set_aside_it_is_not_tried_again_after_each_turn(machines: Machines, trigger: Json) -> None:
    tried: list[list[int]] = []
    broken = True

    async def act(request: ModelRequest) -> ModelReply:
        tried.append(read_by(request))
        if broken:
            raise ValueError("ill")
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(FunctionModel(act), trigger=trigger, max_tries=1))
    await machines.worker(host)
    for _ in range(12):
        await said(client, 1)
        await drained(machines.store)
    assert 1 < len(tried) < 7
    broken = False
    while not await reports(machines.store):
        await said(client, 1)
        await drained(machines.store)
    assert tried[-1][0] == 1  # all that was set aside is covered
    assert tried[-1] == list(range(1, len(tried[-1]) + 1))


async def test_idle_fires_once_for_each_silence(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, trigger={"idle": "10m"}))
    await machines.worker(host)
    await said(client, 3)
    ((_, first),) = await machines.store.scored(machines.store.keys.idles)
    assert 599_000 < first - await machines.store.now() <= 600_000
    await said(client, 1)
    ((_, second),) = await machines.store.scored(machines.store.keys.idles)
    assert second > first  # a turn begins the silence anew
    assert await reports(machines.store) == []
    await rings(machines.store)
    await passes(machines.store, 1)
    await drained(machines.store)
    assert (sleeper.read, await silent(machines.store)) == ([list(range(1, 9))], [])
    await said(client, 1)
    await rings(machines.store)
    await passes(machines.store, 2)
    assert sleeper.read[1] == [9, 10]


async def test_idle_is_no_silence_while_an_answer_is_being_made(machines: Machines) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "slow":
            going.set()
            await on.wait()
        return "hello"

    client = await machines.client()
    agent = primary(HELLO, trigger="idle").model_copy(update={"model": FunctionModel(answer)})
    await client.register(agent)
    await said(client, 1)
    running = asyncio.create_task(client.run("a", "slow", session_id="s"))
    await going.wait()
    await rings(machines.store)
    store = PassStore(machines.store)
    assert await store.claim("a|s", "h", "c") is None
    assert await silent(machines.store) == ["a|s"]
    assert await store.pending() == {}
    on.set()
    await running
    ((_, at),) = await machines.store.scored(machines.store.keys.idles)
    assert at - await machines.store.now() > 590_000


async def test_idle_with_nothing_new_and_without_a_session(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(HELLO, trigger="idle"))
    store = PassStore(machines.store)
    await said(client, 1)
    session = client.session("s", "a")
    await session.clear_session()
    await rings(machines.store)
    assert await store.claim("a|s", "h", "c") is None
    assert await silent(machines.store) == []
    await said(client, 1, "gone")
    await machines.store.read("DEL", machines.store.keys.head("a|gone"))
    await rings(machines.store, "a|gone")
    assert await store.claim("a|gone", "h", "c") is None
    assert (await silent(machines.store), await store.pending()) == ([], {})
    await said(client, 1, "deleted")
    await ThreadStore(machines.store).delete("a|deleted")
    assert await silent(machines.store) == []


async def test_idle_rung_while_a_pass_works_is_not_lost(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, trigger="idle"))
    store = PassStore(machines.store, lease_ms=1)
    await said(client, 1)
    await rings(machines.store)
    claim = await store.claim("a|s", "gone", "c")
    assert claim is not None
    await said(client, 1)
    await rings(machines.store)
    await machines.worker(host)
    await drained(machines.store)
    assert [number for read in sleeper.read for number in read] == [1, 2, 3, 4]


async def test_a_pass_before_a_compaction(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, trigger="compaction"))
    await machines.worker(host)
    await said(client, 30)
    store = PassStore(machines.store)
    assert (await store.pending(), await reports(machines.store)) == ({}, [])
    assert await store.ask("a|s")
    await passes(machines.store, 1)
    assert not await store.ask("a|s")  # nothing new
    assert not await store.ask("a|nowhere")
    assert sleeper.read == [list(range(1, 61))]


async def test_a_definition_that_never_sleeps_any_more(machines: Machines) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    sleeper = Sleeper()
    await client.register(primary(sleeper.model, trigger="idle"))
    await said(client, 1)
    off = primary(sleeper.model, trigger="idle").model_copy(
        update={"sleeptime": primary(sleeper.model).sleeptime.model_copy(update={"every": None})}  # type: ignore[union-attr]
    )
    await client.register(off)
    await rings(machines.store)
    await machines.worker(host)

    async def told() -> bool:
        return (await PassStore(machines.store).status("a|s")).get("error") == "memory does not sleep any more"

    await until("the pass is skipped", told)
    assert sleeper.read == []
