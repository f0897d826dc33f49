"""Writes that are cancelled while they run: their outcome is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


async def outlast(work: Coroutine[object, object, T], *, seconds: float | None = None) -> T:
    """The result of ``work``, which runs to its end even when the caller is cancelled; then the cancellation is raised.

    ``seconds`` bounds how long a cancelled caller waits: after that ``work`` is cancelled too.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    end: float | None = None
    while not task.done():
        try:
            await asyncio.wait({task}, timeout=None if end is None else max(0.0, end - loop.time()))
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
            if seconds is not None and end is None:
                end = loop.time() + seconds
        if end is not None and loop.time() >= end:
            task.cancel()
            end = None
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()
