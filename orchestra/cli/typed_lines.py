"""Lines that somebody types, or that come from a pipe, without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

CHUNK = 65536


class TypedLines:
    """Standard input by lines.

    A thread reads the descriptor itself, never ``sys.stdin``: it is still reading when the program ends, and the lock
    of a buffered reader that nobody gives back would stop the interpreter then.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end; ``None`` at the end of the input."""
        return await self._lines.get()

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                data = os.read(sys.stdin.fileno(), CHUNK)
            except (OSError, ValueError):
                data = b""
            *lines, rest = (rest + data).split(b"\n")
            if not data and rest:
                lines.append(rest)
            for line in lines:
                self._give(line.decode("utf-8", "replace").rstrip("\r"))
            if not data:
                self._give(None)
                return

    def _give(self, line: str | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop has ended
            return
