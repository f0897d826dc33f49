"""The server goes away and comes back: hosts, workers and turns go on, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra.core.errors import StoreUnavailable
from orchestra.memory.blocks import Blocks
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.event_store import EventFeed
from tests.hosts import Machines
from tests.servers import Server, binary
from tests.sleeping import NOTES, Sleeper, passes, primary, said


@pytest.fixture
async def mortal() -> AsyncIterator[Server]:
    """A server of this test's own that keeps its data."""
    path = binary("valkey")
    assert path is not None
    server = Server(path, appendfsync="always")
    yield server
    server.stop()


async def test_workers_and_heartbeats_outlive_a_restart(mortal: Server, namespace: str) -> None:
    store = await Store.open(mortal.url, namespace, patience=0.1)
    machines = Machines(store)
    try:
        sleeper = Sleeper()
        host = await machines.host()
        client = machines.client_of(host)
        await client.register(primary(sleeper.model, blocks=(NOTES,)))
        await machines.worker(host)
        await said(client, 1)
        mortal.process.kill()
        mortal.process.wait()
        with pytest.raises(StoreUnavailable) as raised:
            await client.run("a", "nobody hears this", session_id="s")
        assert raised.value.retryable
        with pytest.raises(StoreUnavailable):
            await host.hosts.beat(host.id)
        mortal.start()
        await said(client, 1)
        await passes(store, 1)
        assert sleeper.read == [[1, 2, 3, 4]]
        assert not any(task.done() for task in asyncio.all_tasks() if "heartbeat" in task.get_name())
    finally:
        await machines.stop()
        await store.close()


async def test_every_way_of_reading_names_the_server(mortal: Server, namespace: str) -> None:
    store = await Store.open(mortal.url, namespace, patience=0.1)
    feed = EventFeed(store)
    mortal.process.kill()
    mortal.process.wait()
    try:
        for attempt in (
            Blocks(store).list(),
            BlockStore(store).log("b"),
            feed.latest(),
            feed.wait("0-0", seconds=0.1),
            store.now(),
        ):
            with pytest.raises(StoreUnavailable) as raised:
                async with asyncio.timeout(20):
                    await attempt
            assert str(mortal.socket) in str(raised.value)
    finally:
        await feed.close()
        await store.close()
