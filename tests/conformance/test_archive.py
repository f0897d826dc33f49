"""The archive and recall, cases B21 to B24 and B26 of the conformance list; by meaning in both indexes, by words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest

from orchestra.core.errors import InputError
from orchestra.core.passages import Page, PassageHit
from orchestra.memory.passages import Passages
from orchestra.memory.recall import ConversationSearch
from orchestra.memory.search.archive import LocalArchive
from orchestra.memory.sessions import Session
from orchestra.store.connection import Store
from tests.indexes import index_or_skip


@pytest.fixture(params=["scan", "vectorset", "words"])
async def archive(request: pytest.FixtureRequest, each_store: Store) -> AsyncIterator[LocalArchive]:
    if request.param == "words":
        made = LocalArchive(each_store, "none")
    else:
        made = LocalArchive(each_store, "tests.meanings:make", index=await index_or_skip(each_store, request.param))
    yield made
    await made.close()


@pytest.fixture
def passages(each_store: Store, archive: LocalArchive) -> Passages:
    return Passages(each_store, archive)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


async def test_b21_tags(passages: Passages) -> None:
    async def found(tags: list[str], mode: str = "any") -> list[str]:
        hits = await passages.search("a", "boat", tags, tag_match_mode=mode)  # type: ignore[arg-type]
        return sorted(hit.passage.text for hit in hits)

    both = await passages.insert("a", "boat both", ["red", "big", "red", " big "])
    await passages.insert("a", "boat red", ["red"])
    await passages.insert("a", "boat reddish", ["reddish"])
    assert both.tags == ("red", "big")
    assert await found(["red", "big"]) == ["boat both", "boat red"]
    assert await found(["red", "big"], "all") == ["boat both"]
    assert await found(["red", "red"], "all") == ["boat both", "boat red"]
    assert await found(["Red"]) == []
    assert await found(["re"]) == []
    assert await found([]) == ["boat both", "boat red", "boat reddish"]
    odd = ['"', "\\", "a' or .at > 0 or 'b", '"] }', "배", "é"]
    await passages.insert("a", "boat odd", odd)
    assert await found(odd, "all") == ["boat odd"]
    for tag in odd:
        assert await found([tag]) == ["boat odd"]
    assert await found(["\\\\"]) == []
    assert (await passages.update(both.id, tags=[])).tags == ()
    assert await found(["red"]) == ["boat red"]


async def test_b22_tags_come_before_the_limit(passages: Passages) -> None:
    await passages.insert_many("a", [f"the boat is blue {number}" for number in range(27)])
    far = await passages.insert_many(
        "a", [f"a meal of rice without any boat {number}" for number in range(3)], ["food"]
    )
    found = await passages.search("a", "the boat is blue", ["food"], limit=3)
    assert {hit.passage.id for hit in found} == {one.id for one in far}


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
async def test_b23_a_blank_query_finds_nothing(passages: Passages, query: str) -> None:
    await passages.insert("a", "the boat is blue", ["x"])
    assert await passages.search("a", query) == []
    assert await passages.search("a", query, ["x"]) == []


async def test_b23_an_end_date_without_a_time_includes_the_day(passages: Passages) -> None:
    for day in ("2026-03-30T23:59:59", "2026-03-31T00:00:00", "2026-03-31T23:59:59", "2026-04-01T00:00:00"):
        await passages.insert("a", f"boat {day}", created_at=at(day))

    async def found(**dates: str) -> list[str]:
        return sorted(hit.passage.text[13:] for hit in await passages.search("a", "boat", **dates))  # type: ignore[arg-type]

    assert await found(end_date="2026-03-31") == ["30T23:59:59", "31T00:00:00", "31T23:59:59"]
    assert await found(start_date="2026-03-31", end_date="2026-03-31") == ["31T00:00:00", "31T23:59:59"]
    assert await found(start_date="2026-03-31T12:00:00") == ["01T00:00:00", "31T23:59:59"]
    assert await found(end_date="2026-03-31T00:00:00") == ["30T23:59:59", "31T00:00:00"]
    assert await found(start_date="2026-03-31T01:00:00+01:00", end_date="2026-03-31T00:00:00Z") == ["31T00:00:00"]


async def test_b23_results_satisfy_the_tag_mode(passages: Passages) -> None:
    tags = (["x"], ["y"], ["x", "y"], ["z"], [])
    for number in range(60):
        await passages.insert("a", f"boat {number}", tags[number % 5])
    for mode, fits in (("any", {"x", "y"}.intersection), ("all", {"x", "y"}.issubset)):
        found = await passages.search("a", "boat", ["x", "y"], 100, tag_match_mode=mode)  # type: ignore[arg-type]
        assert all(fits(hit.passage.tags) for hit in found)
        assert len(found) == (36 if mode == "any" else 12)


async def test_b24_recall_honours_dates(each_store: Store, archive: LocalArchive) -> None:
    days = ("2026-03-30T10:00:00", "2026-03-31T00:00:00", "2026-03-31T23:59:59", "2026-04-01T00:00:00")
    items = [{"role": "user", "content": f"boat {day}", "meta": {"created_at": at(day)}} for day in days]
    await Session(each_store, "s", "a").add_items(items)
    where = ConversationSearch(archive, "a", session_id="s")

    async def found(**dates: str) -> list[str]:
        return sorted(one.text[13:] for one in await where.search("boat", **dates))  # type: ignore[arg-type]

    assert await found(start_date="2026-03-31", end_date="2026-03-31") == ["31T00:00:00", "31T23:59:59"]
    assert await found(end_date="2026-03-30") == ["30T10:00:00"]
    assert await found(start_date="2026-04-01") == ["01T00:00:00"]
    assert len(await found()) == 4
    with pytest.raises(InputError):
        await found(end_date="31.3.2026")


async def pages(search: Callable[[str | None], Awaitable[Page[PassageHit]]]) -> list[list[str]]:
    out, cursor = [], None
    while True:
        page = await search(cursor)
        out.append([hit.passage.id for hit in page])
        cursor = page.cursor
        if cursor is None:
            return out


async def test_b26_pages_give_each_passage_once(passages: Passages) -> None:
    made = [await passages.insert("a", f"boat {number}", user_id="ana" if number % 2 else None) for number in range(25)]

    async def next_page(cursor: str | None) -> Page[PassageHit]:
        found = await passages.search("a", "boat", limit=10, user_id="ana", cursor=cursor)
        await passages.insert("a", "boat boat boat")  # what is added meanwhile moves nothing
        return found

    found = await pages(next_page)
    assert [len(page) for page in found] == [10, 10, 5]
    assert sorted(one for page in found for one in page) == sorted(one.id for one in made)


async def test_b26_the_list_gives_each_passage_once(passages: Passages) -> None:
    made = await passages.insert_many("a", [f"boat {number}" for number in range(25)])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await passages.list("a", limit=10, cursor=cursor)
        seen += [one.id for one in page]
        if page.cursor is None:
            break
        cursor = page.cursor
        await passages.delete(page[-1].id)
    assert sorted(seen) == sorted(one.id for one in made)
