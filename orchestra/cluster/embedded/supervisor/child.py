"""The server process of a supervisor."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable

from .files import Files, open_log
from .process import Process
from .settings import Settings

_PR_SET_PDEATHSIG = 1


class Child:
    """A server that was started here and is a child of this process.

    ``server_lock`` is a descriptor with the exclusive server lock. The server alone inherits it, so the kernel frees
    that lock when the server is gone, even one whose supervisor was killed before it could write down a number.
    """

    def __init__(self, settings: Settings, files: Files, *, server_lock: int) -> None:
        log = open_log(files.server_log)
        try:
            self._popen = subprocess.Popen(
                [settings.binary, *_options(settings)],
                cwd=files.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(server_lock,),
                preexec_fn=_end_with_parent(),
            )
        finally:
            os.close(log)
        self.process = Process.find(self._popen.pid)

    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._popen.poll()

    def terminate(self) -> None:
        """Ask for a clean shutdown: what was acknowledged is synced, then it exits."""
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._popen.send_signal(signal.SIGKILL)


def _options(settings: Settings) -> list[str]:
    options = {
        "dir": ".",  # its working directory is the data directory: no quoting of paths
        "port": "0",
        "unixsocket": settings.socket,
        "unixsocketperm": "700",
        "appendonly": "yes",
        "appendfsync": settings.durability,
        "no-appendfsync-on-rewrite": "no",
        "aof-load-truncated": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "always-show-logo": "no",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def _end_with_parent() -> Callable[[], None] | None:
    """For Linux: the kernel terminates the server when its supervisor dies, however that happens."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def before_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        # Fork, the supervisor is killed, prctl: the signal would never come. Then the parent is another one already.
        if os.getppid() != parent:
            os._exit(1)

    return before_exec
