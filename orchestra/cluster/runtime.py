"""``Runtime``: what a program starts. It joins the parts: the server, Ray or this process, the client."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import psutil

import orchestra.patterns.kinds  # noqa: F401 - so that this process can register and serve them
from orchestra.cluster.code_path import extend_path
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.server_use import use_server
from orchestra.core.agent import Agent
from orchestra.core.cluster import ClusterConfig
from orchestra.core.runnable import Runnable
from orchestra.memory.search.archive import Archive, LocalArchive, index_on, say_without
from orchestra.memory.search.embedder import find
from orchestra.memory.snapshots import Snapshots
from orchestra.memory.workspace import WorkspaceStore
from orchestra.runtime.agent_file import load_agent
from orchestra.runtime.client import Client
from orchestra.runtime.cluster_file import load_cluster
from orchestra.runtime.dispatch import Dispatcher, InlineDispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.host import Host
from orchestra.runtime.scenario_file import LoadedScenario, load_scenario
from orchestra.runtime.text_file import read_text
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.connection import Store

if TYPE_CHECKING:
    from orchestra.cluster.ray_dispatch import RayDispatcher
    from orchestra.cluster.sync import SyncRuntime


class Runtime(Client):
    """A running cluster as one program sees it: an async context manager, made by :meth:`start`.

    ``redis_url`` tells where the data is. All of :class:`Client` works inside the ``async with``.
    """

    def __init__(self, config: ClusterConfig, *, inline: bool) -> None:
        self.config, self.inline = config, inline
        self.redis_url = ""
        self._stack: AsyncExitStack | None = None
        self._ray: RayDispatcher | None = None
        self._inline_host: Host | None = None

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

    @staticmethod
    def load(path: str | Path) -> Agent | LoadedScenario | ClusterConfig:
        """The objects of a file: an agent (``.md``), a scenario (a YAML file with ``run:``), or a cluster.

        Raises:
            ConfigError: the file is wrong; the message names file, line and field.
        """
        file = Path(path)
        if file.suffix == ".md":
            return load_agent(file)
        if any(line.startswith("run:") for line in read_text(file, what="configuration").splitlines()):
            return load_scenario(file)
        return load_cluster(file)

    @property
    def sync(self) -> SyncRuntime:
        """The same methods, blocking; ``with Runtime.start(…).sync as runtime`` needs no event loop."""
        from orchestra.cluster.sync import SyncRuntime

        return SyncRuntime(self)

    async def __aenter__(self) -> Runtime:
        extend_path(self.config.code)
        say_without(find(self.config.embeddings.model))
        async with AsyncExitStack() as stack:
            self.redis_url = url = await use_server(self.config.redis, self.config.data_dir, stack)
            store = await Store.open(url, self.config.namespace)
            stack.push_async_callback(store.close)
            await index_on(store, self.config.embeddings.index)  # before Ray is started, which takes seconds
            functions = FunctionTable()
            dispatcher, archive = await self._dispatcher(store, functions, stack)
            snapshots = Snapshots(store, WorkspaceStore.of(self.config), ttl=self.config.snapshots.ttl)
            super().__init__(store, dispatcher, functions, archive, snapshots)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stack is not None:
            stack, self._stack = self._stack, None
            await stack.aclose()

    async def _dispatcher(
        self, store: Store, functions: FunctionTable, stack: AsyncExitStack
    ) -> tuple[Dispatcher, Archive]:
        if not self.inline:
            from orchestra.cluster.joining import join

            self._ray, on_ray = await join(self.config, store, functions, lambda: self.resources, stack)
            return self._ray, on_ray
        archive = await LocalArchive.open(store, self.config.embeddings)
        stack.push_async_callback(archive.close)
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
            archive=archive,
            workspaces=WorkspaceStore.of(self.config),
        )
        await host.start()
        stack.push_async_callback(host.stop)
        if hosts.sleeptime:
            worker = SleepWorker(host)
            await worker.start()
            stack.push_async_callback(worker.stop)
        self._inline_host = host
        return InlineDispatcher(host), archive

    async def register(self, *runnables: Runnable) -> None:
        """As :meth:`Client.register`; what travels by value is sent to every host at once."""
        await super().register(*runnables)
        if self._ray is not None:
            await self._ray.share()

    def resource(self, name: str, factory: Callable[[], object]) -> None:
        """As :meth:`Client.resource`. On Ray the factory travels with the next run."""
        super().resource(name, factory)
        if self._inline_host is not None:
            self._inline_host.resources.add({name: factory})

    async def hosts(self) -> Sequence[HostStatus]:
        """All hosts as they are now: process, Ray node, incarnation, the runs that they serve."""
        if self._ray is not None:
            return await self._ray.statuses()
        host = self._inline_host
        if host is None:
            return []
        memory = psutil.Process().memory_info().rss
        return [HostStatus(host.name, "inline", host.id, True, os.getpid(), "", tuple(host.active), memory)]
