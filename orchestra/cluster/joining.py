"""A program joins its cluster: the one that ``up`` started, or hosts of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from orchestra.cluster.cluster_record import ClusterRecord
from orchestra.cluster.code_path import host_version
from orchestra.cluster.function_bundle import FunctionBundle
from orchestra.cluster.host_actors import Actor, find, make, started, stop
from orchestra.cluster.host_handle import HostHandle
from orchestra.cluster.host_settings import HostSettings, host_names, settings_of
from orchestra.cluster.ray_archive import RayArchive
from orchestra.cluster.ray_connection import RayConnection
from orchestra.cluster.ray_dispatch import RayDispatcher
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ClusterError
from orchestra.runtime.function_ref import FunctionTable
from orchestra.store.connection import Store
from orchestra.store.host_store import HostStore


async def join(
    config: ClusterConfig,
    store: Store,
    functions: FunctionTable,
    resources: Callable[[], Mapping[str, Callable[[], object]]],
    stack: AsyncExitStack,
) -> tuple[RayDispatcher, RayArchive]:
    """A dispatcher to the hosts of ``config``, and the archive; closed with ``stack``, as is what this program started.

    Raises:
        ClusterError: Ray or a host does not start.
        ConfigError: the embedded server and a Ray of several machines.
    """
    record = ClusterRecord.read(config.data_dir)
    if record is not None and record.running and record.namespace == config.namespace:
        settings, actors = await _theirs(config, record, stack)
    else:
        settings, actors = await _ours(config, stack)
    statuses = await started(actors)
    handles = [(one, HostHandle(one, actors[one.name], statuses[one.name])) for one in settings]
    dispatcher = RayDispatcher(
        [handle for one, handle in handles if one.role == "primary"],
        [handle for one, handle in handles if one.role == "sleeptime"],
        HostStore(store),
        FunctionBundle(functions, resources),
    )
    await dispatcher.start()
    stack.push_async_callback(dispatcher.close)
    await dispatcher.introduce()
    return dispatcher, RayArchive(settings[0])


async def _ours(config: ClusterConfig, stack: AsyncExitStack) -> tuple[list[HostSettings], Mapping[str, Actor]]:
    """Private hosts, which end with this program."""
    connection = await asyncio.to_thread(RayConnection.open, config)
    stack.push_async_callback(asyncio.to_thread, connection.close)
    launch, version = uuid.uuid4().hex[:6], await asyncio.to_thread(host_version, config)
    settings = [settings_of(name, config, launch, version) for name in host_names(config)]
    actors = {one.name: make(one, detached=False) for one in settings}
    stack.push_async_callback(stop, list(actors.values()))
    return settings, actors


async def _theirs(
    config: ClusterConfig, record: ClusterRecord, stack: AsyncExitStack
) -> tuple[list[HostSettings], Mapping[str, Actor]]:
    """The hosts that ``up`` started; they stay."""
    connection = await asyncio.to_thread(RayConnection.open, config, address=record.address, auth_mode=record.auth_mode)
    stack.push_async_callback(asyncio.to_thread, connection.close)
    settings = [settings_of(name, config, record.launch, record.version, lasting=True) for name in record.hosts]
    actors: dict[str, Actor] = {}
    for one in settings:
        actor = find(config.namespace, one.actor_name)
        if actor is None:
            raise ClusterError(f"host {one.actor_name} of the running cluster is gone; run orchestra up again")
        actors[one.name] = actor
    return settings, actors
