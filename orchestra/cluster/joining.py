"""A program joins its cluster: the one that ``up`` started, or hosts of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from orchestra.cluster.function_bundle import FunctionBundle
from orchestra.cluster.host_actors import Actor, make, started
from orchestra.cluster.host_handle import HostHandle
from orchestra.cluster.host_settings import HostSettings, settings_for
from orchestra.cluster.ray_connection import RayConnection
from orchestra.cluster.ray_dispatch import RayDispatcher
from orchestra.core.cluster import ClusterConfig
from orchestra.runtime.function_ref import FunctionTable
from orchestra.store.connection import Store
from orchestra.store.host_store import HostStore

STOP_SECONDS = 10.0


async def join(
    config: ClusterConfig,
    store: Store,
    functions: FunctionTable,
    resources: Callable[[], Mapping[str, Callable[[], object]]],
    stack: AsyncExitStack,
) -> RayDispatcher:
    """A dispatcher to the hosts of ``config``; closed, and what is this program's own ended, with ``stack``.

    Raises:
        ClusterError: Ray or a host does not start.
        ConfigError: the embedded server and a Ray of several machines.
    """
    connection = await asyncio.to_thread(RayConnection.open, config)
    stack.push_async_callback(asyncio.to_thread, connection.close)
    settings = settings_for(config, uuid.uuid4().hex[:6])
    actors = {one.name: make(one, detached=False) for one in settings}
    stack.push_async_callback(_stop, list(actors.values()))
    dispatcher = await _dispatcher(settings, actors, store, functions, resources)
    stack.push_async_callback(dispatcher.close)
    return dispatcher


async def _dispatcher(
    settings: list[HostSettings],
    actors: Mapping[str, Actor],
    store: Store,
    functions: FunctionTable,
    resources: Callable[[], Mapping[str, Callable[[], object]]],
) -> RayDispatcher:
    statuses = await started(actors)
    handles = [(one, HostHandle(one, actors[one.name], statuses[one.name])) for one in settings]
    dispatcher = RayDispatcher(
        [handle for one, handle in handles if one.role == "primary"],
        [handle for one, handle in handles if one.role == "sleeptime"],
        HostStore(store),
        FunctionBundle(functions, resources),
    )
    await dispatcher.start()
    return dispatcher


async def _stop(actors: list[Actor]) -> None:
    """Let private hosts leave, so that their sessions are free at once; then end their processes."""
    import ray

    async def one(actor: Actor) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await actor.stop.remote()
        except (TimeoutError, ray.exceptions.RayError):
            pass
        ray.kill(actor)

    await asyncio.gather(*(one(actor) for actor in actors))
