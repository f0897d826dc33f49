"""``down``: end what ``up`` started, by what it wrote down, whatever state it is in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from orchestra.cluster.cluster_record import ClusterRecord, one_at_a_time
from orchestra.cluster.embedded import status as server_status
from orchestra.cluster.embedded import stop as stop_server
from orchestra.cluster.embedded import unkeep
from orchestra.cluster.embedded.supervisor.process import Process
from orchestra.cluster.head import MARKER
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import OrchestraError
from orchestra.store.connection import Store
from orchestra.store.host_store import HostStore

HEAD_SECONDS = 30.0
TERM_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Ended:
    """What :func:`down` found. ``server`` tells of the embedded one, or is empty.

    Attributes:
        was_up: There was a cluster to end.
        processes: How many processes were ended besides the head's own way out.
        server: ``stopped``, ``not_running``, ``in_use`` (by other programs; it goes with the last of them), or empty.
    """

    was_up: bool
    processes: int = 0
    server: str = ""


async def down(config: ClusterConfig) -> Ended:
    """End the cluster that was started from this data directory. Twice is fine; nothing else on the machine is touched.

    Raises :class:`ClusterError`, :class:`EmbeddedServerError`.
    """
    async with one_at_a_time(config.data_dir):
        record = ClusterRecord.read(config.data_dir)
        left = 0 if record is None else await end_cluster(config, record)
        server = ""
        if config.redis.url == "embedded":
            server = (await asyncio.to_thread(stop_server, config.data_dir)).outcome
        return Ended(record is not None, left, server)


async def end_cluster(config: ClusterConfig, record: ClusterRecord) -> int:
    """End head, hosts and what they left; forget the record. How many processes had to be ended one by one."""
    if record.head is None:
        await _end_hosts(config, record)
    else:
        record.head.send(signal.SIGTERM)
        await _until(lambda: not record.head.alive(), HEAD_SECONDS)  # type: ignore[union-attr]
        record.head.send(signal.SIGKILL)
    left = members(record)
    for process in left:
        _send(process, signal.SIGTERM)
    await _until(lambda: not any(process.is_running() for process in left), TERM_SECONDS)
    # Again from the start: one that was ended may have started another meanwhile.
    while rest := members(record):
        for process in rest:
            _send(process, signal.SIGKILL)
        await _until(lambda: not members(record), TERM_SECONDS)
    await _bury(config, record)
    if config.redis.url == "embedded":
        await asyncio.to_thread(unkeep, config.data_dir)
    ClusterRecord.delete(config.data_dir)
    return len(left)


def members(record: ClusterRecord) -> list[psutil.Process]:
    """The processes of the record's session that are alive.

    A session's number is not used again while any of its processes lives; should all of ours be gone and the number
    be another session's, then its leader is not the head, and its processes do not carry our mark.
    """
    head = record.head
    if head is None:
        return []
    leader = Process.find(head.pid)
    if leader is not None and leader != head:
        return []
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) != head.pid or process.status() == psutil.STATUS_ZOMBIE:
                continue
            # Ray's workers write their title over their environment, so there the title is the mark.
            if process.environ().get(MARKER) == record.marker or process.name().startswith("ray::"):
                found.append(process)
    return found


def _send(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.Error):
        process.send_signal(number)  # looks at the start time, so a number that was used again is safe


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:  # noqa: ASYNC110 - processes tell nobody that they end
        await asyncio.sleep(0.05)


async def _end_hosts(config: ClusterConfig, record: ClusterRecord) -> None:
    """In a Ray that was there before: end only our hosts."""
    from orchestra.cluster.host_actors import Actor, find, stop
    from orchestra.cluster.ray_archive import archives
    from orchestra.cluster.ray_connection import RayConnection

    try:
        connection = await asyncio.to_thread(RayConnection.open, config, address=record.address)
    except OrchestraError:
        return  # that Ray is gone, and our hosts with it
    try:
        actors: Sequence[Actor | None] = [
            find(record.namespace, name) for name in (*record.hosts, *archives(record.namespace, record.launch))
        ]
        await stop([actor for actor in actors if actor is not None])
    finally:
        await asyncio.to_thread(connection.close)


async def _bury(config: ClusterConfig, record: ClusterRecord) -> None:
    """Hosts that were killed left a heartbeat; without it their threads are free at once. Best effort."""
    url: str | None = config.redis.url
    if url == "embedded":
        url = (await asyncio.to_thread(server_status, config.data_dir)).url
    if url is None:
        return
    with contextlib.suppress(OrchestraError):
        store = await Store.open(url, record.namespace, patience=1)
        try:
            hosts = HostStore(store)
            for host in await hosts.alive():
                if host.split("@")[1:2] == [record.launch]:
                    await hosts.leave(host)
        finally:
            await store.close()
