"""Things that cannot travel (database connections and the like): opened once per host by a registered factory."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping

from orchestra.core.errors import UnknownName


class Resources:
    """The resources of one host. Owner: the host."""

    def __init__(self, factories: Mapping[str, Callable[[], object]]) -> None:
        self._factories = dict(factories)
        self._opened: dict[str, object] = {}
        self._lock = threading.Lock()

    def add(self, factories: Mapping[str, Callable[[], object]]) -> None:
        """Register factories; what is open already stays."""
        self._factories.update(factories)

    def get(self, name: str) -> object:
        """The resource, opened at its first use. Of an async factory: a task to await. Raises :class:`UnknownName`."""
        with self._lock:
            if name not in self._opened:
                if name not in self._factories:
                    raise UnknownName("resource", name, sorted(self._factories))
                made = self._factories[name]()
                self._opened[name] = asyncio.ensure_future(made) if inspect.isawaitable(made) else made
            return self._opened[name]

    async def close(self) -> None:
        """Close what has a ``close`` or ``aclose``."""
        opened, self._opened = self._opened, {}
        for value in opened.values():
            resource = await value if isinstance(value, asyncio.Future) else value
            close = getattr(resource, "aclose", None) or getattr(resource, "close", None)
            if close is not None and inspect.isawaitable(done := close()):
                await done
