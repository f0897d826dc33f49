"""Several hosts on one store, in one process: what a host that is lost looks like to another one."""

from __future__ import annotations

import orchestra.patterns.kinds  # noqa: F401 - these hosts serve swarms and graphs too
from orchestra.runtime.client import Client
from orchestra.runtime.dispatch import InlineDispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.host import Host
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.connection import Store


class Machines:
    """Hosts that share a store and the functions of one program. :meth:`stop` ends all of them."""

    def __init__(self, store: Store) -> None:
        self.store, self.functions = store, FunctionTable()
        self.hosts: list[Host] = []
        self.workers: list[SleepWorker] = []

    async def host(self, name: str = "primary-0", *, max_turns: int = 1000) -> Host:
        """One more host, started."""
        made = Host(self.store, name, functions=self.functions, max_turns=max_turns)
        await made.start()
        self.hosts.append(made)
        return made

    async def client(self, name: str = "primary-0") -> Client:
        """A client whose runs are served by a host of its own."""
        return self.client_of(await self.host(name))

    def client_of(self, host: Host) -> Client:
        """A client whose runs are served by ``host``."""
        return Client(self.store, InlineDispatcher(host), self.functions, host.passages.archive)

    async def worker(self, host: Host, *, backoff: float = 0.01, lease_ms: int | None = None) -> SleepWorker:
        """A sleep-time worker on ``host``, started."""
        made = SleepWorker(host, backoff=backoff, lease_ms=lease_ms)
        await made.start()
        self.workers.append(made)
        return made

    async def stop(self) -> None:
        """End all."""
        for worker in self.workers:
            await worker.stop()
        for host in self.hosts:
            await host.stop()
