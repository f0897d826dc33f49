"""Waiting for a described condition instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(what: str, check: Callable[[], T | Awaitable[T]], *, seconds: float = 10.0) -> T:
    """The first true value of ``check``; an assertion that names ``what`` when none comes in ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        value = check()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value  # type: ignore[return-value]
        assert time.monotonic() < end, f"{seconds:g} s and still not: {what}"
        await asyncio.sleep(0.005)
