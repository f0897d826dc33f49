"""Running a command's coroutine: signals end it in order, with everything closed that it opened."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import TypeVar

from orchestra.cli.ending import Stopped

T = TypeVar("T")


def run_async(command: Coroutine[object, object, T]) -> T:
    """Run ``command`` to its end.

    Ctrl-C and a polite kill (SIGTERM, SIGHUP) cancel it, so that its context managers close what they opened: a turn
    that is being served is stored as aborted, hosts and servers stop. A second Ctrl-C does not wait for that.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Stopped: another signal.
    """
    stopped: list[int] = []

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def stop(number: int) -> None:
            stopped.append(number)
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, stop, number)
        return await command

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if stopped:
            raise Stopped(128 + stopped[0]) from None
        raise
