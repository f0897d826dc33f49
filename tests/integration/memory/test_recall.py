"""Recall: everything that was said, evicted or not, by words and by meaning; nothing of it on a turn's path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from orchestra import Agent
from orchestra.core.errors import InputError
from orchestra.core.model import ModelRequest
from orchestra.memory.recall import ConversationSearch
from orchestra.memory.search.archive import LocalArchive
from orchestra.memory.search.embedder import find, load
from orchestra.memory.sessions import Session
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel
from tests.hosts import Machines
from tests.meanings import MeaningEmbedder
from tests.waiting import until

MODEL = "tests.meanings:make"
Looking = Callable[..., ConversationSearch]


@pytest.fixture
async def looking(store: Store) -> AsyncIterator[Looking]:
    """Recall as one more process would have it, with an index of its own."""
    made: list[LocalArchive] = []

    def make(
        model: str = "none", *, user_id: str | None = None, session_id: str | None = None, scope: str = "user"
    ) -> ConversationSearch:
        made.append(LocalArchive(store, model))
        return ConversationSearch(made[-1], "a", user_id=user_id, session_id=session_id, scope=scope)  # type: ignore[arg-type]

    yield make
    for archive in made:
        await archive.close()


@pytest.fixture
async def client(machines: Machines) -> Client:
    """Agent ``a`` answers "noted"."""
    made = await machines.client()
    await made.register(
        Agent(name="a", model=FunctionModel(lambda request: "noted"), conversation={"history_limit": 1})
    )  # type: ignore[arg-type]
    return made


async def said(client: Client, *texts: str, session_id: str = "s", user_id: str | None = "ana") -> None:
    for text in texts:
        await client.run("a", text, session_id=session_id, user_id=user_id)


async def texts(where: ConversationSearch, query: str, **more: object) -> list[str]:
    return [one.text for one in await where.search(query, **more)]  # type: ignore[arg-type]


async def test_what_the_prompt_does_not_show_any_more_is_found(client: Client, looking: Looking) -> None:
    await said(client, "my boat is called Nautilus", *(f"filler {number}" for number in range(20)))
    assert await texts(looking(user_id="ana"), "what is the boat called?", limit=1) == ["my boat is called Nautilus"]


async def test_one_users_words_do_not_reach_another(client: Client, looking: Looking) -> None:
    await said(client, "the boat of ana", session_id="ana-1")
    await said(client, "the boat of ana, again", session_id="ana-2")
    await said(client, "the boat of ben", session_id="ben-1", user_id="ben")
    await said(client, "the boat of nobody", session_id="x", user_id=None)
    assert sorted(await texts(looking(user_id="ana"), "boat")) == ["the boat of ana", "the boat of ana, again"]
    assert await texts(looking(user_id="ben"), "boat") == ["the boat of ben"]
    assert await texts(looking(user_id="eve"), "boat") == []
    assert await texts(looking(session_id="x"), "boat") == ["the boat of nobody"]
    assert await texts(looking(user_id="ana", session_id="ana-1", scope="session"), "boat") == ["the boat of ana"]
    assert len(await texts(looking(user_id="ana", scope="agent"), "boat")) == 4


@pytest.mark.parametrize("scope", ["session", "user", "agent"])
async def test_one_agents_words_do_not_reach_another(client: Client, looking: Looking, scope: str) -> None:
    await client.register(Agent(name="ab", model=FunctionModel(lambda request: "noted")))
    await said(client, "the boat of a")
    await client.run("ab", "the boat of ab", session_id="s", user_id="ana")
    assert await texts(looking(user_id="ana", session_id="s", scope=scope), "boat") == ["the boat of a"]


async def test_by_words_and_by_meaning(client: Client, looking: Looking) -> None:
    await said(client, "the physician called at noon", "paint the fence", "order more tea")
    by_meaning = looking(MODEL, user_id="ana")
    assert await texts(by_meaning, "doctor", limit=1) == ["the physician called at noon"]
    assert await texts(by_meaning, "fence", limit=1) == ["paint the fence"]
    assert await texts(looking(user_id="ana"), "doctor") == []


async def test_roles_and_dates_come_before_the_limit(store: Store, looking: Looking) -> None:
    session = Session(store, "s", "a")
    day = 1_767_225_600.0  # 2026-01-01 UTC
    items = []
    for number in range(40):
        role = "user" if number % 2 else "assistant"
        items.append({"role": role, "content": "boat", "meta": {"created_at": day + number * 21_600}})
    await session.add_items(items)
    where = looking(session_id="s")
    found = await where.search("boat", ["user"], limit=3, start_date="2026-01-05", end_date="2026-01-05")
    assert [(one.role, one.at - day) for one in found] == [("user", 17 * 21_600), ("user", 19 * 21_600)]
    assert len(await where.search("boat", limit=100, start_date="2026-01-09")) == 8
    assert len(await where.search("boat", limit=100, end_date="2026-01-01T06:00:00")) == 2
    with pytest.raises(InputError, match="start_date"):
        await where.search("boat", start_date="soon")
    with pytest.raises(InputError, match="role"):
        await where.search("boat", ["robot"])  # type: ignore[list-item]


async def test_pages_share_nothing_while_more_is_said(client: Client, looking: Looking) -> None:
    await said(client, *(f"boat {number}" for number in range(25)))
    where = looking(MODEL, user_id="ana")
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = await where.search("boat", ["user"], limit=10, cursor=cursor)
        seen += [one.text for one in page]
        await said(client, "boat boat boat")
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(f"boat {number}" for number in range(25))


async def test_popped_and_cleared_messages_are_not_found(client: Client, looking: Looking) -> None:
    where = looking(MODEL, user_id="ana")
    await said(client, "the first boat", "the second boat")
    assert len(await where.search("boat", ["user"])) == 2
    session = client.session("s", "a")
    await session.pop_item()
    await session.pop_item()
    assert await texts(where, "boat", roles=["user"]) == ["the first boat"]
    await said(client, "the third boat")
    assert sorted(await texts(where, "boat", roles=["user"])) == ["the first boat", "the third boat"]
    await session.clear_session()
    assert await texts(where, "boat") == []
    await said(client, "the fourth boat")
    assert await texts(where, "boat", roles=["user"]) == ["the fourth boat"]


async def test_a_process_that_starts_later_finds_everything(client: Client, looking: Looking) -> None:
    await said(client, *(f"note {number}" for number in range(30)))
    assert await texts(looking(MODEL, user_id="ana"), "note 17", limit=1) == ["note 17"]
    assert await texts(looking(user_id="ana"), "note 29", limit=1) == ["note 29"]


async def test_a_long_log_is_read_in_pieces(store: Store, looking: Looking) -> None:
    session = Session(store, "s", "a")
    await session.add_items([{"role": "user", "content": f"number {number} said"} for number in range(2500)])
    assert await texts(looking(session_id="s"), "2467", limit=5) == ["number 2467 said"]


async def test_corrupt_entries_are_passed_over(client: Client, store: Store, looking: Looking) -> None:
    await said(client, "the first boat")
    await store.read("RPUSH", store.keys.log("a|s"), "this is no entry")
    where = looking(user_id="ana")
    assert await texts(where, "boat") == ["the first boat"]
    await said(client, "the second boat")
    assert sorted(await texts(where, "boat")) == ["the first boat", "the second boat"]


async def test_turns_are_indexed_in_the_background(client: Client, looking: Looking) -> None:
    where = looking(MODEL, user_id="ana")
    await said(client, "the first boat")
    await where.search("boat")
    known = load(find(MODEL))
    assert isinstance(known, MeaningEmbedder)
    before = known.embedded
    await said(client, "the physician called")
    await until("what was said is embedded without a search", lambda: known.embedded == before + 2)


async def test_a_turn_is_two_commands_as_before(client: Client, store: Store, looking: Looking) -> None:
    await said(client, "the first boat", "the second boat")
    await looking(MODEL, user_id="ana").search("boat")
    stats = await _calls(store)
    await said(client, "the third boat")
    after = await _calls(store)
    assert after - stats == 2


async def _calls(store: Store) -> int:
    return store.commands


@pytest.mark.parametrize(
    ("said_", "query"),
    [
        ("교토에서 사흘 밤을 묵었습니다", "교토"),
        ("私は東京に住んでいます", "東京"),
        ("我们下周去北京", "北京"),
        ("Das Boot heißt Möwe", "mowe"),
        ("the ticket is AB-1234/x", "AB-1234"),
    ],
)
async def test_languages_and_signs(client: Client, looking: Looking, said_: str, query: str) -> None:
    await said(client, said_, "something else")
    assert await texts(looking(user_id="ana"), query) == [said_]


@pytest.mark.parametrize("query", ["", "  ", "?!", '"', "AND OR NEAR", "boat*", "a:b", "(("])
async def test_queries_that_are_no_words(client: Client, looking: Looking, query: str) -> None:
    await said(client, "hello there")
    assert await texts(looking(user_id="ana"), query) == []


async def test_the_tool(machines: Machines) -> None:
    client = await machines.client()
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> object:
        from orchestra.testing import call, reply

        asked.append(request)
        if request.messages[-1].text.startswith("look"):
            return reply(calls=[call("conversation_search", query="boat", end_date="2099-01-01")])
        if request.messages[-1].text.startswith("wrong"):
            return reply(calls=[call("conversation_search", query="boat", start_date="soon")])
        return "ok"

    await client.register(Agent(name="a", model=FunctionModel(answer), recall=True))  # type: ignore[arg-type]
    await said(client, "my boat is blue", session_id="one")
    await said(client, "ben has a boat", session_id="two", user_id="ben")
    result = await client.run("a", "look", session_id="three", user_id="ana")
    (tool,) = [message for message in result.messages if message.role == "tool"]
    assert "my boat is blue" in tool.text
    assert "(session one)" in tool.text
    assert "ben" not in tool.text
    wrong = await client.run("a", "wrong", session_id="three", user_id="ana")
    (tool,) = [message for message in wrong.messages if message.role == "tool"]
    assert tool.is_error
    assert "start_date 'soon' is no date" in tool.text
    assert wrong.status == "completed"
    assert await texts(client.recall("a", user_id="ana"), "session one") == []  # what a search gave is not found again
    assert [one.name for one in asked[0].tools] == ["conversation_search"]


async def test_deleted_sessions_are_not_found(client: Client, store: Store, looking: Looking) -> None:
    from orchestra.memory.session_list import delete_session

    where = looking(user_id="ana")
    await said(client, "the first boat", session_id="one")
    await said(client, "the second boat", session_id="two")
    assert len(await texts(where, "boat")) == 2
    await delete_session(store, Session(store, "one", "a"))
    assert await texts(where, "boat") == ["the second boat"]


async def end_now(store: Store, thread: str) -> None:
    """As the server ends a session by its time to live: its keys go, the lists know nothing of it."""
    k = store.keys
    for key in (k.head(thread), k.log(thread), k.turns(thread), k.state(thread)):
        await store.read("PEXPIREAT", key, 1)


@pytest.mark.parametrize("how", ["ended", "deleted"])
async def test_a_session_that_another_user_has_now(client: Client, store: Store, looking: Looking, how: str) -> None:
    """It counts from one again, so number and length of its log are those that a search has seen before."""
    wheres = {name: looking(user_id=name) for name in ("ana", "ben")}
    session, everybody = looking(session_id="s"), looking(scope="agent")
    await said(client, "the boat of ana")
    assert [await texts(where, "boat") for where in (*wheres.values(), session, everybody)] == [
        *(["the boat of ana"], []),
        *(["the boat of ana"], ["the boat of ana"]),
    ]
    if how == "ended":
        await end_now(store, "a|s")
    else:
        await ThreadStore(store).delete("a|s")
    await said(client, "the boat of ben", user_id="ben")
    for where in (wheres["ben"], session, everybody, looking(user_id="ben")):
        assert await texts(where, "boat") == ["the boat of ben"]
    for where in (wheres["ana"], looking(user_id="ana")):
        assert await texts(where, "boat") == []
    await said(client, "a second boat of ana", session_id="other")
    assert await texts(wheres["ana"], "boat") == ["a second boat of ana"]


async def test_a_session_of_added_messages_that_is_made_again(store: Store, looking: Looking) -> None:
    session, where = Session(store, "s", "a"), looking(session_id="s")
    for text in ("the first boat", "the second boat"):
        await session.add_items([{"role": "user", "content": text}])
        assert await texts(where, "boat") == [text]
        await end_now(store, "a|s")


async def test_branches_and_restored_sessions_are_found_at_once(client: Client, store: Store, looking: Looking) -> None:
    where, other = looking(user_id="ana"), looking(user_id="ben")
    await said(client, "my boat is blue", "and it is old")
    snapshot = await client.snapshot("s")
    await client.session("s").fork(1, "branch")
    await ThreadStore(store).delete("a|s")
    assert [(one.text, one.session_id) for one in await where.search("boat")] == [("my boat is blue", "branch")]
    await client.restore(snapshot)
    assert sorted(one.session_id for one in await where.search("boat")) == ["branch", "s"]
    assert await texts(where, "old") == ["and it is old"]
    assert await texts(other, "boat") == []


async def test_many_search_while_turns_run(client: Client, looking: Looking) -> None:
    where = looking(MODEL, user_id="ana")

    async def one(number: int) -> None:
        await said(client, f"boat {number}", session_id=f"s{number}")
        assert f"boat {number}" in await texts(where, f"boat {number}", limit=50)

    await asyncio.gather(*(one(number) for number in range(20)))
