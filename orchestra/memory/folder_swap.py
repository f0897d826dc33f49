"""Replacing a whole folder at once: whoever looks sees the old tree or the new one, also after a kill."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestra.core.failpoints import failpoint

AT_FDCWD = -100
EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
UNABLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV})


def _beside(folder: Path, kind: str) -> Path:
    return folder.with_name(f".{folder.name}.{kind}")


def open_lock(folder: Path) -> int:
    """A descriptor for :func:`taken`; closing it gives the lock back, and so does the kernel after a kill."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    return os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)


def taken(descriptor: int) -> bool:
    """Take the lock of what lies beside a folder, unless somebody else has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """An empty folder beside ``folder`` to fill; what is still there at the end is deleted."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    stage = _beside(folder, f"new-{uuid.uuid4().hex}")
    stage.mkdir(mode=0o700)
    descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # somebody fills it: see repair
        yield stage
    finally:
        remove(stage)
        os.close(descriptor)


def replace(folder: Path, stage: Path) -> None:
    """Put ``stage`` in the place of ``folder``; what was there is at ``stage`` afterwards. Hold the lock.

    Raises ``OSError`` when it cannot be done (a mount point, for example); then all is as it was.
    """
    if not folder.exists():
        os.rename(stage, folder)
    elif not _exchanged(folder, stage):
        replace_in_two_steps(folder, stage)


def replace_in_two_steps(folder: Path, stage: Path) -> None:
    """As :func:`replace`, where the system cannot exchange two folders.

    Killed in between, there is no ``folder``, and ``.folder.old`` is what it was: :func:`repair` puts it back.
    """
    old = _beside(folder, "old")
    os.rename(folder, old)
    failpoint("workspace.between")
    try:
        os.rename(stage, folder)
    except OSError:
        os.rename(old, folder)
        raise
    os.rename(old, stage)


def repair(folder: Path) -> None:
    """Clear up what a killed process has left beside ``folder``. Hold the lock."""
    old = _beside(folder, "old")
    if old.exists() and not folder.exists():
        os.rename(old, folder)
    remove(old)
    for stage in folder.parent.glob(f"{_escaped(_beside(folder, 'new-'))}*"):
        if not _in_use(stage):
            remove(stage)


def remove(folder: Path) -> None:
    """Delete a tree, whatever rights its folders have; one that is not there is fine."""
    try:
        folder.chmod(0o700)
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    remove(Path(entry.path))
                else:
                    os.unlink(entry.path)
        folder.rmdir()
    except FileNotFoundError:
        return


def _escaped(path: Path) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in path.name)


def _in_use(stage: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return not taken(descriptor)
        finally:
            os.close(descriptor)
    return False


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where that is not possible."""
    function = _exchange()
    if function is None:
        return False
    ctypes.set_errno(0)
    if function(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNABLE:
        return False
    raise OSError(code, os.strerror(code), str(one))


def _exchange() -> Callable[[bytes, bytes], int] | None:
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(library, "renamex_np", None)
        return None if swap is None else lambda one, other: int(swap(one, other, EXCHANGE))
    rename = getattr(library, "renameat2", None)
    return None if rename is None else lambda one, other: int(rename(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE))
