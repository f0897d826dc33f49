"""The records of a context: compare-and-set, with pops, forks, snapshots and deletions, on every kind of server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from orchestra import Agent, Runtime
from orchestra.core.errors import Fenced
from orchestra.memory.session_list import delete_session
from orchestra.memory.sessions import Session
from orchestra.store.connection import Store
from orchestra.store.context_store import NO_RECORD, ContextStore, NewSummary
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.log_store import LogStore
from orchestra.store.thread_store import Begun, Commit, Committed, ThreadStore, Wanted
from orchestra.testing import FunctionModel

ANSWERS = FunctionModel(lambda request: "ok")
NEW = NewSummary("a|s", 0, 1, 4, 4, '{"text":"so far"}', 900, 100)


async def begin(threads: ThreadStore, run: str, **more: object) -> Begun:
    fields = {"edition": 0, "cached": 0, "input": "[]", **more}
    found = await threads.begin(Wanted(run, "a|s", "a", "s", "h@1", "h1", "1", (), (), **fields))  # type: ignore[arg-type]
    assert isinstance(found, Begun)
    return found


async def play(store: Store, turns: int, first: int = 0, **more: str) -> tuple[ThreadStore, Begun]:
    """``turns`` turns of two messages, the runs numbered from ``first`` on; the begin of the last one."""
    threads = ThreadStore(store)
    await DefinitionStore(store).put("a", '{"name":"a"}', "h1", [])
    for number in range(first, first + turns):
        begun = await begin(threads, f"r{number}")
        items = ((1, '{"u":1}'), (1, '{"a":1}'))
        commit = Commit(f"r{number}", "a|s", begun.token, begun.edition, "done", "completed", "x", "{}", "", 1, items)
        assert isinstance(await threads.commit(replace(commit, **more)), Committed)  # type: ignore[arg-type]
    return threads, begun


async def test_a_cold_host_loads_what_stands_behind_the_summary(each_store: Store) -> None:
    threads, begun = await play(each_store, 4)
    contexts = ContextStore(each_store)
    assert begun.context is None  # nothing was decided, and the caller knows of nothing
    assert await contexts.compact(replace(NEW, edition=begun.edition)) == "OK"
    cold = await begin(threads, "next")
    assert (cold.first, len(cold.entries)) == (4, 4)
    assert cold.context is not None
    assert (cold.context.cycle, cold.context.upto, cold.context.summary) == (1, 4, NEW.summary)
    warm = await begin(threads, "next", edition=begun.edition, cached=6, context_version=cold.context.version)
    assert (warm.first, len(warm.entries), warm.context) == (6, 2, None)


async def test_two_workers_leave_one_record(each_store: Store) -> None:
    _, begun = await play(each_store, 4)
    contexts, mine = ContextStore(each_store), replace(NEW, edition=begun.edition)
    other = replace(mine, summary='{"text":"told otherwise"}')
    answers = await asyncio.gather(contexts.compact(mine), contexts.compact(other), contexts.compact(mine))
    assert sorted(answers) == ["DUP", "MOVED", "OK"]
    assert (await contexts.record("a|s")).summary == mine.summary


async def test_a_summary_of_what_is_not_there_any_more_is_not_recorded(each_store: Store) -> None:
    threads, begun = await play(each_store, 4)
    contexts, new = ContextStore(each_store), replace(NEW, edition=begun.edition)
    assert await contexts.compact(replace(new, upto=5)) == "MOVED"  # not the fourth entry
    await LogStore(each_store).amend("a|s", "pop", "op1")
    assert await contexts.compact(new) == "MOVED"
    await each_store.read("HSET", each_store.keys.head("a|s"), "held_by", "waiting")
    edition = int((await threads.head("a|s"))["edition"])
    assert await contexts.compact(replace(new, edition=edition)) == "HELD"
    assert await contexts.compact(replace(new, thread="a|none")) == "GONE"
    assert await contexts.record("a|s") == NO_RECORD


async def test_what_a_commit_decided_comes_with_the_next_begin(each_store: Store) -> None:
    threads, _ = await play(each_store, 1, call='{"at":1}', pinned="[]")
    found = (await begin(threads, "next")).context
    assert found is not None
    assert (found.version, found.call, found.pinned, found.pruned) == ("r0", '{"at":1}', "[]", "")


async def test_a_flush_is_noted_once_a_cycle(each_store: Store) -> None:
    threads, _ = await play(each_store, 4)
    begun, contexts = await begin(threads, "f1"), ContextStore(each_store)
    noted = await asyncio.gather(
        *(contexts.flushed("a|s", "f1", begun.token, 0, "failed", max_failures=2) for _ in range(2))
    )
    assert noted == [(None, 1), (None, 1)]  # the same flush twice is one failure
    begun = await begin(threads, "f2")
    assert await contexts.flushed("a|s", "f2", begun.token, 0, "failed", max_failures=2) == (0, 2)
    begun = await begin(threads, "f3")
    assert await contexts.compact(replace(NEW, edition=begun.edition)) == "OK"
    assert await contexts.flushed("a|s", "f3", begun.token, 0, "done", max_failures=2) is None
    with pytest.raises(Fenced):
        await contexts.flushed("a|s", "f2", begun.token, 1, "done", max_failures=2)
    assert (await contexts.record("a|s")).flushed == 0


async def test_a_pop_takes_the_summary_of_the_message_along(each_store: Store) -> None:
    threads, begun = await play(each_store, 3)
    contexts = ContextStore(each_store)
    await contexts.compact(replace(NEW, edition=begun.edition))
    for number in range(2):
        await LogStore(each_store).amend("a|s", "pop", f"op{number}")
    kept = await contexts.record("a|s")
    assert kept.upto == 4
    await LogStore(each_store).amend("a|s", "pop", "op2")
    left = await contexts.record("a|s")
    assert (left.upto, left.from_, left.summary, left.cycle) == (0, 0, "", 1)
    assert left.version != kept.version
    assert (await begin(threads, "next")).first == 0
    await LogStore(each_store).amend("a|s", "clear", "op3")
    assert await contexts.record("a|s") == NO_RECORD


async def test_large_results_are_kept_once_and_for_their_session_only(each_store: Store) -> None:
    threads, _ = await play(each_store, 1)
    begun, contexts = await begin(threads, "next"), ContextStore(each_store)
    assert await contexts.put_away("a|s", begun.token, "ref", "first") == "first"
    assert await contexts.put_away("a|s", begun.token, "ref", "second") == "first"
    assert await contexts.put_back("a|s", "ref") == "first"
    assert await contexts.put_back("a|other", "ref") is None
    with pytest.raises(Fenced):
        await contexts.put_away("a|s", begun.token - 1, "ref", "late")
    await delete_session(each_store, Session(each_store, "s", "a"))
    assert await contexts.put_back("a|s", "ref") is None
    assert await each_store.read("EXISTS", each_store.keys.context("a|s"), each_store.keys.offload("a|s")) == 0


async def test_forks_and_snapshots_carry_the_records(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=ANSWERS))
    for text in ("one", "two", "three"):
        await runtime.run("a", text, session_id="s")
    contexts, edition = ContextStore(runtime.store), int((await ThreadStore(runtime.store).head("a|s"))["edition"])
    assert await contexts.compact(replace(NEW, edition=edition)) == "OK"
    await runtime.store.read("HSET", runtime.store.keys.offload("a|s"), "ref", "large")
    session = runtime.session("s", "a")
    await session.fork(2, "behind")
    await session.fork(1, "before")
    assert (await contexts.record("a|behind")).summary == NEW.summary
    assert (await contexts.record("a|before")).summary == ""  # it tells of a turn that the fork does not have
    assert await contexts.put_back("a|before", "ref") == "large"
    snapshot = await runtime.snapshot("s", "a")
    await session.clear_session()
    assert await contexts.put_back("a|s", "ref") is None
    await runtime.restore(snapshot)
    assert (await contexts.record("a|s")).upto == 4
    assert await contexts.put_back("a|s", "ref") == "large"
    await runtime.delete_snapshot(snapshot)


async def test_each_rewind_is_a_version_of_its_own(each_store: Store) -> None:
    """Two rewinds to one place, with a summary between them: a host that knows the first record lacks the second."""
    contexts, session, versions = ContextStore(each_store), Session(each_store, "s", "a"), list[str]()
    for cycle in range(2):
        threads, _ = await play(each_store, 3 - cycle, first=3 * cycle)
        head = await threads.head("a|s")
        entries = await threads.length("a|s")
        new = replace(NEW, cycle=cycle, edition=int(head["edition"]), upto=int(head["seq"]), from_=entries)
        assert await contexts.compact(new) == "OK"
        await session.rewind(2)
        found = await contexts.record("a|s")
        assert (found.cycle, found.summary) == (cycle + 1, "")
        versions.append(found.version)
    assert versions[0] != versions[1]
