"""The scripts of a turn, on every kind of server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestra.core.errors import Fenced, InputError
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.host_store import HostStore
from orchestra.store.log_store import LogStore
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import (
    Begun,
    Busy,
    Changed,
    Commit,
    Committed,
    Edited,
    Ended,
    Stale,
    ThreadStore,
    Wanted,
)


async def define(store: Store) -> None:
    await DefinitionStore(store).put("a", '{"name":"a"}', "h1", [])


def wanted(run: str, *, host: str = "h@1", edition: int = 0, cached: int = 0) -> Wanted:
    return Wanted(run, "a|s", "a", "s", host, "h1", "1", (), (), edition=edition, cached=cached, input="[]")


def commit(run: str, begun: Begun, *messages: str, kind: str = "done", rule: str = "", **more: object) -> Commit:
    items = tuple((1, text) for text in messages)
    fields = {"operations": (), **more}
    return Commit(
        run, "a|s", begun.token, begun.edition, kind, "completed", f"answer {run}", "{}", rule, 1, items, **fields
    )  # type: ignore[arg-type]


async def begin(threads: ThreadStore, run: str, **more: object) -> Begun:
    found = await threads.begin(wanted(run, **more))  # type: ignore[arg-type]
    assert isinstance(found, Begun)
    return found


async def test_a_turn(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    assert isinstance(await threads.begin(wanted("r0")), Stale)
    await define(each_store)
    begun = await begin(threads, "r1")
    assert (begun.seq, begun.turn, begun.entries, begun.resumed) == (0, 0, (), False)
    done = await threads.commit(commit("r1", begun, '{"u":1}', '{"a":[]}', rule="turns 1"))
    assert done == Committed(1, 2, 2, True)
    assert await threads.entries("a|s") == ['1 1 1 {"u":1}', '2 1 1 {"a":[]}']
    again = await threads.begin(wanted("r1"))
    assert again == Ended("answer r1")
    assert await threads.commit(commit("r1", begun, "x")) == Ended("answer r1")
    second = await begin(threads, "r2", edition=1, cached=2)
    assert second.entries == ()
    assert second.token > begun.token
    assert (await begin(threads, "r2", edition=1, cached=1)).entries == ('2 1 1 {"a":[]}',)


async def test_busy_while_the_holder_lives_and_fenced_when_it_wakes_up_late(each_store: Store) -> None:
    threads, hosts = ThreadStore(each_store), HostStore(each_store)
    await define(each_store)
    await hosts.join("h@1")
    first = await begin(threads, "r1")
    assert await threads.begin(wanted("r2", host="h@2")) == Busy("r1", "h@1")
    assert (await begin(threads, "r1")).token == first.token  # the same call twice
    await hosts.leave("h@1")
    second = await begin(threads, "r2", host="h@2")
    with pytest.raises(Fenced):
        await threads.commit(commit("r1", first, "x"))
    with pytest.raises(Fenced):
        await threads.journal("r1", "a|s", first.token, "m:0", "{}", (), ())
    await threads.commit(commit("r2", second, "y"))
    assert await threads.entries("a|s") == ["1 1 1 y"]
    assert not await hosts.beat("h@1")


async def test_journal_is_written_once_and_comes_back(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    await define(each_store)
    begun = await begin(threads, "r1")
    await threads.journal("r1", "a|s", begun.token, "m:0", "one", (), ())
    again = await threads.journal("r1", "a|s", begun.token, "m:0", "two", (), ())
    assert (again.value, again.duplicate) == ("one", True)
    resumed = await begin(threads, "r1", host="h@2")
    assert resumed.resumed
    assert resumed.journal == {"j:m:0": "one"}


async def test_state_operations(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    await define(each_store)
    operations = (("set", "k", "[]"), ("increment", "n", "2"), ("increment", "f", "0.5"), ("swap", "s", "", "1"))
    await threads.commit(commit("r1", await begin(threads, "r1"), operations=operations))
    assert await threads.state("a|s") == {"k": "[]", "n": "2", "f": "0.5", "s": "1"}
    begun = await begin(threads, "r2")
    assert await threads.commit(
        commit("r2", begun, operations=(("set", "k", "0"), ("swap", "s", "9", "2")))
    ) == Changed("s", "1")
    assert await threads.commit(commit("r2", begun, operations=(("increment", "k", "1"),))) == Changed("k", "[]")
    assert (await threads.state("a|s"))["k"] == "[]"  # nothing of a refused commit is written
    await threads.commit(commit("r2", begun, operations=(("delete", "k"), ("increment", "n", "-5"))))
    assert await threads.state("a|s") == {"n": "-3", "f": "0.5", "s": "1"}
    assert '"before":{"k":[[]],"n":[2]}' in (await threads.turns("a|s"))[1]


async def test_pop_moves_edition_and_turn_and_takes_one_message_per_call(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    await define(each_store)
    await threads.commit(commit("r1", await begin(threads, "r1"), "u", "a", rule="turns 1"))
    begun = await begin(threads, "r2")
    assert await LogStore(each_store).amend("a|s", "pop", "op1") == "2 1 1 a"
    assert await LogStore(each_store).amend("a|s", "pop", "op1") == "2 1 1 a"  # the same call twice
    assert (await threads.head("a|s"))["turn"] == "1"
    edited = await threads.commit(commit("r2", begun, "x"))
    assert isinstance(edited, Edited)
    assert edited.edition > begun.edition
    assert await LogStore(each_store).amend("a|s", "pop", "op2") == "1 1 1 u"
    head = await threads.head("a|s")
    assert (head["turn"], head["seq"], head["due_turn"]) == ("0", "2", "0")
    assert await each_store.scored(each_store.keys.due) == []
    assert await LogStore(each_store).amend("a|s", "pop", "op3") == ""
    assert await LogStore(each_store).amend("a|s", "add", "op4", [(1, "b"), (1, "c")]) == ""
    assert await threads.entries("a|s") == ["3 0 1 b", "4 0 1 c"]
    await LogStore(each_store).amend("a|s", "clear", "op5")
    assert await threads.entries("a|s") == []


async def test_a_run_id_belongs_to_one_thread(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    await define(each_store)
    await DefinitionStore(each_store).put("b", '{"name":"b"}', "h1", [])
    of_b = replace(wanted("r1"), thread="b|s", agent="b")
    begun = await begin(threads, "r1")
    with pytest.raises(InputError, match="'a'"):  # while it runs: b would get the journal of a
        await threads.begin(of_b)
    await threads.commit(commit("r1", begun, "x"))
    with pytest.raises(InputError, match="'a'"):  # when it has ended: b would give the answer of a
        await threads.begin(of_b)


async def test_a_host_that_comes_again_when_even_the_answer_is_forgotten(each_store: Store) -> None:
    threads = ThreadStore(each_store)
    await define(each_store)
    begun = await begin(threads, "r1")
    await threads.commit(commit("r1", begun, "x"))
    await each_store.read("DEL", each_store.keys.run("r1"))  # as after 15 minutes
    with pytest.raises(Fenced):
        await threads.commit(commit("r1", begun, "x"))
    assert await threads.entries("a|s") == ["1 1 1 x"]


async def test_a_deleted_thread_is_not_looked_for_again_and_again(each_store: Store) -> None:
    await each_store.read("ZADD", each_store.keys.due, 1, "a|s")  # a turn made it due while it was being deleted
    passes = PassStore(each_store)
    assert await passes.claim("a|s", "h@1", "c1") is None
    assert await passes.pending() == {}
    assert await passes.status("a|s") == {}
