"""Calling a function on an executor's thread, with its types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def on_thread(executor: Executor, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """What ``function`` returns; the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)
