"""Sessions, cases S1 to S25, S31, S32 and S36, for every backend and for those of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest

from orchestra.core.errors import InputError
from orchestra.memory import RedisSession, SessionSettings
from tests.conformance.session_backends import (
    ALL,
    COMPACTING,
    COUNTING,
    ENCRYPTED,
    MEMORY,
    OURS,
    PROVIDER,
    REDIS,
    REDIS_DECODING,
    REDIS_URL,
    SDK_REDIS,
    SDK_SQLITE,
    SQLITE,
    Backend,
    Place,
    keys,
)

Open = Callable[..., Any]
STORED = (REDIS, REDIS_DECODING, REDIS_URL, SQLITE, ENCRYPTED, PROVIDER, SDK_REDIS, SDK_SQLITE)


def said(*words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": word} for word in words]


def each(*backends: Backend) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("backend", backends, indirect=True, ids=[one.name for one in backends])


@each(*ALL)
async def test_s01_add_get_pop_clear(opened: Open) -> None:
    session = opened()
    assert await session.get_items() == []
    await session.add_items(said("a", "b"))
    await session.add_items(said("c"))
    assert await session.get_items() == said("a", "b", "c")
    assert await session.pop_item() == said("c")[0]
    assert await session.get_items() == said("a", "b")
    await session.clear_session()
    assert await session.get_items() == []


@each(*ALL)
async def test_s02_s03_a_limit_gives_the_newest_oldest_first(opened: Open) -> None:
    session = opened()
    await session.add_items(said("a", "b", "c"))
    assert await session.get_items(limit=2) == said("b", "c")
    assert await session.get_items(2) == said("b", "c")
    assert await session.get_items(limit=99) == said("a", "b", "c")


@each(*ALL)
async def test_s04_limit_zero_is_empty(opened: Open) -> None:
    session = opened()
    await session.add_items(said("a"))
    assert await session.get_items(limit=0) == []


@each(*ALL)
async def test_s04b_a_negative_limit_is_an_error(opened: Open) -> None:
    session = opened()
    await session.add_items(said("a"))
    with pytest.raises(ValueError, match="limit"):
        await session.get_items(limit=-1)


@each(REDIS, ENCRYPTED, PROVIDER)
async def test_s04c_limit_zero_asks_no_server(opened: Open, place: Place) -> None:
    session = opened()
    await session.add_items(said("a"))
    await place.client.config_resetstat()
    assert await session.get_items(limit=0) == []
    assert {"cmdstat_lrange", "cmdstat_evalsha"}.isdisjoint(await place.client.info("commandstats"))


@each(*ALL)
async def test_s05_s06_settings_count_when_no_limit_is_given(opened: Open) -> None:
    session = opened(session_settings={"limit": 2})
    await session.add_items(said("a", "b", "c"))
    assert await session.get_items() == said("b", "c")
    assert await session.get_items(limit=1) == said("c")
    assert await session.get_items(limit=3) == said("a", "b", "c")


@each(*ALL)
async def test_s08_settings_take_a_dict_and_refuse_unknown_keys(opened: Open) -> None:
    assert opened(session_settings={"limit": 7}).session_settings.limit == 7
    assert opened().session_settings.limit is None
    with pytest.raises((ValueError, TypeError), match="size"):
        opened(session_settings={"limit": 7, "size": 1})


def test_s08_settings_of_ones_own_and_of_others() -> None:
    class Theirs:
        limit = 3

    settings = SessionSettings(limit=9)
    assert settings.resolve(Theirs()) == SessionSettings(limit=3)
    assert settings.resolve({}) == settings.resolve(None) == settings.resolve(SessionSettings()) == settings
    assert settings.to_dict() == {"limit": 9}
    for wrong in (-1, True, "3"):
        with pytest.raises(InputError, match="limit"):
            SessionSettings(limit=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="settings"):
        RedisSession("s", url="redis://nowhere", session_settings=3)


@each(*ALL)
async def test_s09_s10_pop_to_empty_and_begin_again(opened: Open) -> None:
    session = opened()
    assert await session.pop_item() is None
    await session.add_items(said("a"))
    assert await session.pop_item() == said("a")[0]
    assert await session.pop_item() is None
    await session.add_items(said("b"))
    assert await session.get_items() == said("b")


@each(*ALL)
async def test_s11_adding_nothing_does_nothing(opened: Open, place: Place) -> None:
    session = opened()
    await session.add_items([])
    assert await session.get_items() == []
    assert [key async for key in place.client.scan_iter()] == []


@each(*ALL)
async def test_s12_every_text_comes_back_exactly(opened: Open) -> None:
    session = opened()
    items: list[dict[str, Any]] = said(
        "한국어 テスト 🦜👩‍👩‍👧 é",
        "quotes \" \\ ' and \n\t\r\x00\x7f\u2028",
        '{"role": "system", "content": [1, 2]}',
        "half of a pair: \ud83d",
        "",
    )
    items += [{"n": 12345678901234567890, "f": 0.1, "t": True, "none": None, "deep": {"a": [[], {}]}, "": "", "ü": 1}]
    await session.add_items(items)
    assert await session.get_items() == items
    assert list((await session.get_items(1))[0]) == list(items[-1])


@each(*ALL)
async def test_s13_two_ids_share_nothing(opened: Open) -> None:
    one, two = opened("one"), opened("two")
    await one.add_items(said("a"))
    await two.add_items(said("b"))
    await one.clear_session()
    assert await one.get_items() == []
    assert await two.get_items() == said("b")


@each(*STORED)
async def test_s14_two_prefixes_share_nothing(opened: Open, place: Place) -> None:
    one, two = (opened("s", key_prefix=f"{place.prefix}{end}") for end in ("", "-other"))
    await one.add_items(said("a"))
    await two.add_items(said("b"))
    await one.clear_session()
    assert await two.get_items() == said("b")


IDS = [
    "s1",
    "a:b",
    "{s1}",
    "s1}",
    "{",
    " ",
    "a b",
    "%7B",
    "{{x}}:items",
    "é漢🦜",
    "\n",
    "x" * 256,
    "*",
    "{}",
    "漢" * 256,
]


@each(*ALL)
async def test_s15_any_id_is_safe(opened: Open) -> None:
    sessions = [opened(name) for name in IDS]
    for number, session in enumerate(sessions):
        await session.add_items([{"n": number}])
    assert [await session.get_items() for session in sessions] == [[{"n": n}] for n in range(len(IDS))]


@each(*ALL)
async def test_s15b_an_id_that_looks_like_a_key_of_another(opened: Open) -> None:
    names = [
        "s1",
        *(f"s1:{end}" for end in ("messages", "counter", "items", "meta", "ops0")),
        "s1}:items",
        "s1%3Aitems",
    ]
    sessions = [opened(name) for name in names]
    for number, session in enumerate(sessions):
        await session.add_items([{"n": number}])
    assert [await session.get_items() for session in sessions] == [[{"n": n}] for n in range(len(names))]
    await sessions[0].clear_session()
    assert [await session.get_items() for session in sessions[1:]] == [[{"n": n}] for n in range(1, len(names))]


@each(REDIS)
async def test_s15c_a_prefix_with_a_colon_is_no_part_of_the_id(opened: Open, place: Place) -> None:
    one, two = opened("b:c", key_prefix=f"{place.prefix}:a"), opened("c", key_prefix=f"{place.prefix}:a:b")
    await one.add_items(said("a"))
    assert await two.get_items() == []
    for wrong in ("", "x" * 257, "\ud800"):
        with pytest.raises(InputError, match="session id"):
            opened(wrong)


@each(*ALL)
async def test_s16_parallel_batches_stand_whole(opened: Open, backend: Backend) -> None:
    shared = opened()
    own = backend in (MEMORY, COMPACTING, PROVIDER)  # one object: another would have other data, or overwrite
    writers = [shared if own else opened() for _ in range(8)]
    batches = [[{"writer": w, "n": n} for n in range(3)] for w in range(8)]
    await asyncio.gather(*(writer.add_items(batch) for writer, batch in zip(writers, batches, strict=True)))
    found = await shared.get_items()
    assert sorted((found[i : i + 3] for i in range(0, 24, 3)), key=lambda batch: batch[0]["writer"]) == batches
    assert len(found) == 24


@each(*ALL)
async def test_s18_concurrent_pops_give_each_item_once(opened: Open, backend: Backend) -> None:
    shared = opened()
    own = backend in (MEMORY, COMPACTING, PROVIDER)
    await shared.add_items([{"n": n} for n in range(30)])
    takers = [shared if own else opened() for _ in range(8)]
    found = await asyncio.gather(*(taker.pop_item() for taker in takers for _ in range(5)))
    assert sorted(item["n"] for item in found if item is not None) == list(range(30))
    assert found.count(None) == 10
    assert await shared.get_items() == []


CORRUPT = [b"{not json", b"", b"\xff\xfe{}", b'{"a": 1']


def counted(session: Any) -> int:
    return int(session.corrupt_items) + int(getattr(session, "skipped_items", 0))


# A client that decodes fails the whole answer over one entry that is no UTF-8, so the SDK's gets the others only.
@each(*ALL)
async def test_s19_s20_s21_corrupt_entries_are_skipped(opened: Open, backend: Backend, place: Place) -> None:
    session = opened("c")
    await session.add_items(said("a", "b"))
    for raw in CORRUPT:
        await backend.plant(place, "c", raw)
    await session.add_items(said("c"))
    for raw in CORRUPT:
        await backend.plant(place, "c", raw)
    assert await session.get_items() == said("a", "b", "c")
    if backend in COUNTING:
        assert counted(session) == 2 * len(CORRUPT)
    assert await session.get_items(limit=1) == said("c")
    assert await session.get_items(limit=2) == said("b", "c")
    assert await session.get_items(limit=3) == said("a", "b", "c")
    assert await session.pop_item() == said("c")[0]
    assert await session.pop_item() == said("b")[0]
    assert await session.get_items() == said("a")


@each(*ALL)
async def test_s22_a_scalar_or_null_is_corrupt(opened: Open, backend: Backend, place: Place) -> None:
    session = opened("c")
    await session.add_items(said("a"))
    for raw in (b"3", b"null", b'"text"', b"[]", b"true"):
        await backend.plant(place, "c", raw)
    assert await session.get_items() == said("a")
    assert await session.get_items(limit=1) == said("a")
    assert await session.pop_item() == said("a")[0]


@each(*ALL)
@pytest.mark.parametrize("bad", [{"x": object()}, {"x": {1, 2}}, {"x": b"bytes"}, {"x": {(1, 2): 3}}], ids=str)
async def test_s23_an_item_that_cannot_be_stored_stores_nothing_of_its_batch(opened: Open, bad: object) -> None:
    session = opened()
    await session.add_items(said("a"))
    with pytest.raises((ValueError, TypeError)):
        await session.add_items([*said("b"), bad, *said("c")])
    assert await session.get_items() == said("a")


@each(*ALL)
async def test_s23b_an_item_that_is_no_object_stores_nothing_of_its_batch(opened: Open) -> None:
    session = opened()
    with pytest.raises((ValueError, TypeError)):
        await session.add_items([*said("b"), "text"])
    assert await session.get_items() == []


@each(*OURS)
@pytest.mark.parametrize("bad", [[1], None, {"x": float("nan")}, {"x": {1: 2}}, {"x": float("inf")}], ids=str)
async def test_s23c_only_json_objects_are_items(opened: Open, bad: object) -> None:
    session = opened()
    with pytest.raises(InputError, match="item 1"):
        await session.add_items([*said("b"), bad])
    assert await session.get_items() == []


@each(REDIS, REDIS_URL, ENCRYPTED)
async def test_s24_time_to_live_is_set_with_each_write(opened: Open, place: Place) -> None:
    session, items, meta = opened("t", ttl=100), *keys(place, "t")[:2]
    writes = (
        lambda: session.add_items(said("a", "b", "c")),
        session.pop_item,
        lambda: session.set_items(said("d", "e")),
    )
    for write in writes:
        await place.client.persist(items)
        await place.client.persist(meta)
        await write()
        assert [99 <= await place.client.ttl(key) <= 100 for key in (items, meta)] == [True, True]
    await opened("t").add_items(said("f"))
    assert await place.client.ttl(items) > 0, "a writer without a time to live takes none away"


@each(MEMORY, SQLITE)
async def test_s24b_time_to_live_ends_a_session_and_writes_refresh_it(opened: Open, place: Place) -> None:
    session = opened("t", ttl=100)
    await session.add_items(said("a"))
    place.clock.now += 99
    await session.add_items(said("b"))
    place.clock.now += 99
    assert await session.get_items() == said("a", "b")
    place.clock.now += 1
    assert await session.get_items() == []
    assert await session.pop_item() is None
    assert await session.times() is None
    await session.add_items(said("c"))
    assert await session.get_items() == said("c")


@each(*(one for one in COUNTING))
@pytest.mark.parametrize("ttl", [0, -1, 2**63, float("nan"), float("inf")])
async def test_s25_a_time_to_live_out_of_range_is_refused_before_writing(
    opened: Open, place: Place, ttl: float
) -> None:
    with pytest.raises(InputError, match="ttl"):
        await opened("t", ttl=ttl).add_items(said("a"))
    assert [key async for key in place.client.scan_iter()] == []


@each(*COUNTING)
async def test_s31_created_stays_and_updated_moves(opened: Open, place: Place) -> None:
    session = opened()
    assert await session.times() is None
    await session.add_items(said("a"))
    first = await session.times()
    assert first.created_at == first.updated_at
    moved = first
    many = said(*"bc" * 500)  # a pop of nothing is no write
    for write in (lambda: session.add_items(many), session.pop_item, lambda: session.set_items(said("d"))):
        before = moved
        while moved.updated_at == before.updated_at:  # the server's clock has milliseconds
            place.clock.now += 1
            await write()
            moved = await session.times()
        assert moved.created_at == first.created_at
        assert moved.updated_at > before.updated_at
    await session.clear_session()
    assert await session.times() is None


@each(*ALL)
async def test_s32_mutating_what_went_in_or_came_out_changes_nothing(opened: Open) -> None:
    session = opened()
    item: dict[str, Any] = {"role": "user", "content": [{"text": "a"}]}
    kept = copy.deepcopy(item)
    await session.add_items([item])
    item["content"][0]["text"] = "changed"
    (found,) = await session.get_items()
    assert found == kept
    found["content"].append("changed")
    assert await session.get_items() == [kept]


@each(*ALL)
async def test_s36_a_call_and_its_output_in_one_batch(opened: Open, backend: Backend) -> None:
    shared = opened()
    own = backend in (MEMORY, COMPACTING, PROVIDER)

    async def turn(number: int) -> None:
        name = f"call-{number}"
        call = {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": name, "output": "done"}
        await (shared if own else opened()).add_items([call, output])

    await asyncio.gather(*(turn(number) for number in range(10)))
    found = [item["call_id"] for item in await shared.get_items()]
    assert found[::2] == found[1::2]
    assert len(set(found)) == 10
