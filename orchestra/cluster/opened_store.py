"""The store of a cluster without the cluster: for programs that only look at the data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orchestra.cluster.embedded import EmbeddedServer
from orchestra.core.cluster import ClusterConfig
from orchestra.store.connection import Store


@asynccontextmanager
async def open_store(config: ClusterConfig, *, patience: float = 3.0) -> AsyncIterator[Store]:
    """The store that ``config`` names. The embedded server is started when it does not run, and let go at the end.

    ``patience`` is how long, in seconds, a server that does not answer is tried again.

    Raises:
        EmbeddedServerError: the embedded server cannot be started.
        StoreUnavailable, StoreIncompatible: the server does not answer or cannot be used.
    """
    url, server = config.redis.url, None
    if url == "embedded":
        server = await EmbeddedServer.open(config.data_dir, durability=config.redis.durability)
        url = server.url
    try:
        store = await Store.open(url, config.namespace, patience=patience)
        try:
            yield store
        finally:
            await store.close()
    finally:
        if server is not None:
            await asyncio.to_thread(server.release)
