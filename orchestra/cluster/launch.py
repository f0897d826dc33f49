"""``up``: start or join a cluster whose hosts stay. Twice changes nothing; a changed configuration rolls the hosts."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from orchestra.cluster.cluster_record import ClusterRecord, one_at_a_time
from orchestra.cluster.code_path import host_version, ray_version
from orchestra.cluster.embedded import keep
from orchestra.cluster.head import Head
from orchestra.cluster.host_settings import HostSettings, host_names, settings_of
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.server_use import use_server
from orchestra.cluster.teardown import end_cluster
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ClusterError

DRAIN_SECONDS = 30.0
NAME_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Launched:
    """What :func:`up` did.

    Attributes:
        outcome: ``started`` (there was none), ``unchanged``, or ``changed`` (``rolled`` tells which hosts).
        address: Where Ray is.
        redis_url: Where the data is.
        hosts: All hosts.
        rolled: Names of hosts that were replaced, added or taken away.
    """

    outcome: Literal["started", "unchanged", "changed"]
    address: str
    redis_url: str
    hosts: tuple[HostStatus, ...]
    rolled: tuple[str, ...] = ()


async def up(config: ClusterConfig) -> Launched:
    """Bring the cluster up; its hosts stay when this program ends. Safe to call again, also after any crash.

    Raises:
        ClusterError: Ray or a host does not start, or another namespace's cluster runs from this data directory.
        ConfigError: the embedded server and a Ray of several machines.
        EmbeddedServerError, StoreUnavailable: the server does not start or answer.
    """
    async with one_at_a_time(config.data_dir), AsyncExitStack() as stack:
        record = ClusterRecord.read(config.data_dir)
        if record is not None and record.namespace != config.namespace:
            what = f"the cluster of namespace {record.namespace!r} runs from {config.data_dir}"
            raise ClusterError(f"{what}; run orchestra down for it, or use another data_dir")
        if record is not None and (not record.running or record.ray != ray_version(config)):
            await end_cluster(config, record)  # its head died, or it is to be another one
            record = None
        redis_url = await use_server(config.redis, config.data_dir, stack)
        if config.redis.url == "embedded":
            await asyncio.to_thread(keep, config.data_dir)
        fresh = record is None
        try:
            record = record or await _begun(config)
            async with _connected(config, record) as record:
                hosts, rolled = await _hosts(config, record)
        except BaseException:
            if fresh and (made := ClusterRecord.read(config.data_dir)) is not None:
                await end_cluster(config, made)
            raise
        outcome: Literal["started", "unchanged", "changed"] = "changed" if rolled else "unchanged"
        if fresh:
            outcome, rolled = "started", ()
        return Launched(outcome, record.address, redis_url, hosts, rolled)


async def _begun(config: ClusterConfig) -> ClusterRecord:
    """A head that runs and is written down; or, where Ray is not ours to start, only the record."""
    record = ClusterRecord(config.namespace, uuid.uuid4().hex[:6], ray=ray_version(config))
    if config.ray.address != "local":
        record = replace(record, address=config.ray.address)
        record.write(config.data_dir)
        return record
    from orchestra.cluster.ray_connection import local_auth_mode

    marker = uuid.uuid4().hex
    head = await asyncio.to_thread(Head.spawn, config, marker)
    record = replace(record, head=head.process, marker=marker, auth_mode=local_auth_mode())
    record.write(config.data_dir)
    record = replace(record, address=await asyncio.to_thread(head.begin, config))
    record.write(config.data_dir)
    return record


@asynccontextmanager
async def _connected(config: ClusterConfig, record: ClusterRecord) -> AsyncIterator[ClusterRecord]:
    """Connected to the record's Ray; gives the record with the address that was found."""
    from orchestra.cluster.ray_connection import RayConnection, current_address

    connection = await asyncio.to_thread(RayConnection.open, config, address=record.address, auth_mode=record.auth_mode)
    try:
        yield record if record.address.startswith("ray://") else replace(record, address=current_address())
    finally:
        await asyncio.to_thread(connection.close)


async def _hosts(config: ClusterConfig, record: ClusterRecord) -> tuple[tuple[HostStatus, ...], tuple[str, ...]]:
    """The hosts as the configuration wants them; which ones were touched. One after the other: the rest serves on."""
    from orchestra.cluster.host_actors import find, make, started, stop
    from orchestra.cluster.ray_archive import archives

    version, names = await asyncio.to_thread(host_version, config), host_names(config)
    settings = [settings_of(name, config, record.launch, version, lasting=True) for name in names]
    # Written down first: whoever comes after a crash in here finds every host that may be there.
    replace(record, version=version, hosts=tuple(dict.fromkeys((*record.hosts, *names)))).write(config.data_dir)
    touched: list[str] = []
    for name in record.hosts:
        if name not in names and (actor := find(config.namespace, name)) is not None:
            touched.append(name)
            await stop([actor], drain=DRAIN_SECONDS)
    old = {one.actor_name: await _version(one) for one in settings}
    for one in settings:
        if old[one.actor_name] not in (None, version) and (actor := find(config.namespace, one.actor_name)) is not None:
            await stop([actor], drain=DRAIN_SECONDS)
            await _name_is_free(one)
            await started({one.name: make(one, detached=True)})
    await stop(
        [
            actor
            for name in archives(config.namespace, record.launch, but_version=version)
            if (actor := find(config.namespace, name)) is not None
        ]
    )
    actors = {one.name: make(one, detached=True) for one in settings}
    statuses = await started(actors)
    touched += [name for name, found in old.items() if found != version]
    replace(record, version=version, hosts=names).write(config.data_dir)
    return tuple(statuses.values()), tuple(touched)


async def _version(settings: HostSettings) -> str | None:
    """What the running host of that name was made from; ``None`` when there is none."""
    from orchestra.cluster.host_actors import find, started

    actor = find(settings.namespace, settings.actor_name)
    if actor is None:
        return None
    try:
        return (await started({settings.name: actor}))[settings.name].version
    except Exception:
        return ""  # it does not start as it was made: to be replaced


async def _name_is_free(settings: HostSettings) -> None:
    """Ray frees a killed actor's name a moment later; until then the name would lead to the dead one."""
    from orchestra.cluster.host_actors import find

    until = time.monotonic() + NAME_SECONDS
    while find(settings.namespace, settings.actor_name) is not None:
        if time.monotonic() > until:
            raise ClusterError(f"host {settings.actor_name} does not end; run orchestra down, then up")
        await asyncio.sleep(0.05)
