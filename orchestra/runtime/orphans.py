"""Runs on which nobody works: their host died, or gave them up, and their caller is gone. A living host finds them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from orchestra.core.errors import OrchestraError
from orchestra.runtime.resuming import ending, stored_request
from orchestra.store.run_store import RunStore, StoredRun

if TYPE_CHECKING:
    from orchestra.runtime.host import Host

LOOK_SECONDS = 5.0
GRACE_SECONDS = 15.0
NEEDS_STATE = "invocation_state"
_log = logging.getLogger("orchestra")


class OrphanWatch:
    """Looks for orphaned runs from time to time. Owner: one host.

    Orphaned is a run whose host is dead, and one of this very host that it does not serve: the server was away too
    long, the caller got that error and did not come again. A living caller sends its run again by itself, so an orphan
    is left alone for ``grace`` seconds. A child run is left alone for as long as there is the run above it, which sends
    it again; after that it is ended. Two hosts (or a host and a late caller) that take the same run up at once: the
    lease lets one in, the other gets the stored result.

    A run that came with an ``invocation_state`` cannot be done without it: it is ``interrupted`` until it is resumed.
    So is one that cannot be done at all (its agent is gone, say), with the error's name as reason.
    """

    def __init__(self, host: Host, *, look: float = LOOK_SECONDS, grace: float = GRACE_SECONDS) -> None:
        self._host, self._look, self._grace = host, look, grace
        self._runs = RunStore(host.store)
        self._seen: dict[str, float] = {}
        self._doing: set[str] = set()

    async def forever(self) -> None:
        """Look until cancelled. A run that takes its time, or fails, keeps no other one waiting."""
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(self._look)
                try:
                    for run in await self._found():
                        group.create_task(self._do(run), name=f"orphan {run.run_id}")
                except OrchestraError:
                    continue  # the server is away for a moment: the next look tells

    async def once(self) -> list[str]:
        """One look, to the end of what was found; the ids of the runs that were done or set to wait."""
        found = await self._found()
        await asyncio.gather(*(self._do(run) for run in found))
        return [run.run_id for run in found]

    async def _found(self) -> list[StoredRun]:
        alive = set(await self._host.hosts.alive()) - {self._host.id}
        live = await self._runs.live()
        served, now = {*self._host.active, *self._doing}, time.monotonic()
        ids = {run.run_id for run in live}
        lost = (run for run in live if run.status == "running" and run.host not in alive and run.parent not in ids)
        orphans = [run for run in lost if run.run_id not in served]
        self._seen = {run.run_id: self._seen.get(run.run_id, now) for run in orphans}
        return [run for run in orphans if now - self._seen[run.run_id] >= self._grace]

    async def _do(self, run: StoredRun) -> None:
        self._doing.add(run.run_id)
        try:
            if run.parent:
                await self._host.run(ending(run, "cancelled"))
            elif run.needs_invocation_state:
                await self._runs.interrupt(run, NEEDS_STATE, self._host.id)
            else:
                await self._host.run(stored_request(run))
        except Exception as error:
            await self._failed(run, error)
        finally:
            self._doing.discard(run.run_id)

    async def _failed(self, run: StoredRun, error: Exception) -> None:
        if isinstance(error, OrchestraError) and error.retryable:
            return  # the next look tries again
        _log.warning("run %s cannot be done: %s: %s", run.run_id, type(error).__name__, error)
        try:
            await self._runs.interrupt(run, type(error).__name__, self._host.id)
        except OrchestraError:
            return
