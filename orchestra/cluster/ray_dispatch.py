"""Dispatch to hosts on Ray: which host serves a thread, and what happens when it dies."""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

import ray

from orchestra.cluster.envelope import Call, Edition, Failed, HostStopped, Lacking, answer_in, item_in, packed
from orchestra.cluster.host_actors import Actor
from orchestra.cluster.host_handle import HostHandle, HostLost
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.rendezvous import order
from orchestra.core.errors import Fenced, HostUnavailable, StoreUnavailable
from orchestra.core.events import RunEnded, RunEvent, RunStarted
from orchestra.core.result import RunResult
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.turn_context import CancelMode
from orchestra.store.host_store import HostStore

PATIENCE_SECONDS = 60.0
WATCH_SECONDS = 1.0
UNREAD_BATCHES = 64


class Functions(Protocol):
    """The by-value functions that runs need: those of this program, or of the one whose run is served here."""

    @property
    def owner(self) -> str:
        """Whose they are."""

    @property
    def edition(self) -> Edition | None:
        """Which they are now; ``None``: there are none."""

    @property
    def data(self) -> bytes:
        """The functions, for a host that lacks them."""

    def refresh(self) -> bool:
        """Look for new ones; whether there are any."""


class RayDispatcher:
    """Sends turns to the primary hosts of one cluster. Make it on the loop that uses it, then :meth:`start` it.

    A thread has a first, second, … host by rendezvous hashing. When its host dies or is declared dead, the dead host's
    threads are freed and the same request, with the same run id, goes to the next one: the journal tells that one what
    was done. ``patience`` bounds, in seconds, how long a run that nobody serves is tried again.
    """

    def __init__(
        self,
        primary: Sequence[HostHandle],
        sleeptime: Sequence[HostHandle],
        hosts: HostStore,
        bundle: Functions,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._primary = {handle.name: handle for handle in primary}
        self._all = [*primary, *sleeptime]
        self._hosts, self._bundle, self._patience = hosts, bundle, patience
        self._turn = itertools.count()
        self._introduced = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to watch the hosts' heartbeats."""
        self._keep(self._watch(), "watching the hosts")

    async def introduce(self) -> None:
        """Tell the primary hosts of each other: their runs have child runs."""
        self._introduced = len(self._primary) > 1
        await asyncio.gather(*(self._introduce(handle) for handle in self._primary.values()))

    async def close(self) -> None:
        """Stop watching, and have the hosts forget what this program registered by value."""
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._bundle.edition is not None:
            await asyncio.gather(*(handle.tell("forget", self._bundle.owner) for handle in self._all))

    # --- the protocol ---------------------------------------------------------------------------------------------

    async def run(self, request: RunRequest, invocation_state: Sealed | None) -> RunResult:
        """The turn's result. Cancelling this cancels the turn on its host, and waits until it is stored."""
        route = _Route(self, request)
        while True:
            handle = await route.next()
            data = self._call(request, invocation_state, route.again)
            try:
                answer = answer_in(await handle.ask(functools.partial(_run, data), request.run_id))
            except HostLost as lost:
                await route.lost(handle, lost)
                continue
            if isinstance(answer, RunResult):
                return answer
            await self._settle(route, handle, answer)

    async def stream(self, request: RunRequest, invocation_state: Sealed | None) -> AsyncIterator[RunEvent]:
        """The turn's events. Closing the iterator cancels the turn.

        When the host dies under way, the events go on from another host: a second :class:`RunStarted` with ``resumed``
        comes first, and text of a reply that was not finished may come again.
        """
        route = _Route(self, request)
        last = -1
        while True:
            handle = await route.next()
            data = self._call(request, invocation_state, route.again)
            call = functools.partial(_streamed, data)
            try:
                async with aclosing(handle.items(call, request.run_id)) as items:
                    async for item in items:
                        found = item_in(item)
                        if isinstance(found, Lacking | Failed):
                            await self._settle(route, handle, found)
                            break
                        for event in found:
                            if event.run_id != request.run_id:  # of a child, which counts its own
                                yield event
                                continue
                            if route.again and isinstance(event, RunStarted):
                                event = replace(event, resumed=True)
                            if event.number <= last:
                                event = replace(event, number=last + 1)
                            last = event.number
                            yield event
                            if isinstance(event, RunEnded):
                                return
                    else:
                        await route.lost(handle, HostLost("its stream ended before the run did", handle.id))
            except HostLost as lost:
                await route.lost(handle, lost)

    async def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run; whether a host serves it. All hosts are asked, since any program may have started the run."""
        answers = await asyncio.gather(*(handle.tell("cancel", run_id, mode) for handle in self._primary.values()))
        return any(answer is True for answer in answers)

    # --- more than the protocol -----------------------------------------------------------------------------------

    async def share(self) -> None:
        """Send what is new among the by-value functions and resources to every host.

        Primary hosts would ask for it; those for sleep-time passes learn of runs from Redis and have nobody to ask.
        Raises :class:`FunctionUnavailable`, which names what cannot be pickled.
        """
        if self._bundle.refresh():
            await asyncio.gather(*(self._teach(handle) for handle in self._all if handle.up.is_set()))

    async def statuses(self) -> list[HostStatus]:
        """All hosts, as they are now."""
        found = await asyncio.gather(*(handle.status() for handle in self._all))
        return [
            status or HostStatus(handle.name, handle.name.partition("-")[0])
            for handle, status in zip(self._all, found, strict=True)
        ]

    def order(self, request: RunRequest) -> list[HostHandle]:
        """The hosts for a request, the first choice first; without a session they take turns."""
        names = list(self._primary)
        if request.session_id is not None:
            return [self._primary[name] for name in order(request.thread, names)]
        first = next(self._turn) % len(names)
        return [self._primary[name] for name in names[first:] + names[:first]]

    async def bury(self, handle: HostHandle, lost: HostLost) -> None:
        """Nothing more is sent to that incarnation, and its threads are free. One that is buried already stays so.

        The reader of a stream may learn of a death long after the host has come back; the new incarnation stays.
        """
        if not handle.up.is_set() or handle.id != lost.id:
            return
        handle.lost(str(lost))
        self._keep(self._back(handle), f"return of {handle.name}")
        try:
            await self._hosts.leave(lost.id)
        except StoreUnavailable:
            return  # its heartbeat ends by itself

    # --- inside ---------------------------------------------------------------------------------------------------

    def _call(self, request: RunRequest, invocation_state: Sealed | None, again: bool) -> bytes:
        self._bundle.refresh()
        return packed(Call(request, invocation_state, self._bundle.edition, again))

    async def _settle(self, route: _Route, handle: HostHandle, answer: Lacking | Failed) -> None:
        """What to do before the request is sent again; raises what the caller is to get."""
        if isinstance(answer, Lacking):
            await self._teach(handle)
        elif isinstance(answer.error, HostStopped):
            await route.lost(handle, HostLost(answer.error.problem, handle.id))
        elif isinstance(answer.error, Fenced):
            await route.pause(answer.error)  # somebody else took the thread over: ask for this run's end again
        else:
            raise answer.error

    async def _teach(self, handle: HostHandle) -> None:
        reference = ray.put(self._bundle.data)
        try:
            await handle.ask(lambda actor: actor.learn.remote([reference]))
        except HostLost as lost:
            await self.bury(handle, lost)

    async def _introduce(self, handle: HostHandle) -> None:
        if not self._introduced:
            return
        hosts = [(one.settings, one.actor, HostStatus(one.name, "primary", one.id)) for one in self._primary.values()]
        try:
            await handle.ask(lambda actor: actor.meet.remote(hosts))
        except HostLost as lost:
            await self.bury(handle, lost)

    async def _back(self, handle: HostHandle) -> None:
        await handle.returned()
        if handle.name in self._primary:
            await self._introduce(handle)
        if self._bundle.edition is not None:
            await self._teach(handle)

    async def _watch(self) -> None:
        """Notice hosts that live no longer by the server's clock (stopped, cut off), and new incarnations."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                alive = await self._hosts.alive()
            except StoreUnavailable:
                continue
            for handle in self._all:
                if handle.up.is_set() and handle.id not in alive:
                    await self.bury(handle, HostLost("it missed its heartbeats", handle.id))

    def _keep(self, coroutine: object, name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(coroutine, name=name)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Route:
    """The way of one request from host to host, for a bounded time."""

    def __init__(self, dispatcher: RayDispatcher, request: RunRequest) -> None:
        self.again = False
        self._dispatcher, self._request = dispatcher, request
        self._order = dispatcher.order(request)
        self._since: float | None = None
        self._problem = "no host is up"

    async def next(self) -> HostHandle:
        """The first host in order that is up; waits for one. Raises :class:`HostUnavailable` when the time is over."""
        for handle in self._order:
            if handle.up.is_set():
                return handle
        self._since = self._since or time.monotonic()
        waiting = [asyncio.ensure_future(handle.up.wait()) for handle in self._order]
        try:
            await asyncio.wait(waiting, timeout=self._left(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in waiting:
                future.cancel()
        self._check()
        return await self.next()

    async def lost(self, handle: HostHandle, lost: HostLost) -> None:
        """That host did not answer; what comes next is sent again."""
        self.again = True
        self._problem = f"{handle.name}: {lost}"
        await self._dispatcher.bury(handle, lost)
        self._since = self._since or time.monotonic()
        self._check()

    async def pause(self, fenced: Fenced) -> None:
        """Another owner took over; ask again in a moment."""
        self.again = True
        self._problem = str(fenced)
        self._since = self._since or time.monotonic()
        self._check()
        await asyncio.sleep(0.05)

    def _left(self) -> float:
        return self._dispatcher._patience - (time.monotonic() - (self._since or 0.0))

    def _check(self) -> None:
        if self._left() <= 0:
            problem = f"no host served the run in time ({self._problem}); send it again with the same run id"
            raise HostUnavailable(self._request.run_id, problem)


def _run(data: bytes, actor: Actor) -> ray.ObjectRef:
    return actor.run.remote(data)


def _streamed(data: bytes, actor: Actor) -> ray.ObjectRefGenerator:
    options = {"num_returns": "streaming", "_generator_backpressure_num_objects": UNREAD_BATCHES}
    return actor.stream.options(**options).remote(data)
