"""Snapshots of sessions: all of it comes back in one step, what is shared only when asked, counters never."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Agent, Block, Runtime, Sleeptime, ToolContext, tool
from orchestra.core.errors import (
    BlockLimitExceeded,
    InputError,
    SessionBusy,
    SessionInterrupted,
    SessionOfAnotherUser,
    UnknownName,
)
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.scopes import scoped_id
from orchestra.memory.session_list import delete_session
from orchestra.memory.sessions import Session
from orchestra.memory.snapshots import Snapshots
from orchestra.store.connection import Store
from orchestra.store.host_store import HostStore
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines

BLOCKS = (
    Block(label="topic", scope="session", value="nothing"),
    Block(label="human", scope="user", value="nobody"),
    Block(label="notes", value="empty"),
    Block(label="team", scope="shared", value="alone"),
)
IDS = {
    "topic": scoped_id("session", "topic", "s"),
    "human": scoped_id("user", "human", "ana"),
    "notes": scoped_id("agent", "notes", "a"),
    "team": scoped_id("shared", "team", ""),
}


@tool
def remember(word: str, ctx: ToolContext) -> str:
    """Keep a word and count."""
    ctx.agent.state.set("word", word)
    return str(ctx.agent.state.increment("count"))


def answer(request: ModelRequest) -> ModelReply:
    last = request.messages[-1]
    return reply(calls=[call("remember", word=last.text)]) if last.role == "user" else reply(f"count {last.text}")


def agent(**more: object) -> Agent:
    return Agent.model_validate(
        {"name": "a", "model": FunctionModel(answer), "tools": (remember,), "blocks": BLOCKS} | more
    )


async def say(runtime: Runtime, *words: str, session_id: str = "s") -> list[object]:
    return [(await runtime.run("a", word, session_id=session_id, user_id="ana")).output for word in words]


async def texts(runtime: Runtime, session_id: str = "s") -> list[str]:
    found = await runtime.session(session_id, "a").get_items()
    return [message.text for message in found if message.role == "user"]  # type: ignore[attr-defined]


async def values(runtime: Runtime) -> dict[str, str]:
    return {label: (await runtime.blocks.get(block_id)).value for label, block_id in IDS.items()}


async def write(runtime: Runtime, text: str) -> None:
    for block_id in IDS.values():
        await runtime.blocks.update(block_id, value=text)


@pytest.fixture
async def each_runtime(each_store: Store) -> Runtime:
    """A runtime on each kind of server."""
    return Runtime.start({"redis": {"url": each_store.url}, "namespace": each_store.keys.namespace}, inline=True)


async def test_everything_of_the_session_comes_back_and_nothing_of_others(each_runtime: Runtime) -> None:
    async with each_runtime as runtime:
        await runtime.register(agent())
        assert await say(runtime, "one", "two") == ["count 1", "count 2"]
        await write(runtime, "then")
        before = await runtime.session("s", "a").get_items()
        snapshot = await runtime.snapshot("s")
        assert await say(runtime, "three", "four") == ["count 3", "count 4"]
        await write(runtime, "now")
        head = await ThreadStore(runtime.store).head("a|s")

        done = await runtime.restore(snapshot)
        assert (done.session_id, done.agent, done.removed, done.returned, done.turns) == ("s", "a", 8, 0, 2)
        assert done.state == ("count", "word")
        assert [(one.label, one.before, one.version) for one in done.blocks] == [("topic", 3, 4)]
        assert await runtime.session("s", "a").get_items() == before
        now = dict.fromkeys(IDS, "now")
        assert await values(runtime) == now | {"topic": "then"}
        entry = (await runtime.blocks.log(IDS["topic"]))[-1]
        assert (entry.version, entry.operation, entry.author, entry.value) == (4, "restore", "developer", "then")
        after = await ThreadStore(runtime.store).head("a|s")
        assert int(after["edition"]) > int(head["edition"])
        assert int(after["token"]) >= int(head["token"])
        assert after["seq"] == head["seq"]

        assert await say(runtime, "other") == ["count 3"]  # the state was that of then, also in the host's cache
        assert await texts(runtime) == ["one", "two", "other"]
        newest = (await runtime.session("s", "a").get_items(1))[0]
        assert newest.meta.seq > int(head["seq"])  # type: ignore[attr-defined]
        assert [turn.turn for turn in (await runtime.session("s", "a").usage()).turns] == [1, 2, 3]


async def test_shared_blocks_only_when_asked_and_as_new_edits(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    await write(runtime, "then")
    snapshot = await runtime.snapshot("s")
    await write(runtime, "now")
    unchanged = await runtime.restore(snapshot, blocks="none")
    assert unchanged.blocks == ()
    assert set((await values(runtime)).values()) == {"now"}
    done = await runtime.restore(snapshot, blocks="all")
    assert {one.label for one in done.blocks} == set(IDS)
    assert set((await values(runtime)).values()) == {"then"}
    for block_id in IDS.values():
        assert [entry.value for entry in await runtime.blocks.log(block_id)][-2:] == ["now", "then"]
    again = await runtime.restore(snapshot, blocks="all")
    assert (again.blocks, again.removed, again.returned, again.state) == ((), 0, 0, ())


async def test_a_bounded_history_takes_nothing_away(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    await runtime.blocks.update(IDS["topic"], value="then")
    snapshot = await runtime.snapshot("s")
    await runtime.blocks.update(IDS["topic"], value="now")
    await runtime.store.read("XTRIM", runtime.store.keys.history(IDS["topic"]), "MAXLEN", 0)
    await runtime.restore(snapshot)
    assert (await values(runtime))["topic"] == "then"


async def test_listed_in_order_immutable_and_made_once(runtime: Runtime) -> None:
    await runtime.register(agent())
    made = []
    for word in ("one", "two", "three"):
        await say(runtime, word)
        made.append(await runtime.snapshot("s", operation_id=f"op-{word}"))
    listed = await runtime.snapshots("s")
    assert [one.id for one in listed] == made
    assert [(one.turns, one.messages) for one in listed] == [(1, 4), (2, 8), (3, 12)]
    assert sorted(one.at for one in listed) == [one.at for one in listed]
    assert await runtime.snapshot("s", operation_id="op-one") == made[0]
    assert await runtime.snapshots("s") == listed
    await runtime.delete_snapshot(made[1])
    assert [one.id for one in await runtime.snapshots("s")] == [made[0], made[2]]
    for missing in (made[1], "nothing"):
        with pytest.raises(UnknownName, match="snapshot"):
            await runtime.restore(missing)
    with pytest.raises(UnknownName):
        await runtime.snapshot("nowhere")
    with pytest.raises(InputError, match="session, all or none"):
        await runtime.restore(made[0], blocks="some")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ttl"):
        await runtime.snapshot("s", ttl=0)


async def test_forward_and_back_between_branches_of_the_conversation(runtime: Runtime) -> None:
    """Restoring an older one and going on makes two histories; each snapshot still gives exactly its own."""
    await runtime.register(agent())
    await say(runtime, "one", "two")
    first = await runtime.snapshot("s")
    for _ in range(4):
        await runtime.session("s", "a").pop_item()
    await say(runtime, "2nd", "3rd")
    second = await runtime.snapshot("s")
    back = await runtime.restore(first)
    assert (back.removed, back.returned) == (8, 4)
    assert await texts(runtime) == ["one", "two"]
    forward = await runtime.restore(second)
    assert (forward.removed, forward.returned) == (4, 8)
    assert await texts(runtime) == ["one", "2nd", "3rd"]
    assert await say(runtime, "4th") == ["count 5"]  # popping messages leaves the state; so it was kept


async def test_the_same_restore_twice_takes_nothing_that_was_said_in_between(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "two")
    first = await runtime.restore(snapshot, operation_id="op")
    await say(runtime, "three")
    assert await runtime.restore(snapshot, operation_id="op") == first
    assert await texts(runtime) == ["one", "three"]


async def test_a_restore_that_fails_changes_nothing(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    await write(runtime, "a long value of then")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "two")
    await write(runtime, "now")
    await runtime.blocks.update(IDS["team"], limit=5)

    async def everything() -> object:
        head = await ThreadStore(runtime.store).head("a|s")
        state = await ThreadStore(runtime.store).state("a|s")
        logs = [await runtime.blocks.log(block_id) for block_id in IDS.values()]
        return head, state, await runtime.session("s", "a").get_items(), logs

    before = await everything()
    with pytest.raises(BlockLimitExceeded) as raised:
        await runtime.restore(snapshot, blocks="all")
    assert (raised.value.label, raised.value.limit, raised.value.size) == ("team", 5, 20)
    assert await everything() == before


async def test_a_waiting_run_holds_the_session(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "two")
    await runtime.store.read("HSET", runtime.store.keys.head("a|s"), "held_by", "r1")
    with pytest.raises(SessionInterrupted) as raised:
        await runtime.restore(snapshot)
    assert (raised.value.session, raised.value.run_id) == ("s", "r1")
    assert await texts(runtime) == ["one", "two"]


async def test_a_running_turn_keeps_the_log_that_it_answers(runtime: Runtime) -> None:
    inside, going = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        if request.messages[-1].text == "wait":
            inside.set()
            await going.wait()
        return reply("ok")

    await runtime.register(agent(model=FunctionModel(slow)))
    await say(runtime, "one")
    snapshot = await runtime.snapshot("s")
    run = asyncio.create_task(say(runtime, "wait"))
    await inside.wait()
    with pytest.raises(SessionBusy):
        await runtime.restore(snapshot)
    during = await runtime.snapshot("s")  # its turn is not in the log yet
    going.set()
    assert await run == ["ok"]
    assert await texts(runtime) == ["one", "wait"]
    await runtime.restore(during)
    assert await texts(runtime) == ["one"]


async def test_a_host_that_was_taken_for_dead_is_fenced_and_its_run_is_done_on_the_restored_log(
    machines: Machines,
) -> None:
    inside, going, seen = asyncio.Event(), asyncio.Event(), []

    async def model(request: ModelRequest) -> ModelReply:
        seen.append([message.text for message in request.messages if message.role == "user"])
        if request.messages[-1].text == "wait" and not going.is_set():
            inside.set()
            await going.wait()
        return reply("ok")

    late, other = await machines.host("primary-0"), await machines.host("primary-1")
    client, second = machines.client_of(late), machines.client_of(other)
    await client.register(Agent(name="a", model=FunctionModel(model)))
    await client.run("a", "one", session_id="s")
    snapshot = await client.snapshot("s")
    await client.run("a", "two", session_id="s")
    run = asyncio.create_task(client.run("a", "wait", session_id="s", run_id="r"))
    await inside.wait()
    await HostStore(machines.store).leave(late.id)  # declared dead, and wakes up later
    await second.restore(snapshot)
    going.set()
    late_answer = await asyncio.gather(run, return_exceptions=True)
    log = [m.text for m in await second.session("s", "a").get_items() if m.role == "user"]  # type: ignore[attr-defined]
    assert type(late_answer[0]).__name__ == "Fenced"
    assert log == ["one"]
    done = await second.run("a", "wait", session_id="s", run_id="r")
    assert done.status == "completed"
    assert seen[-1] == ["one", "wait"]


class Gate:
    """A consolidator's model that waits at a gate."""

    def __init__(self) -> None:
        self.inside, self.open = asyncio.Event(), asyncio.Event()
        self.seen: list[str] = []

    async def __call__(self, request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        self.seen.append(str(request.messages))
        self.inside.set()
        await self.open.wait()
        return reply(calls=[call("core_memory_append", label="topic", content=f"pass {len(self.seen)}")])


async def test_a_pass_of_a_log_that_is_gone_publishes_nothing(runtime: Runtime) -> None:
    gate = Gate()
    await runtime.register(agent(sleeptime=Sleeptime(every=2, model=FunctionModel(gate))))
    await say(runtime, "first word")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "second word")
    await gate.inside.wait()
    await runtime.restore(snapshot)
    gate.open.set()
    await runtime.drain("s")
    assert (await values(runtime))["topic"] == "nothing"
    assert await PassStore(runtime.store).reports("a|s") == []
    await say(runtime, "another word")
    await runtime.drain("s")
    assert (await values(runtime))["topic"] == "nothing\npass 2"
    assert "first word" in gate.seen[1]
    assert "another word" in gate.seen[1]
    assert "second word" not in gate.seen[1]


async def test_what_the_blocks_of_then_had_not_learned_is_read_again(runtime: Runtime) -> None:
    gate = Gate()
    gate.open.set()
    await runtime.register(agent(sleeptime=Sleeptime(every=2, model=FunctionModel(gate))))
    await say(runtime, "1st word")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "2nd word")
    await runtime.drain("s")
    assert (await values(runtime))["topic"] == "nothing\npass 1"
    await runtime.restore(snapshot)
    assert (await values(runtime))["topic"] == "nothing"
    head = await ThreadStore(runtime.store).head("a|s")
    assert (head["watermark"], head["watermark_turn"]) == ("0", "0")
    # What a pass has seen and is not said any more is told to the next one.
    assert await PassStore(runtime.store).retracted("a|s") == [5, 6, 7, 8]
    await say(runtime, "3rd word")
    await runtime.drain("s")
    assert "1st word" in gate.seen[1]
    # With the blocks left as they are, what they have learned is not read again.
    kept = await runtime.snapshot("s")
    await say(runtime, "4th word", "5th word")
    await runtime.drain("s")
    await runtime.restore(kept, blocks="none")
    head = await ThreadStore(runtime.store).head("a|s")
    assert (head["watermark_turn"], head["turn"]) == ("2", "2")


async def test_a_pass_that_was_due_then_is_due_again(runtime: Runtime) -> None:
    gate = Gate()
    await runtime.register(agent(sleeptime=Sleeptime(every=1, model=FunctionModel(gate))))
    await say(runtime, "first word")
    await gate.inside.wait()
    snapshot = await runtime.snapshot("s")  # while its pass is at work
    gate.open.set()
    await runtime.drain("s")
    await runtime.restore(snapshot)
    await runtime.drain("s")
    assert (await values(runtime))["topic"] == "nothing\npass 2"
    assert len(gate.seen) == 2


async def test_a_deleted_session_and_deleted_blocks_come_back(runtime: Runtime) -> None:
    await runtime.register(agent())
    lent = await runtime.blocks.create(Block(label="lent", value="v"))
    await runtime.blocks.attach("a", lent.id)
    await say(runtime, "one")
    await write(runtime, "then")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "two")
    await ThreadStore(runtime.store).delete("a|s")
    born = (await runtime.blocks.get(IDS["topic"])).born
    for block_id in (IDS["topic"], IDS["team"], lent.id):
        await runtime.blocks.delete(block_id)
    done = await runtime.restore(snapshot, blocks="all")
    assert (done.returned, done.missing) == (4, ("lent",))
    assert {one.label: one.before for one in done.blocks} == {"topic": 0, "team": 0}
    assert await values(runtime) == dict.fromkeys(IDS, "then")
    assert (await runtime.blocks.get(IDS["topic"])).born != born
    assert await say(runtime, "three") == ["count 2"]
    assert await texts(runtime) == ["one", "three"]


async def test_what_one_user_said_never_comes_into_a_session_of_another_one(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    snapshot = await runtime.snapshot("s")
    await ThreadStore(runtime.store).delete("a|s")
    await runtime.run("a", "mine", session_id="s", user_id="ben")
    with pytest.raises(SessionOfAnotherUser):
        await runtime.restore(snapshot)
    assert await texts(runtime) == ["mine"]


async def test_deleting_a_session_deletes_its_snapshots(runtime: Runtime) -> None:
    await runtime.register(agent())
    await say(runtime, "one")
    snapshot = await runtime.snapshot("s")
    await delete_session(runtime.store, Session(runtime.store, "s", "a"))
    with pytest.raises(UnknownName):
        await runtime.restore(snapshot)
    left = [key async for key in runtime.store.redis.scan_iter("*:snap*")]
    assert left == []


async def test_a_snapshot_lives_as_long_as_it_was_told(runtime: Runtime) -> None:
    await runtime.register(agent(conversation={"ttl": 100}))
    await say(runtime, "one")
    short, lasting = await runtime.snapshot("s", ttl=50), await runtime.snapshot("s")
    keys = runtime.store.keys
    for snapshot, seconds in ((short, 50), (lasting, -1)):
        for part in ("", "log", "turns", "state", f"block:{IDS['topic']}"):
            left = int(str(await runtime.store.read("TTL", keys.snapshot(snapshot, part))))
            assert left == -1 if seconds == -1 else 0 < left <= seconds
    for part in ("", "log", "turns", "state"):
        await runtime.store.read("DEL", keys.snapshot(short, part))
    assert [one.id for one in await runtime.snapshots("s")] == [lasting]
    await runtime.restore(lasting)
    for key in (keys.head("a|s"), keys.log("a|s"), keys.turns("a|s"), keys.state("a|s")):
        assert 0 < int(str(await runtime.store.read("TTL", key))) <= 100


async def test_snapshots_and_restores_among_turns_are_whole(runtime: Runtime) -> None:
    """Whatever a snapshot is taken between, its log, turns, state and head are of one moment."""
    await runtime.register(agent())
    await say(runtime, "0")
    made: list[str] = []
    playing = asyncio.create_task(say(runtime, *map(str, range(1, 25))))
    while not playing.done():
        made.append(await runtime.snapshot("s"))
    await playing
    snapshots = Snapshots(runtime.store)
    for snapshot in made[:: max(1, len(made) // 12)]:
        done = await snapshots.restore(snapshot)
        said = await texts(runtime)
        assert said == [str(number) for number in range(done.turns)]
        state = await ThreadStore(runtime.store).state("a|s")
        assert state == {"count": str(done.turns), "word": f'"{done.turns - 1}"'}
        assert len(await ThreadStore(runtime.store).turns("a|s")) == done.turns


async def test_restores_and_turns_at_once_lose_no_turn(runtime: Runtime) -> None:
    """Each turn is on the log that its model saw: a restore came wholly before or after it, or was refused."""
    await runtime.register(agent())
    await say(runtime, "0")
    snapshot = await runtime.snapshot("s")

    async def restore_often(attempts: int) -> int:
        done = 0
        for _ in range(attempts):
            try:
                await runtime.restore(snapshot)
                done += 1
            except SessionBusy:
                await asyncio.sleep(0)
        return done

    answers, restored = await asyncio.gather(say(runtime, *map(str, range(1, 20))), restore_often(60))
    assert restored > 0
    assert all(isinstance(text, str) and text.startswith("count ") for text in answers)
    said = await texts(runtime)
    count = int((await ThreadStore(runtime.store).state("a|s"))["count"])
    assert count == len(said)
    assert said[0] == "0"
    assert said[1:] == [str(number) for number in range(20 - len(said[1:]), 20)]


async def test_a_snapshot_of_scripted_answers_goes_on_where_it_was(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=ScriptedModel([reply(str(n)) for n in range(9)])))
    assert await say(runtime, "x", "x") == ["0", "1"]
    snapshot = await runtime.snapshot("s")
    assert await say(runtime, "x", "x") == ["2", "3"]
    await runtime.restore(snapshot)
    assert await say(runtime, "x") == ["2"]
