"""A host: serves the turns of many agents in one process. Holds only caches; Redis holds the truth."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext

from orchestra.core.errors import HostFull, SessionBusy, StoreUnavailable
from orchestra.core.events import RunEnded, RunEvent
from orchestra.core.result import RunResult
from orchestra.memory.passages import Passages
from orchestra.memory.search.archive import Archive, LocalArchive
from orchestra.memory.snapshots import Snapshots
from orchestra.memory.workspace import WorkspaceStore
from orchestra.runtime.background import Background
from orchestra.runtime.caches import HostCaches
from orchestra.runtime.child_runs import ChildDispatcher, LocalChildren
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.orphans import OrphanWatch
from orchestra.runtime.request import RunRequest
from orchestra.runtime.resources import Resources
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.serving import Serving
from orchestra.runtime.turn_context import CancelMode, Emit
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.host_store import HostStore
from orchestra.store.interrupt_store import InterruptStore
from orchestra.store.thread_store import ThreadStore

BEAT_SECONDS = 2.0
MISSED_BEATS = 5
TOLD = 1000


class Host:
    """One host, on one event loop. Start it with :meth:`start`; stop it with :meth:`stop`.

    ``name`` says what it is (``primary-0``); its incarnation is new with each start, so what a former one still does is
    told apart. ``max_turns`` run at once; ``max_pending`` more wait, further ones get :class:`HostFull`. After five
    missed heartbeats (``beat_seconds`` apart) a host is dead and others take its threads. ``archive`` searches
    the archive and what was said; without one the host does it itself, by words. ``workspaces`` keeps files.
    ``children`` is how it reaches the hosts of child runs; at first that is itself.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        functions: FunctionTable | None = None,
        resources: Mapping[str, Callable[[], object]] | None = None,
        cache_bytes: int = 64 << 20,
        max_turns: int = 1000,
        max_pending: int = 10_000,
        beat_seconds: float = BEAT_SECONDS,
        archive: Archive | None = None,
        workspaces: WorkspaceStore | None = None,
    ) -> None:
        self.store, self.name = store, name
        self.id = f"{name}@{uuid.uuid4().hex[:12]}"
        self.functions = functions or FunctionTable()
        self.resources = Resources(resources or {})
        self._own_archive: LocalArchive | None = None
        if archive is None:
            archive = self._own_archive = LocalArchive(store)
        self.passages = Passages(store, archive)
        self.snapshots = Snapshots(store, workspaces)
        self.caches = HostCaches(cache_bytes)
        self.interrupts = InterruptStore(store)
        self.blocks, self.threads, self.hosts = (
            BlockStore(store),
            ThreadStore(store),
            HostStore(store, life_ms=int(beat_seconds * MISSED_BEATS * 1000)),
        )
        self.children: ChildDispatcher = LocalChildren(self)
        self._beat_seconds = beat_seconds
        self._places = asyncio.Semaphore(max_turns)
        self._pending, self._max_pending = 0, max_turns + max_pending
        self._queues: dict[str, tuple[asyncio.Lock, int]] = {}
        self._turns: dict[str, Serving] = {}
        self._told: deque[str] = deque(maxlen=TOLD)  # the runs that were cancelled last
        self._tasks: list[asyncio.Task[None]] = []
        self.background = Background()

    async def start(self) -> None:
        """Be alive."""
        await self.hosts.join(self.id)
        self._tasks = [asyncio.create_task(self._beat(), name=f"heartbeat of {self.id}")]
        if not self.name.startswith("sleeptime"):
            watch = OrphanWatch(self)
            self._tasks.append(asyncio.create_task(watch.forever(), name=f"orphans, seen from {self.id}"))

    async def stop(self) -> None:
        """Stop the heartbeat and free the threads at once. What still runs is fenced or finishes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self.background.stop()
        await self.hosts.leave(self.id)
        await self.resources.close()
        if self._own_archive is not None:
            await self._own_archive.close()

    async def _beat(self) -> None:
        """Keep this host alive. One that was declared dead takes a new incarnation: its old turns are fenced anyway."""
        while True:
            await asyncio.sleep(self._beat_seconds)
            with contextlib.suppress(StoreUnavailable):  # the server is away: beat on, it may come back
                if not await self.hosts.beat(self.id):
                    self.id = f"{self.name}@{uuid.uuid4().hex[:12]}"
                    await self.hosts.join(self.id)

    @property
    def active(self) -> list[str]:
        """The ids of the runs that are being served or wait for their session."""
        return list(self._turns)

    async def run(
        self, request: RunRequest, invocation_state: Sealed | None = None, *, outlives: bool = False
    ) -> RunResult:
        """Serve one turn to its end. ``outlives`` as in :meth:`stream`."""
        if not outlives:
            return await self._serve(request, invocation_state, None)
        task = asyncio.create_task(self._serve(request, invocation_state, None), name=request.run_id)
        try:
            return await asyncio.shield(task)
        finally:
            await self._let_go(task, request.run_id, outlives)

    async def run_child(self, request: RunRequest, invocation_state: Sealed | None, emit: Emit | None) -> RunResult:
        """Serve a run that belongs to another one, which waits for it: past the queue, whatever runs here.

        ``emit`` gets its events. Cancelling this cancels the run.
        """
        return await self._serve(request, invocation_state, emit)

    async def stream(
        self, request: RunRequest, invocation_state: Sealed | None = None, *, outlives: bool = False
    ) -> AsyncIterator[RunEvent]:
        """Serve one turn and give its events, the last one :class:`RunEnded`. Closing the iterator cancels the turn.

        With ``outlives`` only :meth:`cancel` does, before or after: else the run goes on to its end, which is waited
        for. So it is for a child of a run on another host: when that host dies, whoever takes the run above over asks
        for this child again, and is to find its answer, not a cancelled run.
        """
        events: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        task = asyncio.create_task(self._serve(request, invocation_state, events.put_nowait), name=request.run_id)
        task.add_done_callback(lambda _: events.put_nowait(None))
        last = 0
        try:
            while (event := await events.get()) is not None:
                last = event.number if event.run_id == request.run_id else last
                yield event
            result = await task
            yield RunEnded(
                run_id=request.run_id, agent=request.agent, path=request.path, number=last + 1, result=result
            )
        finally:
            await self._let_go(task, request.run_id, outlives)

    async def _let_go(self, task: asyncio.Task[RunResult], run_id: str, outlives: bool) -> None:
        """Wait for the end of a run whose caller may be gone, and cancel it unless it outlives that."""
        if not outlives or run_id in self._told:
            task.cancel()
        await asyncio.gather(asyncio.shield(task), return_exceptions=True)

    def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run; whether it is served here. The log stays valid.

        One that waits for its session ends at once and leaves nothing. One that has not come yet, since its call is on
        the way, ends as soon as its caller lets go of it.
        """
        self._told.append(run_id)
        serving = self._turns.get(run_id)
        if serving is None:
            return False
        serving.cancel(mode)
        return True

    def serving_of(self, run_id: str) -> Serving | None:
        """The run, when it is being served here."""
        return self._turns.get(run_id)

    async def _serve(self, request: RunRequest, invocation_state: Sealed | None, emit: Emit | None) -> RunResult:
        child = request.lineage is not None
        if not child and self._pending >= self._max_pending:
            raise HostFull(self.id, f"{self._pending} runs are waiting already; try again later")
        self._pending += not child
        serving = Serving(self, request, invocation_state, emit)
        self._turns.setdefault(request.run_id, serving)
        try:
            # A place is taken only by the run whose turn it is: those that wait for their session block no other one.
            async with self._in_order(request), nullcontext() if child else self._places:
                serving.queued = None
                return await serving.run()
        except asyncio.CancelledError as gone:
            if serving.withdrawn and asyncio.current_task().uncancel() == 0:  # type: ignore[union-attr]
                return serving.not_begun()
            gone.used = serving.used  # type: ignore[attr-defined]  # for the run above, which counts it
            raise
        finally:
            self._pending -= not child
            if self._turns.get(request.run_id) is serving:
                del self._turns[request.run_id]

    @asynccontextmanager
    async def _in_order(self, request: RunRequest) -> AsyncIterator[None]:
        """Runs of one thread wait for each other in the order in which they came."""
        if request.session_id is None:
            yield
            return
        thread = request.thread
        lock, waiting = self._queues.get(thread, (asyncio.Lock(), 0))
        known = self.caches.agents.get(request.agent)
        on_busy = request.on_busy or (known.loaded.agent.on_busy if known is not None else "queue")
        if waiting and on_busy == "reject":
            raise SessionBusy(request.session_id)
        self._queues[thread] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._queues[thread]
            if waiting == 1:
                del self._queues[thread]
            else:
                self._queues[thread] = (lock, waiting - 1)
