"""Keeping a server that nobody uses, and stopping it."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestra.cluster.embedded.status import lock_users
from orchestra.cluster.embedded.supervisor.files import Files
from orchestra.cluster.embedded.supervisor.locks import Lock
from orchestra.cluster.embedded.supervisor.running import Running
from orchestra.core.errors import EmbeddedServerError

_LOOKS = 4


@dataclass(frozen=True)
class Stopped:
    """What :func:`stop` found.

    Attributes:
        outcome: ``stopped``: it is gone. ``not_running``: it was not there. ``in_use``: it goes with its last user.
        users: With ``in_use``, the processes that use it, where the system tells.
    """

    outcome: Literal["stopped", "not_running", "in_use"]
    users: tuple[int, ...] = ()


def keep(data_dir: Path) -> None:
    """Let the running server stay when its last user goes. Call it while you use the server.

    Raises EmbeddedServerError when it does not run, or the file cannot be written.
    """
    files = Files(data_dir.absolute())
    try:
        # With the users' lock, so that the file cannot appear after a supervisor has looked and found none.
        hold = Lock.open(files.users_lock)
        try:
            if not hold.try_shared() or Running.read_live(files) is None:
                raise EmbeddedServerError(str(files.root), "it does not run, so it cannot be kept; acquire it first")
            files.keep.touch(mode=0o600)
        finally:
            hold.close()
    except OSError as error:
        raise EmbeddedServerError(str(files.root), str(error)) from error


def unkeep(data_dir: Path) -> None:
    """Let the server go with its last user again. Does nothing when it was not kept."""
    files = Files(data_dir.absolute())
    try:
        files.keep.unlink(missing_ok=True)
    except OSError as error:
        raise EmbeddedServerError(str(files.root), str(error)) from error


def stop(data_dir: Path, *, timeout: float = 60.0) -> Stopped:
    """Stop keeping the server; when nobody uses it, wait until it is gone. Blocks.

    ``timeout`` in seconds. Raises EmbeddedServerError when it does not end in time.
    """
    unkeep(data_dir)
    files = Files(data_dir.absolute())
    deadline = time.monotonic() + timeout
    seen, looks_in_use = False, 0
    running = Running.read_live(files)
    # The process too, where it is known: it lets go of its lock a moment before it is gone.
    while not _free(files.supervisor_lock) or (running is not None and running.supervisor.alive()):
        seen = True
        # In use: it runs and the users' lock is taken. (Taken and not running: it is stopping, or just starting.)
        # Several looks in a row, since another stop() has that lock for a moment just to see whether it is free.
        in_use = Running.read_live(files) is not None and not _free(files.users_lock)
        looks_in_use = looks_in_use + 1 if in_use else 0
        if looks_in_use == _LOOKS:
            return Stopped("in_use", lock_users(files.users_lock))
        if time.monotonic() > deadline:
            raise EmbeddedServerError(str(files.root), f"it did not stop within {timeout:g} s; try again")
        select.select([], [], [], 0.01)
    return Stopped("stopped" if seen else "not_running")


def _free(path: Path) -> bool:
    """Whether nobody has the lock. Takes it for that moment; all who try it try again."""
    if not path.exists():
        return True
    lock = Lock.open(path)
    try:
        return lock.try_exclusive()
    finally:
        lock.close()
