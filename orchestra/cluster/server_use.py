"""A process's use of the server that a cluster's configuration names: the embedded one is held and looked after."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from orchestra.cluster.embedded import EmbeddedServer
from orchestra.core.cluster import RedisConfig
from orchestra.core.errors import OrchestraError

WATCH_SECONDS = 1.0


async def use_server(redis: RedisConfig, data_dir: Path, stack: AsyncExitStack) -> str:
    """The server's URL, usable until ``stack`` is closed. The embedded server is started when it does not run.

    Each process holds it by itself, so it lives as long as any of them does. Raises :class:`EmbeddedServerError`.
    """
    if redis.url != "embedded":
        return redis.url
    server = await EmbeddedServer.open(data_dir, durability=redis.durability)
    stack.push_async_callback(asyncio.to_thread, server.release)
    task = asyncio.create_task(_watch(server), name="embedded server")

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)
    return server.url


async def _watch(server: EmbeddedServer) -> None:
    """Start the supervisor again when somebody killed it; the store's own retries bridge the gap."""
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            await asyncio.to_thread(server.ensure)
        except OrchestraError:
            continue
