"""The passes of one thread as they happen, and waiting for those that are due."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

from orchestra.cluster.scenario import progress as told
from orchestra.cluster.scenario.passes import PassReport, with_diffs
from orchestra.core.agent import Sleeptime
from orchestra.core.errors import StoreUnavailable
from orchestra.memory.blocks import Blocks
from orchestra.store.connection import Store
from orchestra.store.event_store import EventFeed
from orchestra.store.pass_store import PassStore

LOOK_SECONDS = 1.0


class PassWatch:
    """Tells the passes of one thread while its ``async with`` is open.

    ``tell`` gets :class:`PassPublished` (with diffs) and :class:`PassFailed` from the feed of events, and
    :class:`Waiting` and :class:`GaveUp` from :meth:`drain`.
    """

    def __init__(self, store: Store, thread: str, *, tell: Callable[[told.PassProgress], None]) -> None:
        self._store, self._thread, self._tell = store, thread, tell
        self._passes, self._blocks = PassStore(store), Blocks(store)
        self._feed = EventFeed(store)
        self._heard, self._moved = "0-0", asyncio.Event()
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> PassWatch:
        self._heard = await self._feed.latest()
        self._listening = asyncio.create_task(self._listen(), name=f"passes of {self._thread}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._feed.close()

    async def drain(self, turn: int, *, seconds: float) -> None:
        """Wait until no pass of the thread is queued, or for ``seconds``. All that has happened has been told then."""
        until, waits = time.monotonic() + seconds, False
        while True:
            self._moved.clear()
            if self._thread not in await self._passes.pending():
                break
            if not waits:
                self._tell(told.Waiting(turn))
                waits = True
            if time.monotonic() > until:
                self._tell(told.GaveUp(turn, seconds))
                return
            await self._wait(LOOK_SECONDS)
        await self._catch_up()

    async def _catch_up(self) -> None:
        """Wait until the feed has told what it holds now; only a lost connection makes that take longer than this."""
        newest, until = _place(await self._feed.latest()), time.monotonic() + LOOK_SECONDS
        while _place(self._heard) < newest and time.monotonic() < until:
            self._moved.clear()
            if _place(self._heard) < newest:
                await self._wait(LOOK_SECONDS)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        except TimeoutError:
            return

    async def _listen(self) -> None:
        while True:
            try:
                events = await self._feed.wait(self._heard, seconds=5)
                for event in events:
                    if event["type"] == "pass" and event.get("thread") == self._thread:
                        await self._one(event)
                    self._heard = event["id"]
            except StoreUnavailable:
                await asyncio.sleep(LOOK_SECONDS)
                continue
            self._moved.set()

    async def _one(self, event: dict[str, str]) -> None:
        if event["status"] == "published":
            self._tell(told.PassPublished(await with_diffs(PassReport.from_text(event["report"]), self._blocks)))
        else:
            self._tell(told.PassFailed(event["status"], event.get("error", "")))


def patience(sleeptime: Sleeptime | None) -> float:
    """The seconds that all tries of a pass may take together."""
    return 60.0 if sleeptime is None else sleeptime.timeout * sleeptime.max_tries + 60.0


def _place(event_id: str) -> tuple[int, int]:
    first, _, second = event_id.partition("-")
    return int(first), int(second or 0)
