"""A blocking function in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_own_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``function`` returns or raises, while the event loop goes on.

    Not ``asyncio.to_thread``, whose few threads all programs of the loop share: a thread cannot be stopped, so the
    first half dozen functions that hang past their time would keep every later one waiting, and the process from
    ending. Its futures also wait for ever for a function that raises ``StopIteration``; here that is a RuntimeError.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[T, None] | tuple[None, BaseException]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: tuple[T, None] | tuple[None, BaseException]) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome: tuple[T, None] | tuple[None, BaseException]
        try:
            outcome = context.run(function, *args, **kwargs), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name=getattr(function, "__name__", "function"), daemon=True).start()
    value, error = await done
    if error is not None:
        try:
            raise error
        finally:
            del error  # else this frame and the error would hold each other
    return value  # type: ignore[return-value]
