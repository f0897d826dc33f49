"""The actor: one Ray process that serves the turns of thousands of agents, or does their sleep-time passes.

Everything runs on the actor's default event loop, apart from the control group: that has a loop and a thread of its
own, so that a full host still answers, and touches only what is safe from any thread.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing

import psutil
import ray

import orchestra.patterns.kinds  # noqa: F401 - so that this host can serve them
from orchestra.cluster.code_path import extend_path
from orchestra.cluster.envelope import Call, Failed, HostStopped, Lacking, as_failed, call_in, packed
from orchestra.cluster.event_batches import in_batches
from orchestra.cluster.host_actors import Actor
from orchestra.cluster.host_functions import Bundle, HostFunctions
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.ray_archive import RayArchive
from orchestra.cluster.server_use import use_server
from orchestra.cluster.sibling_hosts import ForwardedBundle, SiblingHosts, edition_of_run
from orchestra.core.errors import HostUnavailable, OrchestraError
from orchestra.memory.search.archive import index_on
from orchestra.runtime.child_tool import ChildTool
from orchestra.runtime.definition import load_agent
from orchestra.runtime.host import Host
from orchestra.runtime.turn_context import CancelMode
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.host_store import HostStore

RETRY_SECONDS = 1.0


class AgentHost:
    """One host. Made by Ray; a restarted one starts by itself, without a call."""

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        extend_path(settings.code)
        self._loop = asyncio.get_running_loop()
        self._functions, self._bundle = HostFunctions(), ForwardedBundle()
        self._siblings: SiblingHosts | None = None
        self._stack = AsyncExitStack()
        self._host: Host | None = None
        self._problem: OrchestraError | None = None
        self._stopped = False
        self._looked = asyncio.Event()
        self._opening = asyncio.create_task(self._open(), name=f"opening {settings.name}")

    async def _open(self) -> None:
        """Join the cluster. What is in the way may pass, so it is tried again until this host is stopped."""
        while True:
            try:
                async with AsyncExitStack() as stack:
                    await self._open_once(stack)
                    self._stack = stack.pop_all()
                self._problem = None
            except OrchestraError as error:
                self._problem = error
            except Exception as error:
                self._problem = as_failed(error, self._settings.name).error
            self._looked.set()
            if self._problem is None:
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def _open_once(self, stack: AsyncExitStack) -> None:
        settings = self._settings
        url = await use_server(settings.redis, settings.data_dir, stack)
        store = await Store.open(url, settings.namespace)
        stack.push_async_callback(store.close)
        await index_on(store, settings.embeddings.index)  # said now, not at the first search
        # What had this name before is dead, since Ray runs one actor at a time; its threads need not wait for the end
        # of its heartbeat. Should it run on for a while (its node was cut off), its writes are fenced.
        hosts = HostStore(store)
        for former in await hosts.alive():
            if former.startswith(f"{settings.name}@"):
                await hosts.leave(former)
        host = Host(
            store,
            settings.name,
            functions=self._functions,
            cache_bytes=settings.hosts.cache_mb << 20,
            max_turns=settings.hosts.max_concurrent_turns,
            max_pending=settings.hosts.max_pending,
            beat_seconds=settings.hosts.heartbeat_seconds,
            archive=RayArchive(settings),
            workspaces=settings.workspaces,
        )
        await host.start()
        stack.push_async_callback(host.stop)
        if settings.role == "sleeptime":
            worker = SleepWorker(host)
            await worker.start()
            stack.push_async_callback(worker.stop)
        if settings.role == "primary":
            host.children = self._siblings = SiblingHosts(host, settings, self._bundle)
            stack.push_async_callback(self._siblings.close)
        self._host = host

    async def _ready(self) -> Host:
        if self._host is None:
            await self._looked.wait()
        if self._stopped:
            raise HostStopped(self._settings.name, "it was stopped")
        if self._host is None:
            raise self._problem or HostUnavailable(self._settings.name, "it has not started")
        return self._host

    async def start(self) -> HostStatus | Failed:
        """Wait until this host has joined; what it is, or why it cannot."""
        try:
            await self._ready()
        except OrchestraError as error:
            return as_failed(error, self._settings.name)
        return self._status()

    async def run(self, data: bytes) -> bytes:
        """Serve one turn."""
        try:
            host, call = await self._ready(), call_in(data)
            if self._lacks(call):
                return packed(Lacking())
            edition_of_run.set(call.functions)
            await self._check_repeatable(host, call)
            return packed(await host.run(call.request, call.invocation_state, outlives=_outlives(call)))
        except Exception as error:
            return packed(as_failed(error, self._settings.name))

    async def stream(self, data: bytes) -> AsyncIterator[bytes]:
        """Serve one turn and give its events in batches."""
        try:
            host, call = await self._ready(), call_in(data)
            if self._lacks(call):
                yield packed(Lacking())
                return
            edition_of_run.set(call.functions)
            await self._check_repeatable(host, call)
            events = host.stream(call.request, call.invocation_state, outlives=_outlives(call))
            async with aclosing(in_batches(events)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    yield packed(batch)
        except Exception as error:
            yield packed(as_failed(error, self._settings.name))

    def _lacks(self, call: Call) -> bool:
        return call.functions is not None and not self._functions.has(call.functions)

    async def _check_repeatable(self, host: Host, call: Call) -> None:
        """Without a session there is no journal: what a host that died had done of the run is not known."""
        if not call.again or call.request.session_id is not None:
            return
        text, digest = await DefinitionStore(host.store).get(call.request.agent)
        loaded = await asyncio.to_thread(load_agent, text, digest, self._functions)
        below = bool(loaded.kind) or any(isinstance(tool, ChildTool) for tool in loaded.tools.values())
        if below or loaded.agent.blocks or not all(tool.idempotent for tool in loaded.tools.values()):
            raise HostUnavailable(
                self._settings.name,
                "the host of this run died; without a session_id it is not known which of its tools have run, so it "
                "was not started again",
            )
        kept = call.request.conversation
        if kept is not None and not kept.chained:
            # A chain begins again at the same reply; a conversation may have the input, and open calls, already.
            raise HostUnavailable(
                self._settings.name,
                f"the host of this run died; it is not known what of it the provider has in {kept.conversation_id!r}, "
                "so it was not started again",
            )

    async def learn(self, data: bytes | list[object]) -> None:
        """Take over by-value functions and resource factories: a pickled :class:`Bundle`, or a reference to it."""
        content = await data[0] if isinstance(data, list) else data  # type: ignore[misc]
        bundle: Bundle = ray.cloudpickle.loads(content)
        host = await self._ready()
        host.resources.add(self._functions.learn(bundle))
        self._bundle.keep(bundle.edition, content)

    async def meet(self, hosts: Sequence[tuple[HostSettings, Actor, HostStatus]]) -> None:
        """Learn of the primary hosts of the cluster, for child runs."""
        await self._ready()
        if self._siblings is not None:
            await self._siblings.meet(hosts)

    async def forget(self, owner: str) -> None:
        """A program has gone, and what it registered by value with it."""
        self._functions.forget(owner)
        self._bundle.forget(owner)

    async def stop(self, drain: float = 0.0) -> None:
        """Leave the cluster: free the threads at once, let go of the server. New runs go elsewhere from now on.

        What is under way has ``drain`` seconds to end.
        """
        self._stopped = True
        until = time.monotonic() + drain
        while self._host is not None and self._host.active and time.monotonic() < until:  # noqa: ASYNC110 - none tells
            await asyncio.sleep(0.02)
        self._opening.cancel()
        await asyncio.gather(self._opening, return_exceptions=True)
        self._looked.set()
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    # --- from here on: any thread ----------------------------------------------------------------------------------

    @ray.method(concurrency_group="control")  # type: ignore[untyped-decorator]
    async def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run; whether it is served here."""
        host = self._host
        if host is None:
            return False
        served = run_id in host.active
        self._loop.call_soon_threadsafe(host.cancel, run_id, mode)  # also one whose call is still on its way
        return served

    @ray.method(concurrency_group="control")  # type: ignore[untyped-decorator]
    async def status(self) -> HostStatus:
        """What this host is and does."""
        return self._status()

    def _status(self) -> HostStatus:
        host, settings = self._host, self._settings
        return HostStatus(
            name=settings.actor_name,
            role=settings.role,
            id="" if host is None else host.id,
            alive=host is not None and not self._stopped,
            pid=os.getpid(),
            node=ray.util.get_node_ip_address(),
            active=() if host is None else tuple(host.active),
            memory_bytes=psutil.Process().memory_info().rss,
            version=settings.version,
        )


def _outlives(call: Call) -> bool:
    """Whether a call's run goes on when its caller dies.

    Ray closes a stream whose reader has died. A child in a session is asked for again by the host
    that takes the run above it over; without a session that one is lost, and so is its child.
    """
    return call.request.lineage is not None and call.request.session_id is not None
