"""How a host reaches the others for child runs: each child goes to the host of its own thread, or runs here."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING

from orchestra.cluster.envelope import Edition
from orchestra.cluster.host_actors import Actor
from orchestra.cluster.host_handle import HostHandle
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.host_status import HostStatus
from orchestra.cluster.ray_dispatch import RayDispatcher
from orchestra.cluster.rendezvous import order
from orchestra.core.errors import HostUnavailable
from orchestra.core.events import RunEnded
from orchestra.core.result import RunResult
from orchestra.runtime.host import Host
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed
from orchestra.store.host_store import HostStore

if TYPE_CHECKING:
    from orchestra.runtime.turn_context import Emit

PATIENCE_SECONDS = 10.0
#: Whose by-value functions the run needs that is served here: its children need the same ones.
edition_of_run: ContextVar[Edition | None] = ContextVar("edition_of_run", default=None)


class ForwardedBundle:
    """The functions of whatever program's run is served, as this host got them. Stands in for that program's bundle."""

    owner = ""

    def __init__(self) -> None:
        self._learned: dict[str, bytes] = {}

    def keep(self, edition: Edition, data: bytes) -> None:
        """Remember what a program sent."""
        self._learned[edition.owner] = data

    def forget(self, owner: str) -> None:
        """The program has gone."""
        self._learned.pop(owner, None)

    def refresh(self) -> bool:
        """Nothing is made here."""
        return False

    @property
    def edition(self) -> Edition | None:
        """The edition that the run being served came with."""
        return edition_of_run.get()

    @property
    def data(self) -> bytes:
        """The functions of that run's program."""
        edition = self.edition
        return b"" if edition is None else self._learned[edition.owner]


class SiblingHosts:
    """Child runs of one host. Owner: its event loop.

    A child has its host by rendezvous hashing over its thread, among this one and those that are up; without a session
    they take turns. When that host dies the same child run goes to another one, in the end to this one.
    """

    def __init__(self, host: Host, settings: HostSettings, bundle: ForwardedBundle) -> None:
        self._host, self._settings, self._bundle = host, settings, bundle
        self._others: Mapping[str, HostHandle] = {}
        self._dispatcher: RayDispatcher | None = None
        self._turn = itertools.count()

    async def meet(self, hosts: Sequence[tuple[HostSettings, Actor, HostStatus]]) -> None:
        """These are the primary hosts, this one among them. Again: they may be others now."""
        await self.close()
        mine = self._settings.actor_name
        others = [HostHandle(settings, actor, status) for settings, actor, status in hosts if status.name != mine]
        self._others = {handle.name: handle for handle in others}
        if others:
            store = HostStore(self._host.store)
            self._dispatcher = RayDispatcher(others, (), store, self._bundle, patience=PATIENCE_SECONDS)
            await self._dispatcher.start()

    async def close(self) -> None:
        """Know nobody any more."""
        dispatcher, self._dispatcher, self._others = self._dispatcher, None, {}
        if dispatcher is not None:
            await dispatcher.close()

    async def run_child(self, request: RunRequest, invocation_state: Sealed | None, emit: Emit | None) -> RunResult:
        """The child's result."""
        dispatcher = self._dispatcher
        if dispatcher is None or self._place(request) == self._settings.actor_name:
            return await self._host.run_child(request, invocation_state, emit)
        try:
            if emit is None:
                return await dispatcher.run(request, invocation_state)
            return await _forwarded(dispatcher, request, invocation_state, emit)
        except HostUnavailable:
            if request.session_id is None:
                raise  # nothing of it was kept: whether it may be done again is not for this host to say
            return await self._host.run_child(request, invocation_state, emit)

    def _place(self, request: RunRequest) -> str:
        names = [self._settings.actor_name, *(name for name, handle in self._others.items() if handle.up.is_set())]
        if request.session_id is None:
            return sorted(names)[next(self._turn) % len(names)]
        return order(request.thread, names)[0]


async def _forwarded(
    dispatcher: RayDispatcher, request: RunRequest, invocation_state: Sealed | None, emit: Emit
) -> RunResult:
    async with aclosing(dispatcher.stream(request, invocation_state)) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, RunEnded):
                return event.result
            emit(event)
    raise HostUnavailable(request.run_id, "its stream ended before the run did")
