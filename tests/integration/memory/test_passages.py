"""The archive: passages by meaning and by words, filters, pages, users, models that must not mix."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest

from orchestra import Runtime
from orchestra.core.errors import EmbeddingMismatch, EmbeddingsUnavailable, InputError, UnknownName
from orchestra.memory.passages import Passages
from orchestra.memory.search import embedder
from orchestra.memory.search.archive import LocalArchive
from orchestra.memory.search.passage_search import Index
from orchestra.store.connection import Store
from orchestra.store.passage_store import PassageStore
from tests.indexes import INDEXES, index_or_skip
from tests.meanings import MeaningEmbedder
from tests.waiting import until

MODEL = "tests.meanings:make"
Opened = Callable[..., Passages]


@pytest.fixture(params=INDEXES)
async def index(request: pytest.FixtureRequest, each_store: Store) -> Index:
    return await index_or_skip(each_store, request.param)


@pytest.fixture
async def opened(each_store: Store, index: Index) -> AsyncIterator[Opened]:
    """Archives of this test, as processes with caches of their own would have them."""
    made: list[LocalArchive] = []

    def make(model: str = MODEL) -> Passages:
        made.append(LocalArchive(each_store, model, index=index))
        return Passages(each_store, made[-1])

    yield make
    for archive in made:
        await archive.close()


@pytest.fixture(params=[MODEL, "none"], ids=["meaning", "words"])
def passages(request: pytest.FixtureRequest, opened: Opened) -> Passages:
    return opened(request.param)


def texts(found: object) -> list[str]:
    return [hit.passage.text for hit in found]  # type: ignore[attr-defined]


async def test_found_by_meaning_not_by_word(opened: Opened) -> None:
    passages = opened()
    await passages.insert_many("a", ["a story of implanted memories", "the boat needs paint", "tea at four"])
    found = await passages.search("a", "artificial recollections", limit=1)
    assert texts(found) == ["a story of implanted memories"]
    assert found[0].by == "meaning"
    assert found[0].score > 0.5


async def test_without_embeddings_words_are_found(opened: Opened) -> None:
    passages = opened("none")
    await passages.insert_many("a", ["a story of implanted memories", "the boat needs paint", "tea at four"])
    assert await passages.search("a", "artificial recollections") == []
    found = await passages.search("a", "paint for boats")
    assert texts(found) == ["the boat needs paint"]
    assert found[0].by == "words"


async def test_an_insertion_comes_twice(passages: Passages) -> None:
    first = await passages.insert("a", "the boat is blue", operation_id="run-1:0.0")
    again = await passages.insert("a", "the boat is blue", operation_id="run-1:0.0")
    assert first.id == again.id
    assert len(await passages.list("a")) == 1
    other = await passages.insert("a", "the boat is blue", operation_id="run-1:0.1")
    assert other.id != first.id


async def test_users_do_not_see_each_other(passages: Passages) -> None:
    await passages.insert("a", "boat of everybody")
    await passages.insert("a", "boat of ana", user_id="ana")
    await passages.insert("a", "boat of ben", user_id="ben")
    await passages.insert("b", "boat of another agent")
    assert sorted(texts(await passages.search("a", "boat", user_id="ana"))) == ["boat of ana", "boat of everybody"]
    assert texts(await passages.search("a", "boat")) == ["boat of everybody"]
    assert [one.text for one in await passages.list("a", user_id="ben")] == ["boat of ben"]


async def test_update_and_delete_are_seen_by_every_process(opened: Opened, passages: Passages) -> None:
    model = passages.archive.embeddings.model  # type: ignore[attr-defined]
    elsewhere = opened(model)
    made = await passages.insert("a", "the boat is blue", ["x"])
    assert texts(await elsewhere.search("a", "boat")) == ["the boat is blue"]
    await passages.update(made.id, text="the ship is green")
    assert texts(await elsewhere.search("a", "green ship")) == ["the ship is green"]
    await passages.update(made.id, tags=["y"])
    assert await elsewhere.search("a", "green ship", ["x"]) == []
    assert texts(await elsewhere.search("a", "green ship", ["y"])) == ["the ship is green"]
    assert (await passages.get(made.id)).tags == ("y",)
    assert await passages.delete(made.id)
    assert await elsewhere.search("a", "green ship") == []
    assert not await passages.delete(made.id)
    with pytest.raises(UnknownName):
        await passages.get(made.id)


async def test_a_new_process_has_everything_and_embeds_nothing_again(opened: Opened) -> None:
    first = opened()
    await first.insert_many("a", [f"note {number}" for number in range(700)])
    assert texts(await first.search("a", "note 321", limit=1)) == ["note 321"]
    known = embedder.load(embedder.find(MODEL))
    assert isinstance(known, MeaningEmbedder)
    before = known.embedded
    second = opened()
    assert texts(await second.search("a", "note 654", limit=1)) == ["note 654"]
    assert known.embedded == before + 1  # the query


async def test_changes_that_are_not_told_any_more(opened: Opened, each_store: Store) -> None:
    first, second = opened("none"), opened("none")
    made = await first.insert("a", "the first one")
    assert len(await second.search("a", "first")) == 1
    await first.delete(made.id)
    await first.insert_many("a", ["the second one", "the third one"])
    await each_store.read("XTRIM", each_store.keys.changes("a"), "MAXLEN", 1)
    assert await second.search("a", "first") == []
    assert len(await second.search("a", "second third")) == 2


async def test_another_model_is_refused_until_all_is_made_anew(opened: Opened, each_store: Store) -> None:
    first, second = opened(), opened("tests.meanings:other")
    await first.insert_many("a", ["the boat is blue", "the physician called"])
    await first.search("a", "ship")
    with pytest.raises(EmbeddingMismatch, match="reindex") as raised:
        await second.search("a", "ship")
    assert (raised.value.stored, raised.value.configured) == ("meanings (64)", "other (32)")
    assert await second.reindex() == 2
    assert texts(await second.search("a", "doctor", limit=1)) == ["the physician called"]
    with pytest.raises(EmbeddingMismatch):
        await first.search("a", "ship")
    assert texts(await opened("none").search("a", "boat")) == ["the boat is blue"]
    stored = await PassageStore(each_store).load([one.id for one in await first.list("a")])
    assert {one.edition for one in stored.values() if one is not None} == {2}


async def test_a_model_that_is_named_and_not_there_is_an_error(opened: Opened) -> None:
    await opened("none").insert("a", "the boat is blue")
    with pytest.raises(EmbeddingsUnavailable, match="no_such_module"):
        await opened("tests.no_such_module:make").search("a", "boat")


async def test_an_empty_archive_loads_no_model(opened: Opened) -> None:
    passages = opened("tests.no_such_module:make")
    assert await passages.search("a", "boat", user_id="ana") == []


async def test_what_was_added_without_a_model_gets_its_vector_later(opened: Opened) -> None:
    await opened("none").insert_many("a", ["the boat is blue", "tea at four"])
    assert texts(await opened().search("a", "vessel", limit=1)) == ["the boat is blue"]


async def test_searches_while_others_insert(opened: Opened) -> None:
    passages, elsewhere = opened(), opened()

    async def insert(number: int) -> None:
        await passages.insert("a", f"note {number} of the boat")
        assert len(await elsewhere.search("a", f"note {number}", limit=1)) == 1

    await asyncio.gather(*(insert(number) for number in range(40)))
    assert len(await elsewhere.search("a", "ship", limit=100)) == 40


async def test_vectors_are_made_in_the_background_where_the_model_is_loaded(opened: Opened, each_store: Store) -> None:
    passages = opened()
    await passages.insert("a", "something else")
    await passages.search("a", "load it")
    made = await passages.insert("a", "the boat is blue")

    async def stored() -> bool:
        one = (await PassageStore(each_store).load([made.id]))[made.id]
        return one is not None and one.embedding != ""

    await until("the vector is stored", stored)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"limit": 0}, "limit 0"),
        ({"cursor": "x"}, "no cursor"),
        ({"start_date": "the day before"}, "start_date 'the day before' is no date"),
        ({"end_date": "2026-02-30"}, "end_date"),
        ({"start_date": "2026-02-02", "end_date": "2026-02-01"}, "lies before"),
        ({"tags": "boat"}, "give a list"),
        ({"tags": ["\ud800"]}, "lone surrogate"),
        ({"user_id": ""}, "user_id is empty"),
        ({"user_id": "x" * 257}, "1 to 256"),
    ],
)
async def test_wrong_arguments(opened: Opened, arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        await opened("none").search("a", "boat", **arguments)  # type: ignore[arg-type]


async def test_a_cursor_belongs_to_its_search(opened: Opened) -> None:
    passages = opened("none")
    await passages.insert_many("a", ["boat one", "boat two"])
    found = await passages.search("a", "boat", limit=1)
    with pytest.raises(InputError, match="another search"):
        await passages.search("a", "tea", limit=1, cursor=found.cursor)


async def test_a_name_never_leads_to_another_users_passages(opened: Opened) -> None:
    passages = opened("none")
    await passages.insert("a", "boat of ana", user_id="ana")
    for attempt in (passages.search("a|ana", "boat"), passages.list("a|ana"), passages.clear("a|ana")):
        with pytest.raises(InputError, match="without '\\|'"):
            await attempt
    assert texts(await passages.search("a", "boat", user_id="ana")) == ["boat of ana"]


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1e12, 1e12])
async def test_times_that_are_refused(opened: Opened, at: float) -> None:
    with pytest.raises(InputError, match="created_at"):
        await opened("none").insert("a", "boat", created_at=at)


async def test_times_before_1970(opened: Opened) -> None:
    passages = opened()
    await passages.insert("a", "boat of 1969", created_at=-86_400.25)
    await passages.insert("a", "boat of 1971", created_at=40_000_000.125)
    assert texts(await passages.search("a", "boat", end_date="1969-12-31")) == ["boat of 1969"]
    assert texts(await passages.search("a", "boat", start_date="1970-01-01")) == ["boat of 1971"]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 20_001, "a \udcff"])
async def test_texts_that_are_refused(opened: Opened, text: str) -> None:
    with pytest.raises(InputError):
        await opened("none").insert("a", text)


async def test_that_there_is_no_model_is_said_at_the_start(
    each_store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestra.memory.search.archive._told", set())
    caplog.set_level("INFO", logger="orchestra")
    config = {"redis": {"url": each_store.url}, "namespace": each_store.keys.namespace, "embeddings": {"model": "none"}}
    for _ in range(2):
        async with Runtime.start(config, inline=True):
            pass
    assert [record.message for record in caplog.records if "by words only" in record.message] == [
        "no embeddings (embeddings: {model: none}): archive and recall search by words only"
    ]


@pytest.mark.parametrize(
    "cursor", ["x", "1", "1 ", " p-1", "\u00b2 p-1", "1e3 p-1", "nan p-1", "-inf p-1", "9" * 400 + " p-1"]
)
async def test_what_is_no_cursor_of_a_list(opened: Opened, cursor: str) -> None:
    passages = opened("none")
    await passages.insert("a", "tea")
    with pytest.raises(InputError, match="no cursor"):
        await passages.list("a", cursor=cursor)


@pytest.mark.parametrize("cursor", ["{}.{}.\u00b2", "{}.{}.x", "{}.{}.-1", "{}.{}." + "9" * 5000])
async def test_what_is_no_cursor_of_a_search(opened: Opened, cursor: str) -> None:
    passages = opened("none")
    await passages.insert_many("a", ["tea one", "tea two"])
    page = await passages.search("a", "tea", limit=1)
    assert page.cursor is not None
    with pytest.raises(InputError, match="no cursor"):
        await passages.search("a", "tea", limit=1, cursor=cursor.format(*page.cursor.split(".")[:2]))


async def test_passages_of_long_ago_come_in_pages(opened: Opened) -> None:
    passages = opened("none")
    for year in range(1900, 2000, 20):
        await passages.insert("a", f"of {year}", created_at=datetime(year, 1, 1, tzinfo=UTC).timestamp())
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await passages.list("a", limit=2, cursor=cursor)
        found += [one.text for one in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == ["of 1980", "of 1960", "of 1940", "of 1920", "of 1900"]
