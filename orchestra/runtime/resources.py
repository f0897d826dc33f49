"""Things that cannot travel (database connections and the like): opened once per host by a registered factory."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Mapping

from orchestra.core.errors import InputError, UnknownName

_log = logging.getLogger("orchestra")


class Resources:
    """The resources of one host. Owner: the host.

    What could not be opened is tried again at the next use. Who waits for one and is cancelled cancels nobody else's.
    """

    def __init__(self, factories: Mapping[str, Callable[[], object]]) -> None:
        self._factories = dict(factories)
        self._opened: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}

    def add(self, factories: Mapping[str, Callable[[], object]]) -> None:
        """Register factories; what is open already stays."""
        self._factories.update(factories)

    def get(self, name: str) -> object:
        """The resource, opened at its first use. Of an async factory: something to await.

        Raises:
            UnknownName: nothing is registered under this name.
            InputError: a sync tool is the first to ask for one whose factory is async.
        """
        with self._locks.setdefault(name, threading.Lock()):  # two sync tools in threads of their own open it once
            found = self._opened.get(name)
            if found is None or (isinstance(found, asyncio.Future) and _failed(found)):
                found = self._opened[name] = self._open(name)
        return asyncio.shield(found) if isinstance(found, asyncio.Future) else found

    def _open(self, name: str) -> object:
        if name not in self._factories:
            raise UnknownName("resource", name, sorted(self._factories))
        made = self._factories[name]()
        if not inspect.isawaitable(made):
            return made
        try:
            return asyncio.ensure_future(made)
        except RuntimeError:  # no event loop in this thread
            if inspect.iscoroutine(made):
                made.close()
            raise InputError(f"resource {name!r} has an async factory: only an async tool can open it") from None

    async def close(self) -> None:
        """Close what has a ``close`` or ``aclose``; what refuses is logged."""
        opened, self._opened = self._opened, {}
        for name, value in opened.items():
            try:
                resource = await value if isinstance(value, asyncio.Future) else value
                close = getattr(resource, "aclose", None) or getattr(resource, "close", None)
                if close is not None and inspect.isawaitable(done := close()):
                    await done
            except Exception as error:
                _log.warning("resource %s is not closed: %s: %s", name, type(error).__name__, error)


def _failed(opening: asyncio.Future[object]) -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)
