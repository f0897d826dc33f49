"""Whole-file locks (``flock``) that the kernel frees when their holder is gone, however it went."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

if sys.platform != "win32":  # there the module can be imported, and acquire() says that there is no server
    import fcntl

# An flock belongs to the open file description, which a forked child shares with its parent: a child that outlives a
# killed user would hold the user's lock on. Exec'd children are kept from it by O_CLOEXEC; forked ones close it here.
# The guard covers the moment between open and registration, when a fork in another thread would miss the descriptor.
_held: set[Lock] = set()
_guard = threading.RLock()


class Lock:
    """One open description of a lock file. Its owner is whoever opened it, until :meth:`close` or its process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        _held.add(self)

    @classmethod
    def open(cls, path: Path) -> Lock:
        """Open without locking; the file is made when missing. Raises OSError."""
        with _guard:
            return cls(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    @property
    def descriptor(self) -> int:
        """The descriptor. Raises ValueError when closed."""
        if self._descriptor is None:
            raise ValueError(f"{self.path} is closed")
        return self._descriptor

    @property
    def closed(self) -> bool:
        """Whether it was closed here, or by a fork in this child."""
        return self._descriptor is None

    def try_shared(self) -> bool:
        """Take it together with other sharers; False when someone has it alone."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Take it alone; False when anybody else has it."""
        return self._try(fcntl.LOCK_EX)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def in_place(self) -> bool:
        """Whether the file at the path is still the one that is open here (the directory may have been replaced)."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Let go. Closes without LOCK_UN, which would also free it for a process that inherited the descriptor."""
        with _guard:
            _held.discard(self)
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def detach(self) -> int:
        """Hand the descriptor to the caller, who closes it; forked children then inherit it."""
        with _guard:
            descriptor = self.descriptor
            _held.discard(self)
            self._descriptor = None
        return descriptor


def _close_in_child() -> None:
    for lock in list(_held):
        lock.close()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_close_in_child)
