"""What ``up`` writes down beside the data, so that ``down``, ``status`` and every program find the cluster."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestra.cluster.embedded.supervisor.locks import Lock
from orchestra.cluster.embedded.supervisor.process import Process
from orchestra.core.errors import ClusterError

FILE, LOCK = "cluster.json", "cluster.lock"
LOCK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """The cluster that was started from a data directory.

    Attributes:
        namespace: The namespace that its hosts serve.
        launch: Tells its hosts apart from those of other launches.
        address: Where its Ray is, ``host:port``; empty while the head starts.
        head: The head's process, leader of a session that holds all of Ray's; ``None`` when Ray was there before.
        marker: The value of ``ORCHESTRA_CLUSTER`` in the environment of those processes.
        auth_mode: ``RAY_AUTH_MODE`` of that Ray; empty when Ray was there before.
        ray: Hash of the ``ray:`` part.
        version: Hash of what the hosts were made from.
        hosts: Names of the hosts.
        started_at: Unix seconds.
    """

    namespace: str
    launch: str
    address: str = ""
    head: Process | None = None
    marker: str = ""
    auth_mode: str = ""
    ray: str = ""
    version: str = ""
    hosts: tuple[str, ...] = ()
    started_at: float = field(default_factory=time.time)

    @classmethod
    def read(cls, data_dir: Path) -> ClusterRecord | None:
        """The record, or ``None`` when there is none. Raises :class:`ClusterError` for one that is not readable."""
        file = data_dir / FILE
        try:
            value = json.loads(file.read_text("utf-8"))
            head = value.pop("head")
            hosts = tuple(value.pop("hosts"))
            return cls(**value, head=None if head is None else Process(**head), hosts=hosts)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ClusterError(f"{file} is not readable ({error}); when no cluster runs there, delete it") from None

    def write(self, data_dir: Path) -> None:
        """Replace the record whole. Only its owner may read it."""
        file = data_dir / FILE
        new = file.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(asdict(self), out, indent=1)
        new.replace(file)

    @staticmethod
    def delete(data_dir: Path) -> None:
        """There is no cluster any more."""
        (data_dir / FILE).unlink(missing_ok=True)

    @property
    def running(self) -> bool:
        """Whether its head lives, as far as can be told from here."""
        return bool(self.address) and (self.head is None or self.head.alive())


@asynccontextmanager
async def one_at_a_time(data_dir: Path) -> AsyncIterator[None]:
    """``up`` and ``down`` of one data directory wait for each other. Raises :class:`ClusterError` after two minutes."""
    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    lock = Lock.open(data_dir / LOCK)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while not lock.try_exclusive():
            if time.monotonic() > until:
                raise ClusterError(f"another up or down works in {data_dir}; wait for its end")
            await asyncio.sleep(0.05)
        yield
    finally:
        lock.close()
