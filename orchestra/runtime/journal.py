"""The journal of a run: what is not done twice after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from orchestra.core.errors import HostUnavailable
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.store.thread_store import ThreadStore

MARK = "j:started"


class Journal(Protocol):
    """What was done before, and a place to note what is done. Names: ``m:<call>``, ``t:<call>.<index>``, ``o:…``.

    ``durable``: what is written is there after a crash.
    """

    durable: bool

    def known(self, name: str) -> str | None:
        """The entry of an earlier attempt at this run, or ``None``."""

    def entries(self, prefix: str) -> Mapping[str, str]:
        """Those of an earlier attempt whose names begin with ``prefix``."""

    async def write(self, name: str, value: str) -> str:
        """Note ``value`` once; what stands there. Raises :class:`Fenced` when another host has taken over."""

    async def mark(self, name: str, value: str) -> None:
        """Note ``value`` so that it is there after a crash, where anything is; as :meth:`write` else."""

    async def starting(self) -> None:
        """A tool that cannot be repeated is about to start."""

    def unstored(self) -> Mapping[str, str]:
        """What was noted and is not stored: a run that is to wait stores it."""

    def check(self) -> None:
        """Raises :class:`HostUnavailable` when an earlier attempt cannot be gone on with."""


class NoJournal:
    """For runs of which nothing is kept: without a session."""

    durable = False

    def known(self, name: str) -> str | None:
        """Nothing."""
        return None

    def entries(self, prefix: str) -> Mapping[str, str]:
        """Nothing."""
        return {}

    async def write(self, name: str, value: str) -> str:
        """Nothing is written."""
        return value

    async def mark(self, name: str, value: str) -> None:
        """Nothing is written."""
        await self.write(name, value)

    async def starting(self) -> None:
        """Nothing is written."""

    def unstored(self) -> Mapping[str, str]:
        """Nothing was noted."""
        return {}

    def check(self) -> None:
        """There is no earlier attempt."""


class StoredJournal:
    """The journal in Redis. Each entry also tells whether a block moved; the next view then has it."""

    durable = True

    def __init__(
        self, threads: ThreadStore, run_id: str, thread: str, token: int, blocks: RunBlocks, known: Mapping[str, str]
    ) -> None:
        self._threads, self._run, self._thread, self._token = threads, run_id, thread, token
        self._blocks, self._known = blocks, {name.removeprefix("j:"): value for name, value in known.items()}

    def known(self, name: str) -> str | None:
        """The entry of an earlier attempt, or ``None``."""
        return self._known.get(name)

    def entries(self, prefix: str) -> Mapping[str, str]:
        """Those of an earlier attempt."""
        return {name: value for name, value in self._known.items() if name.startswith(prefix)}

    async def write(self, name: str, value: str) -> str:
        """Note it, once."""
        done = await self._threads.journal(
            self._run, self._thread, self._token, name, value, self._blocks.ids, self._blocks.stamps
        )
        self._blocks.refresh(done.blocks)
        return done.value

    async def mark(self, name: str, value: str) -> None:
        """Note it, once."""
        await self.write(name, value)

    async def starting(self) -> None:
        """The reply that calls it is written already."""

    def unstored(self) -> Mapping[str, str]:
        """All is stored."""
        return {}

    def check(self) -> None:
        """All that was done is known."""


class BlockWatch(NoJournal):
    """Nothing is stored, only kept here in case that the run is to wait; ``known`` is what a run that waited had kept.

    Blocks are still looked at after each step, so an edit is in the very next prompt.
    """

    def __init__(self, blocks: RunBlocks, known: Mapping[str, str] | None = None) -> None:
        self._blocks, self._known, self._kept = blocks, known or {}, dict[str, str]()

    def known(self, name: str) -> str | None:
        """The entry of an earlier part of this run, or ``None``."""
        return self._known.get(name)

    def entries(self, prefix: str) -> Mapping[str, str]:
        """Those of an earlier part of this run."""
        return {name: value for name, value in self._known.items() if name.startswith(prefix)}

    async def write(self, name: str, value: str) -> str:
        """Nothing is stored; blocks are read anew."""
        for block_id in self._blocks.ids:
            if found := await self._blocks.store.read(block_id):
                self._blocks.refresh([found])
        return self._kept.setdefault(name, value)

    def unstored(self) -> Mapping[str, str]:
        """Everything of this part."""
        return self._kept


class StartMark(BlockWatch):
    """``persistence: turn``: nothing of what is said is written, only that a tool was started that has no second try.

    Without that mark a run is done again from its beginning when its host is lost; with it, that would start the tool
    twice, so the run fails.
    """

    def __init__(
        self, threads: ThreadStore, run_id: str, thread: str, token: int, blocks: RunBlocks, known: Mapping[str, str]
    ) -> None:
        super().__init__(blocks, {name.removeprefix("j:"): value for name, value in known.items()})
        self._threads, self._where = threads, (run_id, thread, token)
        self._marked = MARK in known

    async def mark(self, name: str, value: str) -> None:
        """This is stored: what waits for an answer is stored too. Raises :class:`Fenced`."""
        await self._threads.journal(*self._where, name, value, (), ())

    async def starting(self) -> None:
        """Written once in a run. Raises :class:`Fenced` when another host has taken over."""
        if not self._marked:
            await self._threads.journal(*self._where, MARK.removeprefix("j:"), "1", (), ())
            self._marked = True

    def check(self) -> None:
        """Raises :class:`HostUnavailable` when an earlier attempt left its mark."""
        if self._marked:
            problem = (
                "it was lost after a tool had been started that cannot be repeated; with persistence: turn it is not "
                "known what came of it, so the run was not started again"
            )
            raise HostUnavailable("of this run", problem)
