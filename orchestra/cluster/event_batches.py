"""Events of a stream in batches: an item of a Ray stream costs about 0.6 ms, a token must not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from orchestra.core.events import RunEvent, TextDelta

PAUSE_SECONDS = 0.02


async def in_batches(events: AsyncIterator[RunEvent], *, pause: float = PAUSE_SECONDS) -> AsyncIterator[list[RunEvent]]:
    """All events in their order, none changed, at most one batch of text per ``pause`` seconds.

    The first text after a quiet time goes at once, and so does everything that is not text, with what waited before.
    Closing this closes ``events``.
    """
    batch: list[RunEvent] = []
    due = sent = 0.0
    coming: asyncio.Future[RunEvent] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(anext(events))
            timeout = max(0.0, due - time.monotonic()) if batch else None
            done, _ = await asyncio.wait({coming}, timeout=timeout)
            if not done:
                sent = time.monotonic()
                yield batch
                batch = []
                continue
            try:
                event = coming.result()
            except StopAsyncIteration:
                break
            except Exception:
                if batch:
                    yield batch
                raise
            coming = None
            now = time.monotonic()
            if not isinstance(event, TextDelta):
                due = now
            elif not batch:
                due = max(now, sent + pause)
            batch.append(event)
        if batch:
            yield batch
    finally:
        if coming is not None and not coming.done():
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await events.aclose()  # type: ignore[attr-defined]
