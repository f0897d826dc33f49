"""What a supervisor waits for: signals, and the pipe to the process that started it."""

from __future__ import annotations

import json
import os
import select
import signal
from types import FrameType


class Waking:
    """Waits that a child's death or a request to stop cuts short."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._reader, self._writer = os.pipe()
        self._reported = False

    def listen(self) -> None:
        """Install the handlers; once, in the main thread."""
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake_only)
        signal.signal(signal.SIGTERM, self._ask_to_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_asked = True

    def wait(self, seconds: float) -> None:
        """Until a signal comes, at most so long."""
        if select.select([self._reader], [], [], seconds)[0]:
            os.read(self._reader, 4096)

    def report(self, descriptor: int, message: dict[str, str]) -> None:
        """Write the first message into the pipe to the starter and close it; later ones go nowhere."""
        if self._reported:
            return
        self._reported = True
        try:
            os.write(descriptor, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            pass  # The starter was killed meanwhile.
        finally:
            os.close(descriptor)


def _wake_only(number: int, frame: FrameType | None) -> None:
    """Nothing to do: the wake-up descriptor has got its byte."""
