"""How a run reaches a host: one protocol, and the dispatcher within one process. The one on Ray is on floor 6."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Protocol, TypeVar

from orchestra.core.events import RunEvent
from orchestra.core.result import RunResult
from orchestra.runtime.host import Host
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.turn_context import CancelMode

T = TypeVar("T")


class Dispatcher(Protocol):
    """Runs a turn on some host."""

    async def run(self, request: RunRequest, invocation_state: Sealed | None) -> RunResult:
        """The turn's result. Raises :class:`HostUnavailable` when no host serves it; the request may be repeated."""

    def stream(self, request: RunRequest, invocation_state: Sealed | None) -> AsyncIterator[RunEvent]:
        """The turn's events, :class:`RunEnded` last. Closing the iterator cancels the turn."""

    async def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run; whether a host serves it."""


class InlineDispatcher:
    """A host in this process. Arguments and results are pickled and copied just as Ray would."""

    def __init__(self, host: Host) -> None:
        self.host = host

    async def run(self, request: RunRequest, invocation_state: Sealed | None) -> RunResult:
        """The turn's result."""
        return _copied(await self.host.run(_copied(request), invocation_state))

    async def stream(self, request: RunRequest, invocation_state: Sealed | None) -> AsyncIterator[RunEvent]:
        """The turn's events."""
        async with aclosing(self.host.stream(_copied(request), invocation_state)) as events:  # type: ignore[type-var]
            async for event in events:
                yield _copied(event)

    async def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run."""
        return self.host.cancel(run_id, mode)


def _copied(value: T) -> T:
    return pickle.loads(pickle.dumps(value, protocol=5))  # type: ignore[no-any-return]
