"""Sessions that end by themselves: all keys of a session at one moment, put off by each turn."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Agent, Block, Conversation, Runtime, Sleeptime
from orchestra.core.errors import UnknownBlock, UnknownName
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.scopes import scoped_id
from orchestra.memory.session_list import known_session, list_sessions
from orchestra.store.connection import Store
from orchestra.store.pass_store import PassStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.waiting import until

MODEL = FunctionModel(lambda request: reply("ok"))


def agent(ttl: object, **more: object) -> Agent:
    conversation = Conversation.model_validate({"ttl": ttl})
    return Agent.model_validate({"name": "a", "model": MODEL, "conversation": conversation} | more)


async def ends(store: Store, thread: str = "a|s") -> dict[str, int]:
    """When each key of the thread ends, Unix milliseconds; -1 never. Keys that are not there are left out."""
    k = store.keys
    named = {"head": k.head, "log": k.log, "turns": k.turns, "state": k.state, "pass": k.work, "passes": k.passes}
    found = {
        name: int(str(await store.read("PEXPIRETIME", key(thread))))
        for name, key in (named | {"retracted": k.retracted}).items()
    }
    return {name: end for name, end in found.items() if end != -2}


async def end_now(store: Store, thread: str = "a|s") -> None:
    """Let time pass: the server ends the thread as it does when its time has come."""
    for name in (await ends(store, thread)).items():
        key = {"pass": store.keys.work}.get(name[0]) or getattr(store.keys, name[0])
        await store.read("PEXPIREAT", key(thread), 1)


async def test_each_turn_puts_the_end_off_for_all_keys_alike(runtime: Runtime) -> None:
    sleeptime = Sleeptime(every=1, model=ScriptedModel([reply(calls=[call("memory_finish_edits")])] * 9))
    await runtime.register(agent("30d", blocks=(Block(label="notes"),), sleeptime=sleeptime))
    await runtime.run("a", "one", session_id="s")
    await runtime.drain("s")
    first = await ends(runtime.store)
    assert {"head", "log", "turns", "pass", "passes"} <= set(first)
    assert len(set(first.values())) == 1
    life = first["head"] - await runtime.store.now()
    assert 29.9 * 86_400_000 < life <= 30 * 86_400_000
    await runtime.run("a", "two", session_id="s")
    await runtime.drain("s")
    await runtime.session("s", "a").pop_item()  # below the watermark: one more key
    second = await ends(runtime.store)
    assert set(second) == {*first, "retracted"}
    assert len(set(second.values())) == 1
    assert second["head"] > first["head"]


async def test_a_time_that_is_taken_away_or_changed_counts_from_the_next_turn(runtime: Runtime) -> None:
    for ttl in (60, None, "2m"):
        await runtime.register(agent(ttl))
        await runtime.run("a", "go", session_id="s")
        found = await ends(runtime.store)
        assert len(set(found.values())) == 1
        assert (found["head"] == -1) == (ttl is None)


async def test_a_session_never_ends_while_a_run_works_on_it(runtime: Runtime) -> None:
    inside, going = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply:
        if request.messages[-1].text == "wait":
            inside.set()
            await going.wait()
        return reply("ok")

    await runtime.register(agent(60, model=FunctionModel(answer)))
    await runtime.run("a", "one", session_id="s")
    run = asyncio.create_task(runtime.run("a", "wait", session_id="s"))
    await inside.wait()
    assert set((await ends(runtime.store)).values()) == {-1}
    going.set()
    assert (await run).status == "completed"
    assert -1 not in (await ends(runtime.store)).values()
    assert len(await runtime.session("s", "a").get_items()) == 4


async def test_an_ended_session_leaves_nothing(runtime: Runtime) -> None:
    store = runtime.store
    blocks = (Block(label="topic", scope="session", value="v"), Block(label="notes", value="kept"))
    await runtime.register(agent(60, blocks=blocks))
    for session_id in ("s", "t"):
        await runtime.run("a", "go", session_id=session_id)
    await store.read("ZADD", store.keys.due, 0, "a|s")
    await end_now(store)
    with pytest.raises(UnknownName):
        await runtime.session("s").get_items()
    with pytest.raises(UnknownName):
        await known_session(store, "s", "a")
    assert [one.session_id for one in await list_sessions(store, limit=1)] == ["t"]
    assert [name for name, _ in await store.scored(store.keys.threads)] == ["a|t"]
    assert await store.read("EXISTS", store.keys.session("s")) == 0
    with pytest.raises(UnknownBlock):
        await runtime.blocks.get(scoped_id("session", "topic", "s"))
    assert (await runtime.blocks.get(scoped_id("session", "topic", "t"))).value == "v"
    assert (await runtime.blocks.get(scoped_id("agent", "notes", "a"))).value == "kept"

    async def out_of_the_queue() -> bool:
        return not await PassStore(store).pending()

    await until("the ended session is not due any more", out_of_the_queue)
    again = await runtime.run("a", "new", session_id="s")
    assert [message.text for message in await runtime.session("s", "a").get_items()] == ["new", "ok"]
    assert again.status == "completed"


async def test_the_blocks_stay_while_another_agent_has_the_session(runtime: Runtime) -> None:
    topic = Block(label="topic", scope="session", value="v")
    await runtime.register(agent(60, blocks=(topic,)), Agent(name="b", model=MODEL, blocks=(topic,)))
    for name in ("a", "b"):
        await runtime.run(name, "go", session_id="s")
    await end_now(runtime.store)
    assert [(one.agent, one.session_id) for one in await list_sessions(runtime.store)] == [("b", "s")]
    assert (await runtime.session("s").open()).agent == "b"
    assert (await runtime.blocks.get(scoped_id("session", "topic", "s"))).value == "v"


async def test_a_fork_ends_with_the_session_that_it_came_from(runtime: Runtime) -> None:
    await runtime.register(agent(60))
    await runtime.run("a", "go", session_id="s")
    await runtime.session("s", "a").fork(1, "branch")
    source, branch = await ends(runtime.store), await ends(runtime.store, "a|branch")
    assert set(branch) == set(source)
    assert set(branch.values()) == set(source.values())
