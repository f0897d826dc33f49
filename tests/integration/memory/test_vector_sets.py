"""The archive in vector sets: the probe, late writers, several processes, a switch to and fro."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from orchestra import Runtime
from orchestra.cluster.doctor import examine
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import StoreIncompatible
from orchestra.memory.passages import Passages
from orchestra.memory.search.archive import LocalArchive, index_on
from orchestra.memory.search.passage_search import Index
from orchestra.store.connection import Store
from orchestra.store.passage_store import PassageStore
from orchestra.store.vector_sets import VectorSets
from tests.indexes import index_or_skip
from tests.meanings import MeaningEmbedder

MODEL = "tests.meanings:make"
Opened = Callable[..., Passages]


@pytest.fixture
async def opened(each_store: Store) -> AsyncIterator[Opened]:
    """Archives as processes with caches of their own would have them; only where the server has vector sets."""
    await index_or_skip(each_store, "vectorset")
    made: list[LocalArchive] = []

    def make(index: Index = "vectorset", model: str = MODEL) -> Passages:
        made.append(LocalArchive(each_store, model, index=index))
        return Passages(each_store, made[-1])

    yield make
    for archive in made:
        await archive.close()


async def texts(passages: Passages, query: str, limit: int = 1000) -> list[str]:
    return [hit.passage.text for hit in await passages.search("a", query, limit=limit)]


async def test_a_server_without_them_is_named_at_the_start(each_store: Store) -> None:
    config = {"redis": {"url": each_store.url}, "namespace": each_store.keys.namespace}
    if not await each_store.lacks("VADD"):
        assert await index_on(each_store, "auto") == "vectorset"
        async with Runtime.start({**config, "embeddings": {"index": "vectorset"}}, inline=True):
            return
    with pytest.raises(StoreIncompatible, match=r"vector sets.*use Redis 8.*index: scan") as raised:
        async with Runtime.start({**config, "embeddings": {"index": "vectorset"}}, inline=True):
            pass
    assert (raised.value.url, raised.value.exit_code) == (each_store.address, 2)
    assert await index_on(each_store, "auto") == "scan"
    async with Runtime.start({**config, "embeddings": {"model": "none", "index": "auto"}}, inline=True):
        pass


async def test_doctor_says_it_too(each_store: Store) -> None:
    config = {"redis": {"url": each_store.url}, "namespace": each_store.keys.namespace}
    lacking = await each_store.lacks("VADD")
    for index, broken in (("vectorset", bool(lacking)), ("auto", False), ("scan", False)):
        found = await examine(ClusterConfig.model_validate({**config, "embeddings": {"index": index}}), environment={})
        (redis,) = (one for one in found if one.name == "redis")
        assert (redis.state, "vector sets" in redis.text) == ("broken" if broken else "fine", broken)


async def test_the_probe_names_what_is_lacking(each_store: Store) -> None:
    assert await each_store.lacks("get", "no-such-command", "evalsha") == ["no-such-command"]


async def test_scores_are_cosines_as_with_the_scan(opened: Opened) -> None:
    both = opened(), opened("scan")
    await both[0].insert_many("a", ["a blue boat", "the ship is late", "tea at four", "the doctor called"])
    near, exact = [{hit.passage.text: hit.score for hit in await one.search("a", "boat")} for one in both]
    assert near.keys() == exact.keys()
    assert all(abs(near[text] - exact[text]) < 0.02 for text in exact)


async def test_many_more_passages_than_a_page_holds(opened: Opened) -> None:
    """Walking the graph gives as many as are asked for, and the nearest are among them."""
    passages = opened()
    await passages.insert_many("a", [f"note {number} of the voyage" for number in range(1500)])
    assert len(set(await texts(passages, "note of the voyage"))) == 1000
    first = await asyncio.gather(*(texts(passages, f"note {n} of the voyage", 1) for n in range(0, 1500, 100)))
    assert sum(found == [f"note {n} of the voyage"] for n, found in zip(range(0, 1500, 100), first, strict=True)) >= 14


async def test_several_processes_fill_one_set(opened: Opened, each_store: Store) -> None:
    processes = [opened() for _ in range(4)]
    await processes[0].insert_many("a", [f"boat {number}" for number in range(200)])

    async def work(number: int, passages: Passages) -> None:
        for turn in range(5):
            await passages.insert("a", f"ship {number} {turn}")
            assert f"ship {number} {turn}" in await texts(passages, "boat")

    await asyncio.gather(*(work(number, one) for number, one in enumerate(processes)))
    assert await each_store.read("VCARD", each_store.keys.vectors("a")) == 220


async def test_a_late_writer_puts_nothing_old_over_something_new(opened: Opened, each_store: Store) -> None:
    passages, sets = opened(), VectorSets(each_store)
    made = await passages.insert("a", "the boat is blue", ["x"])
    await texts(passages, "boat")
    seen = (await PassageStore(each_store).load([made.id]))[made.id]
    assert seen is not None
    await passages.update(made.id, text="the doctor called", tags=["y"])
    assert [hit.passage.id for hit in await passages.search("a", "physician", ["y"])] == [made.id]
    before = (await passages.search("a", "physician"))[0].score
    old = MeaningEmbedder().embed(["the boat is blue"])[0]
    born = (await sets.state("a", 1)).born
    assert await sets.put("a", 1, born, [(seen, np.asarray(old, "<f4").tobytes())]) == ("ok", born)
    assert (await passages.search("a", "physician"))[0].score == before
    await passages.delete(made.id)
    assert await sets.put("a", 1, born, [(seen, np.asarray(old, "<f4").tobytes())]) == ("moved", born)
    assert await each_store.read("EXISTS", each_store.keys.vectors("a")) == 0


async def test_writers_of_another_model_or_another_set_are_told(opened: Opened, each_store: Store) -> None:
    passages, sets = opened(), VectorSets(each_store)
    await passages.insert("a", "the boat is blue")
    await texts(passages, "boat")
    born = (await sets.state("a", 1)).born
    assert await sets.put("a", 2, born) == ("other", born)
    await PassageStore(each_store).identify("other", 32, replace=True)
    assert await sets.put("a", 1, born) == ("other", born)
    assert await sets.put("a", 2, born) == ("moved", born)
    assert (await sets.state("a", 2)).last == -1
    assert await texts(opened("vectorset", "tests.meanings:other"), "boat") == ["the boat is blue"]


async def test_the_index_is_changed_to_and_fro(opened: Opened, each_store: Store) -> None:
    """What happens while others scan reaches the set at its next search, also when the changes are told no more."""
    made = await opened().insert_many("a", [f"boat {number}" for number in range(20)])
    await texts(opened(), "boat")
    scan = opened("scan")
    await scan.delete(made[0].id)
    await scan.update(made[1].id, text="the doctor called")
    await scan.insert("a", "boat 20")
    expected = sorted(await texts(scan, "boat"))
    await each_store.read("XTRIM", each_store.keys.changes("a"), "MAXLEN", 1)
    assert sorted(await texts(opened(), "boat")) == expected
    assert await texts(opened(), "the physician called", 1) == ["the doctor called"]


async def test_a_reindex_of_who_scans_frees_the_sets(opened: Opened, each_store: Store) -> None:
    sets, scan = opened(), opened("scan")
    await sets.insert("a", "the boat is blue", user_id="ana")
    assert len(await sets.search("a", "ship", user_id="ana")) == 1
    keys = each_store.keys.vectors("a|ana"), each_store.keys.vectored("a|ana")
    assert await each_store.read("EXISTS", *keys) == 2
    assert await scan.reindex() == 1
    assert await each_store.read("EXISTS", *keys) == 0
    assert len(await sets.search("a", "ship", user_id="ana")) == 1


async def test_both_indexes_find_the_same_whatever_happens_in_between(opened: Opened, each_store: Store) -> None:
    """Random changes by several processes; after each the two indexes agree on what passes the filters."""
    chance = random.Random(11)
    writers, readers = [opened(), opened("scan")], {"set": opened(), "scan": opened("scan")}
    ids: list[str] = []
    for step in range(120):
        writer, choice = chance.choice(writers), chance.random()
        tags = chance.sample(["x", "y", "z"], chance.randint(0, 2))
        if choice < 0.5 or not ids:
            made = await writer.insert("a", f"boat {step}", tags, created_at=86_400.0 * chance.randint(1, 30))
            ids.append(made.id)
        elif choice < 0.65:
            await writer.update(chance.choice(ids), text=f"ship {step}")
        elif choice < 0.8:
            await writer.update(chance.choice(ids), tags=tags)
        elif choice < 0.95:
            await writer.delete(ids.pop(chance.randrange(len(ids))))
        elif choice < 0.97:
            await writer.clear("a")
            ids.clear()
        else:
            await each_store.read("XTRIM", each_store.keys.changes("a"), "MAXLEN", 1)
        if step % 3:
            continue
        for given in (
            {},
            {"tags": ["x", "y"]},
            {"tags": ["x", "y"], "tag_match_mode": "all"},
            {"start_date": "1970-01-08", "end_date": "1970-01-20"},
        ):
            found = {
                name: sorted(hit.passage.id for hit in await one.search("a", "boat", limit=1000, **given))  # type: ignore[arg-type]
                for name, one in readers.items()
            }
            assert found["set"] == found["scan"], (step, given)
            assert given or found["set"] == sorted(ids)
