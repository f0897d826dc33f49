"""What sessions can do beyond the protocol, cases S42 and S43: replacing, compaction, encryption."""

from __future__ import annotations

from typing import Any

import pytest

from orchestra.core.errors import InputError
from orchestra.memory import CompactionSession, EncryptedSession, RedisSession
from tests.conformance.session_backends import (
    COMPACTING,
    COUNTING,
    ENCRYPTED,
    KEY,
    MEMORY,
    REDIS,
    SQLITE,
    Backend,
    Place,
    keys,
)
from tests.conformance.test_sessions import Open, each, said


@each(*COUNTING)
async def test_s42_a_failed_replacement_leaves_the_old_history(opened: Open) -> None:
    session = opened()
    await session.add_items(said("a", "b"))
    with pytest.raises(InputError):
        await session.set_items([*said("x"), {"bad": object()}])

    async def fails(items: object) -> list[Any]:
        raise ConnectionError("the model is away")

    for summarize, error in ((fails, ConnectionError), (lambda items: ["no object"], InputError)):
        with pytest.raises(error):
            await CompactionSession(session, lambda items: True, summarize).run_compaction()
    assert await session.get_items() == said("a", "b")
    await session.set_items(said("x"))
    assert await session.get_items() == said("x")
    await session.set_items([])
    assert await session.get_items() == []


@each(*COUNTING)
async def test_s43_what_is_appended_during_compaction_stays(opened: Open, backend: Backend) -> None:
    session = opened()
    other = session if backend in (MEMORY, COMPACTING) else opened()
    await session.add_items(said("a", "b", "c"))
    seen: list[Any] = []

    async def summarize(items: Any) -> list[Any]:
        seen.extend(items)
        await other.add_items(said("d"))
        return said("abc")

    compacting = CompactionSession(session, lambda items: len(items) >= 3, summarize)
    assert await compacting.run_compaction()
    assert seen == said("a", "b", "c")
    assert await session.get_items() == said("abc", "d")
    assert not await compacting.run_compaction()  # two items: not yet
    assert await compacting.run_compaction({"force": True})
    assert await session.get_items() == said("abc", "d")  # "abc" and "d" became "abc", then "d" came again


@each(*COUNTING)
@pytest.mark.parametrize("how", ["pop", "clear and refill", "another compaction"])
async def test_s43b_a_history_that_moved_is_not_replaced(opened: Open, backend: Backend, how: str) -> None:
    session = opened()
    other = session if backend in (MEMORY, COMPACTING) else opened()
    await session.add_items(said("a", "b", "c"))

    async def summarize(items: Any) -> list[Any]:
        if how == "pop":
            await other.pop_item()
            await other.add_items(said("c2"))
        elif how == "clear and refill":
            await other.clear_session()
            await other.add_items(said("x", "y", "z"))
        else:
            await other.set_items(said("theirs", "and", "more"))
        return said("mine")

    assert not await CompactionSession(session, lambda items: True, summarize).run_compaction(force=True)
    assert said("mine")[0] not in await session.get_items()
    assert len(await session.get_items()) == 3


@each(REDIS)
async def test_s43c_a_call_that_waits_for_its_result_is_not_summarised_away(opened: Open) -> None:
    session = opened()
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    await session.add_items([*said("a"), call, *said("b")])
    compacting = CompactionSession(session, lambda items: True, lambda items: said("summary"))
    assert await compacting.run_compaction()
    assert await session.get_items() == [*said("summary"), call, *said("b")]


@each(ENCRYPTED)
async def test_what_cannot_be_opened_is_skipped_and_counted(opened: Open, place: Place) -> None:
    session, plain = opened("e"), RedisSession("e", redis_client=place.client, key_prefix=place.prefix)
    await session.add_items(said("secret"))
    assert b"secret" not in b"".join(await place.client.lrange(keys(place, "e")[0], 0, -1))  # type: ignore[misc]
    (sealed,) = await plain.get_items()
    other = EncryptedSession(RedisSession("f", redis_client=place.client, key_prefix=place.prefix), KEY)
    await other.add_items(said("moved"))
    moved = await RedisSession("f", redis_client=place.client, key_prefix=place.prefix).get_items()
    data = sealed["data"]
    changed = {**sealed, "data": data[:-6] + ("A" if data[-6] != "A" else "B") + data[-5:]}
    await plain.add_items([changed, {**sealed, "at": sealed["at"] + 1}, {**sealed, "data": 3}, *moved, *said("plain")])
    assert await session.get_items(limit=1) == said("secret")
    assert session.skipped_items == 5
    assert await EncryptedSession(plain, b"another key, long enough").get_items() == []
    assert await session.pop_item() == said("secret")[0]
    assert await plain.get_items() == []
    with pytest.raises(InputError, match="key"):
        EncryptedSession(plain, "short")


@each(MEMORY, SQLITE)
async def test_expired_items_of_an_encrypted_session_are_skipped(opened: Open, place: Place) -> None:
    session = EncryptedSession(opened(), KEY, 60, clock=place.clock)
    await session.add_items(said("old"))
    place.clock.now += 50
    await session.add_items(said("new"))
    place.clock.now += 11
    assert await session.get_items() == await session.get_items(limit=2) == said("new")
    assert session.skipped_items == 2
    assert await session.pop_item() == said("new")[0]
    assert await session.pop_item() is None
