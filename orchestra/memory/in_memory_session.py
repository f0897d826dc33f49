"""A session in this process: for tests and for work that nobody needs tomorrow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from orchestra.core.errors import SessionClosed
from orchestra.core.names import check_session
from orchestra.memory.stored_session import StoredSession
from orchestra.store.session_store import check_ttl


class MemoryLog:
    """Entries in a list, for all threads and event loops of the process."""

    def __init__(self, session_id: str, ttl: float | None, clock: Callable[[], float]) -> None:
        self._session_id, self._ttl, self._clock = session_id, check_ttl(ttl), clock
        self._lock = threading.Lock()
        self._closed = False
        self._entries: list[bytes] = []
        self._generation, self._ends = "", 0.0
        self._times: tuple[float, float] | None = None

    def check_open(self) -> None:
        """Raise :class:`SessionClosed` after :meth:`close`."""
        if self._closed:
            raise SessionClosed(self._session_id)

    async def append(self, entries: Sequence[bytes], operation: str) -> None:
        """Add entries."""
        with self._lock:
            self._live().extend(entries)
            self._touch(operation, moved=False)

    async def tail(self, count: int | None) -> list[bytes]:
        """The last entries."""
        with self._lock:
            return self._live()[0 if count is None else -count :]

    async def pop(self, operation: str) -> bytes | None:
        """Take the last entry away."""
        with self._lock:
            if not self._live():
                return None
            self._touch(operation, moved=True)
            return self._entries.pop()

    async def clear(self, operation: str) -> None:
        """Delete everything."""
        with self._lock:
            self._forget()

    async def assign(self, entries: Sequence[bytes], operation: str) -> None:
        """Replace all entries."""
        with self._lock:
            self._live()[:] = entries
            self._touch(operation, moved=True)

    async def snapshot(self) -> tuple[str, list[bytes]]:
        """Generation and entries."""
        with self._lock:
            return self._generation, list(self._live())

    async def splice(self, generation: str, count: int, entries: Sequence[bytes], operation: str) -> bool:
        """Replace the first entries."""
        with self._lock:
            if len(self._live()) < count or self._generation != generation:
                return False
            self._entries[:count] = entries
            self._touch(operation, moved=True)
            return True

    async def times(self) -> tuple[float, float] | None:
        """(created, updated)."""
        with self._lock:
            self._live()
            return self._times

    async def ping(self) -> bool:
        """True while open."""
        self.check_open()
        return True

    async def close(self) -> None:
        """Forget the entries."""
        with self._lock:
            self._closed = True
            self._forget()

    def _live(self) -> list[bytes]:
        if self._ttl is not None and self._times is not None and self._clock() >= self._ends:
            self._forget()
        return self._entries

    def _touch(self, operation: str, *, moved: bool) -> None:
        now = self._clock()
        if self._times is None or moved:
            self._generation = operation
        self._times = (self._times[0] if self._times else now, now)
        self._ends = now + (self._ttl or 0)

    def _forget(self) -> None:
        self._entries, self._generation, self._times = [], "", None


class InMemorySession(StoredSession):
    """A session whose items live and end with this object.

    Args:
        session_id: 1 to 256 characters.
        ttl: seconds after the last write at which the items are gone.
        session_settings: settings or a dict, such as ``{"limit": 40}``.
        clock: Unix seconds, for tests.
    """

    def __init__(
        self,
        session_id: str,
        *,
        ttl: float | None = None,
        session_settings: object = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(session_id, MemoryLog(check_session(session_id), ttl, clock), session_settings)
