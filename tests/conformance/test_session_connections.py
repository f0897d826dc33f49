"""Sessions and what they stand on, cases S17, S26 to S30 and S33: processes, clients, loops, lost and late answers."""

from __future__ import annotations

import asyncio
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from orchestra.core.errors import InputError, SessionClosed, StoreUnavailable
from orchestra.memory import InMemorySession, RedisSession, SQLiteSession
from orchestra.store.session_clients import SessionClients
from orchestra.store.session_store import SessionStore
from tests.conformance.session_backends import ALL, ENCRYPTED, MEMORY, REDIS, REDIS_URL, SDK_REDIS, SQLITE, Place, keys
from tests.conformance.test_sessions import Open, each, said
from tests.integration.store.cluster import Cluster
from tests.servers import Server, binary

PROCESSES = 4
NO_RETRY = {"retry": Retry(NoBackoff(), 0), "retry_on_error": []}


@pytest.fixture
def own_server() -> Iterator[Server]:
    path = binary("valkey")
    assert path is not None
    made = Server(path)
    yield made
    made.stop()


async def write_in_processes(*arguments: str) -> None:
    command = (sys.executable, "-m", "tests.conformance.session_writing", *arguments)
    started = [await asyncio.create_subprocess_exec(*command, str(number)) for number in range(PROCESSES)]
    assert [await process.wait() for process in started] == [0] * PROCESSES


def whole(found: list[Any]) -> None:
    """Every batch is there once, and in one piece."""
    names = [item["from"] for item in found]
    assert names[::2] == names[1::2]
    assert [item["n"] for item in found] == [0, 1] * (len(found) // 2)
    wanted = {f"{process}.{name}.{batch}" for process in range(PROCESSES) for name in range(16) for batch in range(4)}
    assert set(names) == wanted
    assert len(found) == 2 * len(wanted)


async def test_s17_many_processes_one_command_an_append(any_server: Server) -> None:
    client, prefix = Redis.from_url(any_server.url), f"conformance:{uuid.uuid4().hex[:8]}"
    await client.config_resetstat()
    await write_in_processes("redis", any_server.url, prefix, "s")
    stats = await client.info("commandstats")
    # The first writers of each process may find the script not loaded yet, and send it once.
    loading = stats.get("cmdstat_eval", {"calls": 0})["calls"]
    assert stats["cmdstat_evalsha"]["calls"] == PROCESSES * 16 * 4
    assert loading <= PROCESSES * 16
    whole(await RedisSession("s", redis_client=client, key_prefix=prefix).get_items())
    await client.flushdb()
    await client.aclose()


async def test_s17_many_processes_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await write_in_processes("sqlite", str(path), "", "s")
    async with SQLiteSession("s", path) as session:
        whole(await session.get_items())


async def test_s17_commands_do_not_grow_with_writers(place: Place) -> None:
    sessions = [RedisSession("s", redis_client=place.client, key_prefix=place.prefix) for _ in range(64)]
    await sessions[0].add_items(said("the script is loaded"))
    await place.client.config_resetstat()
    await asyncio.gather(*(session.add_items(said("a", "b")) for session in sessions))
    stats = await place.client.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 64
    assert "cmdstat_eval" not in stats
    assert len(await sessions[0].get_items()) == 129


@pytest.mark.parametrize("decoding", [False, True])
@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("pool", [ConnectionPool, BlockingConnectionPool])
async def test_s26_clients_that_decode_or_not(place: Place, decoding: bool, protocol: int, pool: Any) -> None:
    made = pool.from_url(place.url, decode_responses=decoding, protocol=protocol, max_connections=2)
    client = Redis(connection_pool=made)
    session = RedisSession("s", redis_client=client, key_prefix=place.prefix)
    await session.add_items(said("é", "b"))
    await place.client.rpush(keys(place, "s")[0], b"\xff")  # type: ignore[misc]
    assert await session.get_items() == said("é", "b")
    assert await session.pop_item() == said("b")[0]
    assert (await session.snapshot()).items == tuple(said("é"))
    assert await session.times() is not None
    assert await session.ping()
    # A small pool keeps none of its connections for the session.
    assert await client.ping()
    assert await client.ping()
    await client.aclose()
    await made.disconnect()


@each(REDIS, SDK_REDIS)
async def test_s27_an_injected_client_survives_close(opened: Open, place: Place) -> None:
    session = opened()
    await session.add_items(said("a"))
    await session.close()
    await session.close()
    assert await place.client.ping()
    assert await session.get_items() == said("a"), "it was not ours to close"
    in_use = place.client.connection_pool._in_use_connections
    if isinstance(session, RedisSession):
        await session.close()
        assert len(in_use) == 0, "and has all its connections back"


@each(REDIS_URL, SQLITE, MEMORY)
async def test_s28_after_closing_operations_raise_and_closing_again_is_fine(opened: Open) -> None:
    session = opened()
    await session.add_items(said("a"))
    await session.close()
    await session.close()
    calls: list[Callable[[], Awaitable[object]]] = [
        session.get_items,
        lambda: session.get_items(0),
        lambda: session.add_items(said("b")),
        lambda: session.add_items([]),
        session.pop_item,
        session.clear_session,
        session.snapshot,
        lambda: session.set_items([]),
        session.times,
        session.ping,
    ]
    for call in calls:
        with pytest.raises(SessionClosed, match="'s' is closed"):
            await call()


async def test_s29_ping_is_false_when_the_server_is_down(own_server: Server) -> None:
    session = RedisSession.from_url("s", url=own_server.url, redis_kwargs=NO_RETRY)
    assert await session.ping() is True
    await session.add_items(said("a"))
    own_server.process.kill()
    own_server.process.wait()
    assert await session.ping() is False
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await session.add_items(said("b"))
    own_server.start()
    assert await session.ping() is True
    await session.add_items(said("c"))
    assert await session.get_items() == said("c"), "this server keeps nothing, and the connection came back"
    await session.close()


async def test_s29_other_storages_answer(tmp_path: Path) -> None:
    assert await InMemorySession("s").ping()
    async with SQLiteSession("s", tmp_path / "s.db") as session:
        assert await session.ping()
    async with SQLiteSession("s", tmp_path / "no folder" / "s.db") as session:
        assert not await session.ping()
        with pytest.raises(StoreUnavailable, match="no folder"):
            await session.get_items()


async def test_s29_neither_or_both_of_client_and_url_is_refused(place: Place) -> None:
    for options in ({}, {"url": place.url, "redis_client": place.client}):
        with pytest.raises(InputError, match="one of the two"):
            RedisSession("s", **options)  # type: ignore[arg-type]


async def committed(task: asyncio.Task[Any], length: int, key: bytes, url: str) -> None:
    """Run ``task`` until the server has done its command, and stop before it reads the answer."""
    watching = redis.Redis.from_url(url)
    try:
        for _ in range(100):
            await asyncio.sleep(0)
            for _ in range(20):
                if watching.llen(key) == length:
                    assert not task.done()
                    return
        raise AssertionError("the command was never done")
    finally:
        watching.close()


@each(REDIS, REDIS_URL, ENCRYPTED)
async def test_s30_cancelled_after_the_commit_there_is_no_second_write(opened: Open, place: Place) -> None:
    session, key = opened(), keys(place, "s")[0]
    await session.add_items(said("a"))
    adding = asyncio.create_task(session.add_items(said("b", "c")))
    await committed(adding, 3, key, place.url)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert await session.get_items() == said("a", "b", "c")
    popping = asyncio.create_task(session.pop_item())
    await committed(popping, 2, key, place.url)
    popping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await popping
    assert await session.get_items() == said("a", "b")


@each(*ALL)
async def test_s30_whenever_it_is_cancelled_the_outcome_is_all_or_nothing(opened: Open) -> None:
    session, wanted = opened(), []
    await session.add_items(said("first"))
    for steps in range(12):
        task = asyncio.create_task(session.add_items([{"n": steps}, {"n": steps}]))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        found = [item["n"] for item in await session.get_items() if "n" in item]
        assert found in (wanted, [*wanted, steps, steps])
        wanted = found
        assert [item.get("n") for item in await session.get_items()] == [None, *wanted], "and it stays so"


@pytest.mark.parametrize("name", ["append", "pop", "clear", "assign", "splice"])
async def test_s30_an_operation_that_comes_again_counts_once(place: Place, name: str) -> None:
    """What a client does after a lost answer."""
    store = SessionStore(SessionClients(client=place.client), "s", key_prefix=place.prefix)
    await store.append([b'{"n":1}', b'{"n":2}', b'{"n":3}'], "before")
    generation, _ = await store.snapshot()
    operation: dict[str, Callable[[], Awaitable[object]]] = {
        "append": lambda: store.append([b'{"n":4}'], "again"),
        "pop": lambda: store.pop("again"),
        "clear": lambda: store.clear("again"),
        "assign": lambda: store.assign([b'{"n":5}'], "again"),
        "splice": lambda: store.splice(generation, 2, [b'{"n":6}'], "again"),
    }
    first = await operation[name]()
    after = await store.tail(None)
    await store.append([b'{"n":7}'], "between")
    assert await operation[name]() == first
    assert await store.tail(None) == [*after, b'{"n":7}']


async def test_s30_a_cleared_session_keeps_no_words(place: Place) -> None:
    session = RedisSession("s", redis_client=place.client, key_prefix=place.prefix)
    await session.add_items(said("secret", "secret too"))
    await session.pop_item()
    await session.clear_session()
    left = {key async for key in place.client.scan_iter()}
    assert left <= set(keys(place, "s")[2:])
    assert b"secret" not in b"".join([await place.client.dump(key) for key in left])


class Elsewhere:
    """An event loop in a thread of its own."""

    def __enter__(self) -> Elsewhere:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        return self

    async def do(self, work: Any) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def __exit__(self, *error: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@each(REDIS, REDIS_URL, MEMORY, SQLITE, ENCRYPTED)
async def test_s33_two_event_loops_at_once(opened: Open) -> None:
    session = opened()
    with Elsewhere() as elsewhere:

        async def write(where: str) -> None:
            for n in range(20):
                await session.add_items([{"from": where, "n": n}])

        await asyncio.gather(write("here"), elsewhere.do(write("there")))
        found = await elsewhere.do(session.get_items())
        assert [item["n"] for item in found if item["from"] == "here"] == list(range(20))
        assert [item["n"] for item in found if item["from"] == "there"] == list(range(20))
        assert await session.get_items() == found
        await session.close()


async def test_s33_a_client_made_outside_any_loop(place: Place) -> None:
    made: list[RedisSession] = []

    def outside() -> None:
        made.append(RedisSession("s", redis_client=place.client, key_prefix=place.prefix))

    thread = threading.Thread(target=outside)
    thread.start()
    thread.join()
    await made[0].add_items(said("a"))
    assert await made[0].get_items() == said("a")


async def test_a_cluster_of_three_masters() -> None:
    path = binary("valkey")
    assert path is not None
    cluster = Cluster(path)
    client = RedisCluster(host="127.0.0.1", port=cluster.ports[0])
    try:
        for number in range(6):
            session = RedisSession(f"s{number}", redis_client=client, ttl=60)
            await session.add_items(said("a", "b"))
            await session.add_items(said("c"))
            assert await session.pop_item() == said("c")[0]
            snapshot = await session.snapshot()
            assert await session.replace_items(snapshot, 1, said("x"))
            assert await session.get_items() == said("x", "b")
            assert await session.get_items(1) == said("b")
            await session.set_items(said("y"))
            await session.clear_session()
            assert await session.get_items() == []
            assert await session.ping()
    finally:
        await client.aclose()
        cluster.stop()
