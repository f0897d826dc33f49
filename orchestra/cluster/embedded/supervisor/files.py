"""The names of the files in a data directory."""

from __future__ import annotations

import os
from pathlib import Path


class Files:
    """Where things stand in one data directory. The server's own data (``appendonlydir``) is beside them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: Shared: one per user. Exclusive: the supervisor while it stops.
        self.users_lock = root / "users.lock"
        #: Exclusive: the supervisor, from before it is started until its server is gone.
        self.supervisor_lock = root / "supervisor.lock"
        #: Exclusive: inherited by the server process alone, so it is free only when that process is gone.
        self.server_lock = root / "server.lock"
        #: While it is there the server stays without users.
        self.keep = root / "keep"
        #: Kind and version of the server that wrote the data.
        self.record = root / "server.json"
        #: What runs now; written by the supervisor, removed before it stops.
        self.running = root / "running.json"
        #: Why the last supervisor gave up; removed when a server is ready.
        self.failure = root / "failure.json"
        self.supervisor_log = root / "supervisor.log"
        self.server_log = root / "server.log"

    def holds_data(self) -> bool:
        """Whether a server has written here."""
        return (self.root / "appendonlydir").exists() or (self.root / "dump.rdb").exists()


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file so that readers see the old text or the new one. ``durable`` survives a power cut as well."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(draft, path)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_text(path: Path) -> str | None:
    """The text of a file, None when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def tail(path: Path, *, lines: int = 8) -> str:
    """The last lines of a log, for an error message."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def open_log(path: Path, *, limit: int = 1_000_000) -> int:
    """A descriptor that appends to a log; one that has grown over ``limit`` bytes is moved to ``NAME.1`` first."""
    try:
        if path.stat().st_size > limit:
            os.replace(path, path.with_name(path.name + ".1"))
    except FileNotFoundError:
        pass
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
