"""The archive's tools: who gets which, what they answer, and that a retry adds nothing."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra import Agent, Sleeptime, ToolContext
from orchestra.core.agent import Recall
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.store.passage_store import PassageStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines
from tests.sleeping import NOTES, Sleeper, passes, primary, reports
from tests.waiting import until


@pytest.fixture
async def client(machines: Machines) -> Client:
    return await machines.client()


async def called(client: Client, *calls: ToolCall, user_id: str | None = "ana") -> list[Message]:
    model = ScriptedModel([*(reply(calls=[one]) for one in calls), reply("done")])
    await client.register(Agent(name="a", model=model, archive=True))
    result = await client.run("a", "go", session_id="s", user_id=user_id)
    assert result.status == "completed", result.error
    return [message for message in result.messages if message.role == "tool"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"archive": True}, ["archival_memory_insert", "archival_memory_search"]),
        ({"archive": "search"}, ["archival_memory_search"]),
        ({"recall": True}, ["conversation_search"]),
        ({"recall": Recall(scope="agent")}, ["conversation_search"]),
        (
            {"sleeptime": Sleeptime(model=FunctionModel(lambda request: "x"))},
            ["conversation_search", "archival_memory_search"],
        ),
        ({"sleeptime": Sleeptime(every=None, model=FunctionModel(lambda request: "x"))}, []),
        (
            {"sleeptime": Sleeptime(model=FunctionModel(lambda request: "x")), "archive": False, "recall": False},
            [],
        ),
    ],
)
async def test_who_gets_which(client: Client, options: dict[str, object], expected: list[str]) -> None:
    model = FunctionModel(lambda request: "ok")
    await client.register(Agent(name="a", model=model, **options))  # type: ignore[arg-type]
    await client.run("a", "hi", session_id="s")
    assert [tool.name for tool in model.requests[0].tools] == expected


async def test_insert_and_search(client: Client) -> None:
    added, found, none = await called(
        client,
        call("archival_memory_insert", content="The boat is called Nautilus.", tags=["boat"]),
        call("archival_memory_search", query="name of the boat", tags=["boat"]),
        call("archival_memory_search", query="name of the boat", tags=["car"]),
    )
    assert added.text == "added to the archive"
    assert found.text.endswith("(boat) The boat is called Nautilus.")
    assert none.text == "nothing was found"
    (passage,) = await client.passages.list("a", user_id="ana")
    assert passage.tags == ("boat",)
    assert '"thread":"a|s"' in passage.source
    assert await client.passages.list("a") == []


async def test_without_a_user_it_is_the_agents_own(client: Client) -> None:
    await called(client, call("archival_memory_insert", content="The boat is blue."), user_id=None)
    assert [one.user_id for one in await client.passages.list("a")] == [None]


async def test_wrong_arguments_are_error_results(client: Client) -> None:
    results = await called(
        client,
        call("archival_memory_insert", content="  "),
        call("archival_memory_search", query="boat", start_date="when it rained"),
        call("archival_memory_search", query="boat", tag_match_mode="most"),
        call("archival_memory_search", query="boat", limit=0),
        call("archival_memory_search", query=""),
    )
    assert [message.is_error for message in results] == [True, True, True, True, False]
    assert "is no date" in results[1].text
    assert results[4].text == "nothing was found"


async def test_pages_by_cursor(client: Client) -> None:
    await client.passages.insert_many("a", [f"boat {number}" for number in range(5)])
    seen: list[str] = []

    def look(request: ModelRequest) -> ModelReply:
        last = request.messages[-1]
        cursor = None
        if last.role == "tool":
            lines = last.text.splitlines()
            seen.extend(line.rpartition("] ")[2] for line in lines if not line.startswith("There is more"))
            if not lines[-1].startswith("There is more"):
                return reply("done")
            cursor = lines[-1].rpartition(" ")[2]
        return reply(calls=[call("archival_memory_search", query="boat", limit=2, cursor=cursor)])

    await client.register(Agent(name="a", model=FunctionModel(look), archive="search"))
    await client.run("a", "go", session_id="s")
    assert sorted(seen) == [f"boat {number}" for number in range(5)]


async def test_a_host_that_dies_after_adding(machines: Machines, store: Store) -> None:
    """The tool had added, its result was not journaled; another host does the call again."""
    first, second = await machines.host("primary-0"), await machines.host("primary-1")
    model = ScriptedModel([reply(calls=[call("archival_memory_insert", content="The boat is blue.")]), reply("done")])
    client = machines.client_of(first)
    await client.register(Agent(name="a", model=model, archive=True))
    journal = first.threads.journal

    async def dies(run: str, thread: str, token: int, name: str, *rest: object) -> object:
        if name.startswith("t:"):
            await asyncio.Event().wait()
        return await journal(run, thread, token, name, *rest)  # type: ignore[arg-type]

    first.threads.journal = dies  # type: ignore[method-assign, assignment]
    lost = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r1"))

    async def added() -> bool:
        return len(await client.passages.list("a")) == 1

    await until("the passage is there", added)
    await store.read("ZREM", store.keys.hosts, first.id)  # dead to everybody else
    result = await machines.client_of(second).run("a", "go", session_id="s", run_id="r1")
    assert result.status == "completed"
    assert [one.text for one in await client.passages.list("a")] == ["The boat is blue."]
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
    assert len(await client.passages.list("a")) == 1


async def test_a_tool_of_the_users_own(client: Client) -> None:
    async def keep(ctx: ToolContext) -> str:
        """Keep two things."""
        assert ctx.archive is not None
        await ctx.archive.insert("one boat")
        await ctx.archive.insert("two boats", ["many"])
        return ", ".join(hit.passage.text for hit in await ctx.archive.search("boats", ["many"]))

    model = ScriptedModel([reply(calls=[call("keep")]), reply("done")])
    await client.register(Agent(name="a", model=model, tools=(keep,)))
    result = await client.run("a", "go", session_id="s")
    assert [message.text for message in result.messages if message.role == "tool"] == ["two boats"]
    assert len(await client.passages.list("a")) == 2


async def inserts(request: ModelRequest) -> ModelReply:
    if request.messages[-1].role == "tool":
        return reply(calls=[call("memory_finish_edits")])
    notes = call("core_memory_append", label="notes", content="a boat")
    return reply(calls=[call("archival_memory_insert", content="Ana has a boat.", tags=["boat"]), notes])


async def test_a_pass_adds_when_it_is_published(machines: Machines, store: Store) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await machines.worker(host)
    sleeper = Sleeper(inserts)
    await client.register(primary(sleeper.model, every=1))
    await client.run("a", "I have a boat", session_id="s", user_id="ana")
    await passes(store, 1)
    (passage,) = await client.passages.list("a", user_id="ana")
    assert (passage.text, passage.tags) == ("Ana has a boat.", ("boat",))
    assert '"thread":"a|s","seqs":[1,2]' in passage.source
    (report,) = await reports(store)
    assert report["archived"] == 1
    assert [hit.passage.id for hit in await client.passages.search("a", "boat", user_id="ana")] == [passage.id]
    names = {tool.name for tool in sleeper.model.requests[0].tools}
    assert "archival_memory_insert" in names
    assert not names & {"archival_memory_search", "conversation_search"}


async def test_a_pass_that_fails_adds_nothing_and_its_next_try_adds_once(machines: Machines, store: Store) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await machines.worker(host)
    fails = [True]

    async def act(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool" and fails:
            assert await client.passages.list("a", user_id="ana") == []
            fails.pop()
            raise ValueError("once")
        return await inserts(request)

    await client.register(primary(Sleeper(act).model, every=1))
    await client.run("a", "I have a boat", session_id="s", user_id="ana")
    await passes(store, 1)
    assert [one.text for one in await client.passages.list("a", user_id="ana")] == ["Ana has a boat."]


async def test_no_archive_for_the_sleeptime_agent_either(machines: Machines, store: Store) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await machines.worker(host)
    sleeper = Sleeper()
    sleeptime = Sleeptime(every=1, model=sleeper.model)
    agent = Agent(
        name="a", model=FunctionModel(lambda request: "ok"), blocks=(NOTES,), sleeptime=sleeptime, archive=False
    )
    await client.register(agent)
    await client.run("a", "hi", session_id="s")
    await passes(store, 1)
    assert "archival_memory_insert" not in {tool.name for tool in sleeper.model.requests[0].tools}


async def test_namespaces_are_apart(client: Client, store: Store) -> None:
    await client.passages.insert("a", "the boat is blue")
    other = await Store.open(store.url, f"{store.keys.namespace}-other")
    try:
        assert await PassageStore(other).ids("a") == []
        assert cast("list[str]", await PassageStore(other).owners()) == []
    finally:
        await other.close()
