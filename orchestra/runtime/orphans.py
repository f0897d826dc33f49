"""Runs whose host died and whose caller is gone too: a living host finds them and does them to their end."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from orchestra.core.errors import OrchestraError
from orchestra.core.names import split_thread
from orchestra.runtime.request import RunRequest
from orchestra.store.run_store import RunStore, StoredRun

if TYPE_CHECKING:
    from orchestra.runtime.host import Host

LOOK_SECONDS = 5.0
GRACE_SECONDS = 15.0


def stored_request(run: StoredRun) -> RunRequest:
    """The request of a stored run, to be sent again under its own id."""
    agent, session_id = split_thread(run.thread)
    return RunRequest.from_text(
        run.request, run_id=run.run_id, agent=agent, session_id=session_id, user_id=run.user or None
    )


class OrphanWatch:
    """Looks for orphaned runs from time to time. Owner: one host.

    A living caller sends its run again by itself, so an orphan is left alone for ``grace`` seconds. Two hosts (or a
    host and a late caller) that take the same run up at once: the lease lets one in, the other gets the stored result.
    A run that came with an ``invocation_state`` cannot be done without it: it is ``interrupted`` until it is resumed.
    """

    def __init__(self, host: Host, *, look: float = LOOK_SECONDS, grace: float = GRACE_SECONDS) -> None:
        self._host, self._look, self._grace = host, look, grace
        self._runs = RunStore(host.store)
        self._seen: dict[str, float] = {}

    async def forever(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(self._look)
            try:
                await self.once()
            except OrchestraError:
                continue  # the server is away for a moment, or a run could not be done here: the next look tells

    async def once(self) -> list[str]:
        """One look; the ids of the runs that were done or set to wait."""
        alive = set(await self._host.hosts.alive())
        now, done = time.monotonic(), []
        orphans = [run for run in await self._runs.live() if run.status == "running" and run.host not in alive]
        self._seen = {run.run_id: self._seen.get(run.run_id, now) for run in orphans}
        for run in orphans:
            if now - self._seen[run.run_id] < self._grace:
                continue
            if run.needs_invocation_state:
                await self._runs.wait_for_state(run.run_id)
            else:
                await self._host.run(stored_request(run))
            done.append(run.run_id)
        return done
