"""The journal of a run: what is not done twice after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from orchestra.runtime.run_blocks import RunBlocks
from orchestra.store.thread_store import ThreadStore


class Journal(Protocol):
    """What was done before, and a place to note what is done. Names: ``m:<call>``, ``t:<call>.<index>``, ``o:…``."""

    def known(self, name: str) -> str | None:
        """The entry of an earlier attempt at this run, or ``None``."""

    async def write(self, name: str, value: str) -> str:
        """Note ``value`` once; what stands there. Raises :class:`Fenced` when another host has taken over."""


class NoJournal:
    """For runs of which nothing is kept: without a session, or with ``persistence: turn``."""

    def known(self, name: str) -> str | None:
        """Nothing."""
        return None

    async def write(self, name: str, value: str) -> str:
        """Nothing is written."""
        return value


class StoredJournal:
    """The journal in Redis. Each entry also tells whether a block moved; the next view then has it."""

    def __init__(
        self, threads: ThreadStore, run_id: str, thread: str, token: int, blocks: RunBlocks, known: Mapping[str, str]
    ) -> None:
        self._threads, self._run, self._thread, self._token = threads, run_id, thread, token
        self._blocks, self._known = blocks, {name.removeprefix("j:"): value for name, value in known.items()}

    def known(self, name: str) -> str | None:
        """The entry of an earlier attempt, or ``None``."""
        return self._known.get(name)

    async def write(self, name: str, value: str) -> str:
        """Note it, once."""
        done = await self._threads.journal(
            self._run, self._thread, self._token, name, value, self._blocks.ids, self._blocks.stamps
        )
        self._blocks.refresh(done.blocks)
        return done.value


class BlockWatch(NoJournal):
    """No journal, but blocks are still looked at after each step, so an edit is in the very next prompt."""

    def __init__(self, blocks: RunBlocks) -> None:
        self._blocks = blocks

    async def write(self, name: str, value: str) -> str:
        """Nothing is written; blocks are read anew."""
        for block_id in self._blocks.ids:
            if found := await self._blocks.store.read(block_id):
                self._blocks.refresh([found])
        return value
