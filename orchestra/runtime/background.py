"""What a host does beside its turns: bounded, one piece of work for a name at a time, over when the host is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

MOST = 8


class Background:
    """Owner: the host. Work that is lost with the host must be such that it is done again by itself."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._tasks: dict[str, asyncio.Task[object]] = {}

    def start(self, name: str, work: Callable[[], Coroutine[object, object, object]]) -> bool:
        """Start ``work``; False: the same name is being worked on, or too much is. Its errors are its own business."""
        if name in self._tasks or len(self._tasks) >= self._most:
            return False
        task = asyncio.create_task(work(), name=f"background: {name}")
        self._tasks[name] = task
        task.add_done_callback(lambda done: self._ended(name, done))
        return True

    @property
    def working(self) -> tuple[str, ...]:
        """The names of what is being worked on."""
        return tuple(self._tasks)

    async def stop(self) -> None:
        """Cancel all, and wait for their ends."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, name: str, task: asyncio.Task[object]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled():
            task.exception()  # looked at, so that no warning is made of it
