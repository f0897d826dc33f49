"""Servers that refuse, or say nothing: typed errors in time, and what runs in the background goes on afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from orchestra import Agent
from orchestra.core.errors import StoreUnavailable
from orchestra.runtime.host import Host
from orchestra.store.connection import Store
from orchestra.store.event_store import EventFeed
from orchestra.testing import ScriptedModel, reply
from tests.hosts import Machines
from tests.servers import Server, binary
from tests.waiting import until


@pytest.fixture
async def own_server() -> AsyncIterator[Server]:
    """A server of this test's own."""
    path = binary("valkey")
    assert path is not None
    server = Server(path)
    yield server
    server.stop()


async def test_a_full_server_is_unavailable_and_hosts_outlive_it(own_server: Server, namespace: str) -> None:
    store = await Store.open(own_server.url, namespace, patience=0.1)
    machines = Machines(store)
    host = Host(store, "primary-0", functions=machines.functions, beat_seconds=0.05)
    await host.start()
    machines.hosts.append(host)
    try:
        client = machines.client_of(host)
        await client.register(Agent(name="a", model=ScriptedModel([reply("fine")])))
        first = host.id
        await store.read("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreUnavailable, match="memory") as raised:
            await client.run("a", "hello", session_id="s")
        assert raised.value.retryable
        # Long enough for the heartbeat to end: the host is declared dead, and must come back.
        await until("the host's heartbeat ends", lambda: _dead(host))
        await store.read("CONFIG", "SET", "maxmemory", "0")
        await until("the host is alive again", lambda: _alive(host))
        assert host.id != first
        assert (await client.run("a", "hello", session_id="s")).output == "fine"
    finally:
        await machines.stop()
        await store.close()


async def _alive(host: Host) -> bool:
    return host.id in await host.hosts.alive()


async def _dead(host: Host) -> bool:
    return not await _alive(host)


async def test_a_frozen_server_is_given_up_in_time(own_server: Server, namespace: str) -> None:
    store = await Store.open(own_server.url, namespace, patience=0.2, answer_seconds=0.3)
    feed = EventFeed(store)
    await feed.latest()
    os.kill(own_server.process.pid, signal.SIGSTOP)
    try:
        for attempt in (store.now(), feed.wait("0-0", seconds=0.1), feed.latest()):
            started = time.monotonic()
            with pytest.raises(StoreUnavailable):
                async with asyncio.timeout(20):
                    await attempt
            assert time.monotonic() - started < 5
    finally:
        os.kill(own_server.process.pid, signal.SIGCONT)
        assert await store.now() > 0
        assert await feed.wait("0-0", seconds=0.01) == []
        await feed.close()
        await store.close()
