"""Named places where a test can stop a process and kill it.

``ORCHESTRA_FAILPOINT=name[:count]@file`` makes the process that reaches the place for the ``count``-th time (from 1)
write its pid into ``file`` and stand still there, its event loop included, until it is killed from outside. Without the
variable this costs one comparison.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

_armed = os.environ.get("ORCHESTRA_FAILPOINT", "")
_seen: dict[str, int] = {}


def failpoint(name: str) -> None:
    """Stand still here when this place is armed."""
    if _armed:
        _reach(name)


def _reach(name: str) -> None:
    place, _, file = _armed.partition("@")
    wanted, _, count = place.partition(":")
    if wanted != name:
        return
    _seen[name] = _seen.get(name, 0) + 1
    if _seen[name] != int(count or "1"):
        return
    path = Path(file)
    try:
        with path.open("x") as out:  # only the first process that gets here stands still
            out.write(f"{os.getpid()} {name}\n")
            out.flush()
            os.fsync(out.fileno())
    except FileExistsError:
        return
    # To this very thread: another one might take the signal, and this one would go on for a moment.
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
