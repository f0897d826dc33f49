"""What every session does over its storage: limits, corrupt entries, snapshots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from orchestra.memory.session_items import Item, decoded, encoded
from orchestra.memory.session_settings import check_limit, settings_from


class EntryLog(Protocol):
    """The storage of one session. Entries are UTF-8 texts; ``operation`` names a write, so that it counts once.

    ``generation`` changes with everything but an append, and never comes back.
    """

    def check_open(self) -> None:
        """Raise :class:`~orchestra.core.errors.SessionClosed` after ``close``."""

    async def append(self, entries: Sequence[bytes], operation: str) -> None:
        """Add entries at the end, all or none."""

    async def tail(self, count: int | None) -> list[bytes]:
        """All entries, or the last ``count``, oldest first."""

    async def pop(self, operation: str) -> bytes | None:
        """Take the last entry away."""

    async def clear(self, operation: str) -> None:
        """Delete everything."""

    async def assign(self, entries: Sequence[bytes], operation: str) -> None:
        """Replace all entries."""

    async def snapshot(self) -> tuple[str, list[bytes]]:
        """(generation, all entries) at one moment."""

    async def splice(self, generation: str, count: int, entries: Sequence[bytes], operation: str) -> bool:
        """Replace the first ``count`` entries of ``generation``; False when the history has moved."""

    async def times(self) -> tuple[float, float] | None:
        """(created, updated) in Unix seconds."""

    async def ping(self) -> bool:
        """Whether the storage answers."""

    async def close(self) -> None:
        """Let go of what this object opened."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A history at one moment. ``ends[i]`` is how many stored entries (corrupt ones too) the items up to i take up."""

    generation: str
    items: tuple[Item, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """When a session was made and last written, in Unix seconds."""

    created_at: float
    updated_at: float


def _operation() -> str:
    """A new operation id. Drawn for each call, so that forked processes do not share one."""
    return os.urandom(16).hex()


class StoredSession:
    """The session protocol over one :class:`EntryLog`.

    ``corrupt_items`` counts the entries that reading and popping have skipped since they were no JSON objects.
    ``session_settings`` is a :class:`~orchestra.memory.session_settings.SessionSettings`.
    """

    session_id: str
    session_settings: Any
    corrupt_items: int

    def __init__(self, session_id: str, log: EntryLog, session_settings: object = None) -> None:
        self.session_id, self._log = session_id, log
        self.session_settings = settings_from(session_settings)
        self.corrupt_items = 0

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the last ``limit``, oldest first. ``None`` takes the limit of the settings; 0 reads nothing.

        Raises:
            InputError: ``limit`` is negative (a ``ValueError``).
            SessionClosed: after :meth:`close` of a session that owns its storage.
        """
        self._log.check_open()
        wanted = check_limit(limit if limit is not None else settings_from(self.session_settings).limit)
        if wanted is None:
            return self._readable(await self._log.tail(None))
        if wanted == 0:
            return []
        window = wanted
        while True:
            # Each window is read from the end anew: entries appended meanwhile cannot make a gap or a repeat.
            entries = await self._log.tail(window)
            items = [item for entry in entries if (item := decoded(entry)) is not None]
            if len(items) >= wanted or len(entries) < window:
                self.corrupt_items += len(entries) - len(items)
                return items[-wanted:]
            window *= 2

    async def add_items(self, items: Sequence[Item]) -> None:
        """Append the items in one step, all or none; nothing for an empty list.

        Raises:
            InputError: an item is no JSON object; nothing of the batch is stored.
        """
        self._log.check_open()
        if items:
            await self._log.append(encoded(items), _operation())

    async def pop_item(self) -> Item | None:
        """Take the newest item away, or ``None``; corrupt entries behind it are dropped."""
        self._log.check_open()
        while (entry := await self._log.pop(_operation())) is not None:
            if (item := decoded(entry)) is not None:
                return item
            self.corrupt_items += 1
        return None

    async def clear_session(self) -> None:
        """Delete the items and everything that was kept beside them."""
        self._log.check_open()
        await self._log.clear(_operation())

    async def set_items(self, items: Sequence[Item]) -> None:
        """Replace the whole history in one step. On an error the old one is there. Raises as :meth:`add_items`."""
        self._log.check_open()
        await self._log.assign(encoded(items), _operation())

    async def snapshot(self) -> Snapshot:
        """The whole history, to be handed to :meth:`replace_items`."""
        self._log.check_open()
        generation, entries = await self._log.snapshot()
        found = [(item, end) for end, entry in enumerate(entries, 1) if (item := decoded(entry)) is not None]
        self.corrupt_items += len(entries) - len(found)
        return Snapshot(generation, tuple(item for item, _ in found), tuple(end for _, end in found))

    async def replace_items(self, snapshot: Snapshot, count: int, items: Sequence[Item]) -> bool:
        """Replace the first ``count`` items of ``snapshot``; what was appended since stays behind them.

        False: items were popped, cleared or replaced meanwhile, and nothing was changed. Raises as :meth:`add_items`.
        """
        self._log.check_open()
        if count == 0 or not snapshot.generation:
            return False
        return await self._log.splice(snapshot.generation, snapshot.ends[count - 1], encoded(items), _operation())

    async def times(self) -> SessionTimes | None:
        """When the session was made and last written; ``None`` when nothing is stored."""
        self._log.check_open()
        found = await self._log.times()
        return None if found is None else SessionTimes(*found)

    async def ping(self) -> bool:
        """Whether the storage answers now. Raises :class:`SessionClosed` after :meth:`close`."""
        return await self._log.ping()

    async def close(self) -> None:
        """Let go of what this session opened; twice is fine. What was handed in (a client) stays open."""
        await self._log.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _readable(self, entries: Sequence[bytes]) -> list[Item]:
        items = [item for entry in entries if (item := decoded(entry)) is not None]
        self.corrupt_items += len(entries) - len(items)
        return items
