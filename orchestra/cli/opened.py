"""Commands that only need the store: open it, call one coroutine, close it. Ray is not started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from orchestra.cli.loop import run_async
from orchestra.cli.places import cluster_of
from orchestra.cluster.opened_store import open_store
from orchestra.store.connection import Store

T = TypeVar("T")


def with_store(cluster: Path | None, work: Callable[[Store], Awaitable[T]]) -> T:
    """What ``work`` gives with the store of the cluster. Errors as in :func:`open_store`."""
    config = cluster_of(cluster)

    async def command() -> T:
        async with open_store(config) as store:
            return await work(store)

    return run_async(command())
