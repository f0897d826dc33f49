"""A session in an SQLite file: for one machine without a server."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from orchestra.core.errors import SessionClosed, StoreUnavailable
from orchestra.core.names import check_session
from orchestra.core.settling import outlast
from orchestra.memory.stored_session import StoredSession
from orchestra.store.session_store import check_ttl

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS orchestra_sessions (session_id TEXT PRIMARY KEY, generation TEXT NOT NULL,"
    " created_at REAL NOT NULL, updated_at REAL NOT NULL, ends_at REAL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS orchestra_items (session_id TEXT NOT NULL, place INTEGER NOT NULL,"
    " item BLOB NOT NULL, PRIMARY KEY (session_id, place)) WITHOUT ROWID",
)


class SQLiteLog:
    """One session in a file. Every operation is a transaction in a worker thread; writers wait for each other."""

    def __init__(self, session_id: str, path: str | Path, ttl: float | None, clock: Callable[[], float]) -> None:
        self._session_id, self._path, self._ttl, self._clock = session_id, str(path), check_ttl(ttl), clock
        self._lock = threading.Lock()
        self._closed = False
        self._connection: sqlite3.Connection | None = None

    def check_open(self) -> None:
        """Raise :class:`SessionClosed` after :meth:`close`."""
        if self._closed:
            raise SessionClosed(self._session_id)

    async def append(self, entries: Sequence[bytes], operation: str) -> None:
        """Add entries in one transaction."""

        def work(db: sqlite3.Connection, now: float) -> None:
            self._push(db, self._edge(db, "MAX") + 1, entries)
            self._touch(db, operation, now, moved=False)

        await self._off_loop(work)

    async def tail(self, count: int | None) -> list[bytes]:
        """The last entries."""

        def work(db: sqlite3.Connection, now: float) -> list[bytes]:
            found = db.execute(
                "SELECT item FROM orchestra_items WHERE session_id = ?1 AND NOT EXISTS (SELECT 1 FROM"
                " orchestra_sessions WHERE session_id = ?1 AND ends_at <= ?2) ORDER BY place DESC LIMIT ?3",
                (self._session_id, now, -1 if count is None else count),
            ).fetchall()
            return [_bytes(item) for (item,) in reversed(found)]

        return await self._off_loop(work, writes=False)

    async def pop(self, operation: str) -> bytes | None:
        """Take the last entry away."""

        def work(db: sqlite3.Connection, now: float) -> bytes | None:
            found = db.execute(
                "DELETE FROM orchestra_items WHERE session_id = ?1 AND place = (SELECT MAX(place) FROM"
                " orchestra_items WHERE session_id = ?1) RETURNING item",
                (self._session_id,),
            ).fetchone()
            if found is None:
                return None
            self._touch(db, operation, now, moved=True)
            return _bytes(found[0])

        return await self._off_loop(work)

    async def clear(self, operation: str) -> None:
        """Delete everything."""
        await self._off_loop(lambda db, now: self._forget(db))

    async def assign(self, entries: Sequence[bytes], operation: str) -> None:
        """Replace all entries in one transaction."""

        def work(db: sqlite3.Connection, now: float) -> None:
            db.execute("DELETE FROM orchestra_items WHERE session_id = ?", (self._session_id,))
            self._push(db, 1, entries)
            self._touch(db, operation, now, moved=True)

        await self._off_loop(work)

    async def snapshot(self) -> tuple[str, list[bytes]]:
        """Generation and entries at one moment."""

        def work(db: sqlite3.Connection, now: float) -> tuple[str, list[bytes]]:
            found = db.execute(
                "SELECT item FROM orchestra_items WHERE session_id = ? ORDER BY place", (self._session_id,)
            ).fetchall()
            return self._generation(db), [_bytes(item) for (item,) in found]

        return await self._off_loop(work)

    async def splice(self, generation: str, count: int, entries: Sequence[bytes], operation: str) -> bool:
        """Replace the first entries if the generation is the same."""

        def work(db: sqlite3.Connection, now: float) -> bool:
            places = db.execute(
                "SELECT place FROM orchestra_items WHERE session_id = ? ORDER BY place LIMIT ?",
                (self._session_id, count),
            ).fetchall()
            if self._generation(db) != generation or len(places) < count:
                return False
            last = places[-1][0]
            db.execute("DELETE FROM orchestra_items WHERE session_id = ? AND place <= ?", (self._session_id, last))
            self._push(db, last - len(entries) + 1, entries)
            self._touch(db, operation, now, moved=True)
            return True

        return await self._off_loop(work)

    async def times(self) -> tuple[float, float] | None:
        """(created, updated)."""

        def work(db: sqlite3.Connection, now: float) -> tuple[float, float] | None:
            found = db.execute(
                "SELECT created_at, updated_at FROM orchestra_sessions WHERE session_id = ?", (self._session_id,)
            ).fetchone()
            return None if found is None else (found[0], found[1])

        return await self._off_loop(work)

    async def ping(self) -> bool:
        """Whether the file can be read."""
        self.check_open()
        try:
            await self._off_loop(lambda db, now: db.execute("SELECT 1").fetchone(), writes=False)
        except StoreUnavailable:
            return False
        return True

    async def close(self) -> None:
        """Close the file."""

        def work() -> None:
            with self._lock:
                self._closed = True
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None

        await outlast(asyncio.to_thread(work))

    # --- in the worker thread ---------------------------------------------------------------------------------------

    async def _off_loop(self, work: Callable[[sqlite3.Connection, float], T], *, writes: bool = True) -> T:
        """Run ``work`` in a thread. A thread cannot be cancelled, so a cancelled caller waits for the outcome."""

        def inside() -> T:
            with self._lock, self._typed():
                self.check_open()
                db, now = self._open(), self._clock()
                if not writes:
                    return work(db, now)
                db.execute("BEGIN IMMEDIATE")
                try:
                    ended = "SELECT 1 FROM orchestra_sessions WHERE session_id = ? AND ends_at <= ?"
                    if db.execute(ended, (self._session_id, now)).fetchone():
                        self._forget(db)
                    answer = work(db, now)
                    db.execute("COMMIT")
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                return answer

        return await outlast(asyncio.to_thread(inside))

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(self._path, str(error)) from None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            made = sqlite3.connect(self._path, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                _write_ahead(made)
                for statement in SCHEMA:
                    made.execute(statement)
            except BaseException:
                made.close()
                raise
            self._connection = made
        return self._connection

    def _edge(self, db: sqlite3.Connection, which: str) -> int:
        found = db.execute(f"SELECT {which}(place) FROM orchestra_items WHERE session_id = ?", (self._session_id,))
        return int(found.fetchone()[0] or 0)

    def _push(self, db: sqlite3.Connection, first: int, entries: Sequence[bytes]) -> None:
        rows = [(self._session_id, place, entry) for place, entry in enumerate(entries, first)]
        db.executemany("INSERT INTO orchestra_items VALUES (?, ?, ?)", rows)

    def _touch(self, db: sqlite3.Connection, operation: str, now: float, *, moved: bool) -> None:
        ends = None if self._ttl is None else now + self._ttl
        keep = "generation" if not moved else "excluded.generation"
        db.execute(
            "INSERT INTO orchestra_sessions VALUES (?1, ?2, ?3, ?3, ?4) ON CONFLICT (session_id) DO UPDATE SET"
            f" generation = {keep}, updated_at = ?3, ends_at = COALESCE(?4, ends_at)",
            (self._session_id, operation, now, ends),
        )

    def _generation(self, db: sqlite3.Connection) -> str:
        wanted = "SELECT generation FROM orchestra_sessions WHERE session_id = ?"
        found = db.execute(wanted, (self._session_id,)).fetchone()
        return "" if found is None else str(found[0])

    def _forget(self, db: sqlite3.Connection) -> None:
        for table in ("orchestra_items", "orchestra_sessions"):
            db.execute(f"DELETE FROM {table} WHERE session_id = ?", (self._session_id,))


def _write_ahead(db: sqlite3.Connection) -> None:
    """Readers and one writer at a time. Switching is refused while another process switches, whatever the timeout."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() >= end:
                raise
            threading.Event().wait(0.01)


def _bytes(item: object) -> bytes:
    return item if isinstance(item, bytes) else str(item).encode(errors="surrogatepass")


class SQLiteSession(StoredSession):
    """A session in an SQLite file (write-ahead log), or in memory until :meth:`close`.

    Several processes of one machine may use one file. Work is done in threads: the event loop waits for no disk.

    Args:
        session_id: 1 to 256 characters.
        path: the file; made when it is not there. Several sessions may share it.
        ttl: seconds after the last write at which the session is gone.
        session_settings: settings or a dict, such as ``{"limit": 40}``.
        clock: Unix seconds, for tests.
    """

    def __init__(
        self,
        session_id: str,
        path: str | Path = ":memory:",
        *,
        ttl: float | None = None,
        session_settings: object = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(session_id, SQLiteLog(check_session(session_id), path, ttl, clock), session_settings)
