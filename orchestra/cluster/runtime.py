"""``Runtime``: what a program starts. It joins the parts: the server, Ray or this process, the client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from orchestra.cluster.embedded import EmbeddedServer
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import OrchestraError
from orchestra.runtime.client import Client
from orchestra.runtime.cluster_file import load_cluster
from orchestra.runtime.dispatch import Dispatcher, InlineDispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.host import Host
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.connection import Store

if TYPE_CHECKING:
    from orchestra.cluster.sync import SyncRuntime

WATCH_SECONDS = 1.0


class Runtime(Client):
    """A running cluster as one program sees it: an async context manager, made by :meth:`start`.

    ``redis_url`` tells where the data is. All of :class:`Client` works inside the ``async with``.
    """

    def __init__(self, config: ClusterConfig, *, inline: bool) -> None:
        self.config, self.inline = config, inline
        self.redis_url = ""
        self._stack: AsyncExitStack | None = None

    @classmethod
    def start(
        cls, config: str | Path | Mapping[str, object] | ClusterConfig | None = None, *, inline: bool = False
    ) -> Runtime:
        """A runtime to enter with ``async with``.

        Args:
            config: A cluster file, the same as a dict, or the model. Without one: local Ray and an embedded server
                whose data stays in ``.orchestra/``.
            inline: No Ray: one process, the same behaviour.

        Raises:
            ConfigError: the configuration is wrong; the message names file, line and field.
            EmbeddedServerError, StoreUnavailable, StoreIncompatible, ClusterError: on entering.
        """
        return cls(load_cluster(config), inline=inline)

    @property
    def sync(self) -> SyncRuntime:
        """The same methods, blocking; ``with Runtime.start(…).sync as runtime`` needs no event loop."""
        from orchestra.cluster.sync import SyncRuntime

        return SyncRuntime(self)

    async def __aenter__(self) -> Runtime:
        async with AsyncExitStack() as stack:
            url = self.config.redis.url
            if url == "embedded":
                server = await EmbeddedServer.open(self.config.data_dir, durability=self.config.redis.durability)
                stack.push_async_callback(asyncio.to_thread, server.release)
                url = server.url
                await self._look_after(server, stack)
            self.redis_url = url
            store = await Store.open(url, self.config.namespace)
            stack.push_async_callback(store.close)
            functions = FunctionTable()
            super().__init__(store, await self._dispatcher(store, functions, stack), functions)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stack is not None:
            stack, self._stack = self._stack, None
            await stack.aclose()

    async def _dispatcher(self, store: Store, functions: FunctionTable, stack: AsyncExitStack) -> Dispatcher:
        if not self.inline:
            from orchestra.cluster.ray_dispatch import RayDispatcher

            ray = await RayDispatcher.open(self.config, self.redis_url, store, functions, self)
            stack.push_async_callback(ray.close)
            return ray
        hosts = self.config.hosts
        host = Host(
            store,
            "inline",
            functions=functions,
            resources={},
            cache_bytes=hosts.cache_mb << 20,
            max_turns=hosts.max_concurrent_turns,
            max_pending=hosts.max_pending,
            beat_seconds=hosts.heartbeat_seconds,
        )
        await host.start()
        stack.push_async_callback(host.stop)
        if hosts.sleeptime:
            worker = SleepWorker(host)
            await worker.start()
            stack.push_async_callback(worker.stop)
        self._inline_host = host
        return InlineDispatcher(host)

    @staticmethod
    async def _look_after(server: EmbeddedServer, stack: AsyncExitStack) -> None:
        """Start the supervisor again when somebody killed it; the store's own retries bridge the gap."""

        async def watch() -> None:
            while True:
                await asyncio.sleep(WATCH_SECONDS)
                try:
                    await asyncio.to_thread(server.ensure)
                except OrchestraError:
                    continue

        task = asyncio.create_task(watch(), name="embedded server")

        async def stop() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        stack.push_async_callback(stop)

    async def hosts(self) -> Sequence[str]:
        """The hosts that are alive, as ``role-number@incarnation``."""
        from orchestra.store.host_store import HostStore

        return await HostStore(self.store).alive()
