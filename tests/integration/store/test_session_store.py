"""The scripts of sessions on every kind of server, and the ways of a command that fails."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from redis import exceptions
from redis.asyncio import Redis

from orchestra.core.errors import InputError
from orchestra.store.session_clients import SessionClients
from orchestra.store.session_line import Line, line_of
from orchestra.store.session_store import SessionStore, session_keys
from tests.servers import Server


@pytest.fixture
async def client(any_server: Server) -> AsyncIterator[Redis]:
    made = Redis.from_url(any_server.url)
    yield made
    await made.flushdb()
    await made.aclose()


@pytest.fixture
def store(client: Redis) -> SessionStore:
    return SessionStore(SessionClients(client=client), "s", key_prefix="test", ttl=60)


async def test_every_script(store: SessionStore, client: Redis) -> None:
    assert await store.times() is None
    assert await store.pop("0") is None
    assert [key async for key in client.scan_iter()] == [], "a pop of nothing keeps nothing"
    await store.append([b"1", b"2"], "1")
    generation, entries = await store.snapshot()
    assert (generation, entries) == ("1", [b"1", b"2"])
    await store.append([b"3"], "2")
    assert await store.splice(generation, 2, [b"x", b"y"], "3")
    assert not await store.splice(generation, 1, [b"z"], "4")
    assert not await store.splice("3", 99, [b"z"], "5")
    assert await store.tail(None) == [b"x", b"y", b"3"]
    assert await store.tail(2) == [b"y", b"3"]
    assert await store.pop("6") == b"3"
    await store.assign([b"n"] * 2500, "7")
    assert await store.tail(None) == [b"n"] * 2500
    items, meta, *operations = session_keys("test", "s")
    assert await client.hget(meta, "schema") == b"1"  # type: ignore[misc]
    assert 0 < await client.pttl(items) <= 60_000
    assert 0 < await client.pttl(meta) <= 60_000
    lives = [await client.pttl(key) for key in operations if await client.exists(key)]
    assert lives
    assert all(0 < life <= 600_000 for life in lives)
    await store.clear("8")
    assert await store.times() is None
    assert await store.tail(None) == []


async def test_operations_are_remembered_across_the_two_hashes(store: SessionStore, client: Redis) -> None:
    """As when five minutes end between a write and its retry: the id stands in the hash whose turn it is not."""
    await store.append([b"1"], "first")
    zero, one = session_keys("test", "s")[2:]
    await client.rename(*((zero, one) if await client.exists(zero) else (one, zero)))
    await store.append([b"1"], "first")
    await store.append([b"2"], "second")
    assert await store.tail(None) == [b"1", b"2"]


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_written_twice(
    store: SessionStore, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.append([b"1"], "before")
    send = Line.send

    async def losing(line: Line, asked: Redis, command: tuple[str | int | bytes, ...]) -> object:
        await send(line, asked, command)
        raise exceptions.TimeoutError("the answer came too late")

    monkeypatch.setattr(Line, "send", losing)
    await store.append([b"2"], uuid.uuid4().hex)
    assert await store.pop(uuid.uuid4().hex) == b"2"
    await store.append([b"3"], uuid.uuid4().hex)
    monkeypatch.undo()
    assert await store.tail(None) == [b"1", b"3"]


async def test_a_connection_that_the_server_closed_is_made_anew(any_server: Server, store: SessionStore) -> None:
    await store.append([b"1"], "1")
    async with Redis.from_url(any_server.url) as other:
        await other.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")  # type: ignore[no-untyped-call]
    await store.append([b"2"], "2")
    assert await store.tail(None) == [b"1", b"2"]


async def test_sessions_of_one_client_keep_one_connection(client: Redis) -> None:
    stores = [SessionStore(SessionClients(client=client), f"s{n}", key_prefix="test") for n in range(20)]
    await asyncio.gather(*(store.append([b"1"], "1") for store in stores))
    for store in stores:
        await store.append([b"2"], "2")
    assert len(client.connection_pool._in_use_connections) == 1
    line = line_of(client)
    assert line is not None
    await line.release()
    assert len(client.connection_pool._in_use_connections) == 0


async def test_another_kind_of_client_belongs_to_one_loop(client: Redis) -> None:
    class Own(Redis):
        """A client of somebody's own."""

    own = Own(connection_pool=client.connection_pool)
    store = SessionStore(SessionClients(client=own), "s", key_prefix="test")
    await store.append([b"1"], "1")
    assert await store.tail(None) == [b"1"]


def test_keys_of_one_session_share_a_hash_tag_and_no_two_sessions_do() -> None:
    names = ["s1", "s1:items", "{s1}", "s1}", "%7Bs1%7D", "%", "%25", "a:b", "a%3Ab", "\n", "\\n", "é", "é".upper()]
    pairs = [(prefix, name) for prefix in ("p", "p:a", "p:", "{p}", "p%7D") for name in names]
    tags = set()
    for prefix, name in pairs:
        keys = session_keys(prefix, name)
        tag = keys[0][: keys[0].index(b"}") + 1]
        assert all(key.startswith(tag) and key.count(b"{") == 1 for key in keys)
        tags.add(tag)
    assert len(tags) == len(pairs)
    for wrong in ("", "x" * 257, "\ud800"):
        with pytest.raises(InputError, match="session id"):
            session_keys("p", wrong)
