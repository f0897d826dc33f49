"""``status``: what is up, as a tree of values."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal

from orchestra.cluster.cluster_record import ClusterRecord
from orchestra.cluster.embedded import status as server_status
from orchestra.cluster.host_status import HostStatus
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import OrchestraError
from orchestra.store.closing_store import ClosingStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.pass_store import PassStore

HOST_SECONDS = 5.0
#: Among how many of the newest sessions passes that were set aside are looked for.
LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class RayNode:
    """One machine of Ray. ``memory_bytes`` is what Ray may use of it."""

    address: str
    alive: bool
    cpus: float = 0.0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RayState:
    """``reachable``: it answered. ``problem``: why not, or empty."""

    address: str
    reachable: bool
    nodes: tuple[RayNode, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The server with the data. ``durability`` is its ``appendfsync`` (``no``: only snapshots or nothing).

    ``used_bytes`` is its memory. ``kept``: the embedded server stays without users.
    """

    url: str
    reachable: bool
    kind: str = ""
    version: str = ""
    durability: str = ""
    used_bytes: int = 0
    kept: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QueuedPass:
    """A sleep-time pass, or the closing of a session. ``at`` is from when it may be claimed (Unix seconds).

    It is 0 for one that was set aside.
    """

    thread: str
    at: float
    tries: int
    error: str
    aside: bool
    kind: Literal["pass", "closing"] = "pass"


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """One moment of a cluster. Without a server that answers, what stands in the data is empty and zero.

    Attributes:
        up: ``up`` started it and it has not ended; hosts that belong to single programs are not listed.
        started_at: Unix seconds, 0 when not up.
        stale: The record is there and the head is dead: ``down`` cleans up.
    """

    namespace: str
    up: bool
    stale: bool
    started_at: float
    ray: RayState
    hosts: tuple[HostStatus, ...]
    server: ServerState
    passes: tuple[QueuedPass, ...] = ()
    agents: int = 0
    sessions: int = 0
    blocks: int = 0


async def status(config: ClusterConfig) -> ClusterStatus:
    """Look, and start nothing. Raises :class:`ClusterError` for a record that is not readable."""
    record = ClusterRecord.read(config.data_dir)
    running = record is not None and record.running
    ray_state: RayState = RayState("", False)
    hosts: tuple[HostStatus, ...] = ()
    if record is not None and running:
        ray_state, hosts = await _ray(config, record)
    server = await _server(config)
    made = ClusterStatus(
        namespace=config.namespace if record is None else record.namespace,
        up=running,
        stale=record is not None and not running,
        started_at=0.0 if record is None else record.started_at,
        ray=ray_state,
        hosts=hosts,
        server=server,
    )
    return await _with_data(made)


async def _ray(config: ClusterConfig, record: ClusterRecord) -> tuple[RayState, tuple[HostStatus, ...]]:
    import ray

    from orchestra.cluster.host_actors import find
    from orchestra.cluster.ray_connection import RayConnection

    absent = tuple(HostStatus(name, name.partition("-")[0]) for name in record.hosts)
    try:
        connection = await asyncio.to_thread(
            RayConnection.open, config, address=record.address, auth_mode=record.auth_mode
        )
    except OrchestraError as error:
        return RayState(record.address, False, problem=str(error)), absent

    async def one(name: str) -> HostStatus:
        actor = find(record.namespace, name)
        try:
            async with asyncio.timeout(HOST_SECONDS):
                if actor is not None:
                    return await actor.status.remote()  # type: ignore[no-any-return]
        except (TimeoutError, ray.exceptions.RayError):
            pass
        return HostStatus(name, name.partition("-")[0])

    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, connection.close)
        nodes = tuple(
            RayNode(
                node["NodeManagerAddress"],
                node["Alive"],
                node["Resources"].get("CPU", 0.0),
                int(node["Resources"].get("memory", 0)),
            )
            for node in ray.nodes()
        )
        hosts = tuple(await asyncio.gather(*(one(name) for name in record.hosts)))
        return RayState(record.address, True, nodes), hosts


async def _server(config: ClusterConfig) -> ServerState:
    url, kept = config.redis.url, False
    if url == "embedded":
        found = await asyncio.to_thread(server_status, config.data_dir)
        kept = found.kept
        if found.url is None:
            return ServerState("embedded", False, found.kind or "", found.version or "", kept=kept)
        url = found.url
    try:
        store = await Store.open(url, config.namespace, patience=1)
    except OrchestraError as error:
        return ServerState(url, False, kept=kept, problem=str(error))
    try:
        information = await store.redis.info()
        kind = str(information.get("server_name") or "redis")
        version = str(information.get(f"{kind}_version") or information.get("redis_version"))
        durability = "no"
        if information.get("aof_enabled"):
            durability = str((await store.redis.config_get("appendfsync")).get("appendfsync", "unknown"))
        return ServerState(url, True, kind, version, durability, int(information.get("used_memory", 0)), kept)
    except Exception as error:
        return ServerState(store.address, True, kept=kept, problem=str(error))
    finally:
        await store.close()


async def _with_data(made: ClusterStatus) -> ClusterStatus:
    if not made.server.reachable:
        return made
    store = await Store.open(made.server.url, made.namespace, patience=1)
    try:
        queued = await _queued(store)
        return replace(
            made,
            passes=tuple(queued),
            agents=len(await DefinitionStore(store).names()),
            sessions=int(str(await store.read("ZCARD", store.keys.threads))),
            blocks=int(str(await store.read("SCARD", store.keys.blocks))),
        )
    finally:
        await store.close()


async def _queued(store: Store) -> list[QueuedPass]:
    """Passes and closings that wait or are worked on, and those of the newest sessions that were set aside."""
    passes = PassStore(store)
    pending, closings = await passes.pending(), await ClosingStore(store).pending()
    queued = [_pass(thread, at, await passes.status(thread)) for thread, at in sorted(pending.items())]
    queued += [_closing(thread, at, await passes.status(thread)) for thread, at in sorted(closings.items())]
    for thread, _ in await store.scored(store.keys.threads, LOOKED_AT, newest=True):
        fields = await passes.status(thread)
        if thread not in pending and fields.get("aside") == "1":
            queued.append(_pass(thread, 0.0, fields, aside=True))
        if thread not in closings and fields.get("close_error"):
            queued.append(_closing(thread, 0.0, fields, aside=True))
    return queued


def _pass(thread: str, at: float, fields: Mapping[str, str], *, aside: bool = False) -> QueuedPass:
    return QueuedPass(thread, at, int(fields.get("tries") or 0), fields.get("error", ""), aside)


def _closing(thread: str, at: float, fields: Mapping[str, str], *, aside: bool = False) -> QueuedPass:
    tries = int(fields.get("close_tries") or 0)
    return QueuedPass(thread, at, tries, fields.get("close_error", ""), aside, "closing")
