"""What runs in a data directory."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from orchestra.cluster.embedded.supervisor.files import Files
from orchestra.cluster.embedded.supervisor.record import Record, Refused
from orchestra.cluster.embedded.supervisor.running import Running
from orchestra.core.errors import EmbeddedServerError


@dataclass(frozen=True)
class ServerStatus:
    """One moment of a data directory. Fields about the processes are None when nothing runs.

    Attributes:
        running: A supervisor lives and its server answers, as far as it has noticed.
        kept: The keep file is there: the server stays without users.
        kind: ``valkey`` or ``redis``; of the data when nothing runs, None when there is no data.
        version: As ``kind``.
        data_bytes: Size of the server's data.
        users: Numbers of the processes that use it, where the system tells (Linux); a user in another container has 0.
    """

    data_dir: Path
    running: bool
    kept: bool
    supervisor_pid: int | None
    server_pid: int | None
    kind: str | None
    version: str | None
    durability: str | None
    url: str | None
    data_bytes: int
    users: tuple[int, ...]


def status(data_dir: Path) -> ServerStatus:
    """Look, without starting or locking anything; a directory that does not exist has an empty status.

    Raises EmbeddedServerError when the directory cannot be read.
    """
    files = Files(data_dir.absolute())
    try:
        running = Running.read_live(files)
        record = Record.read(files)
        size = _data_bytes(files)
        kept = files.keep.exists()
        users = lock_users(files.users_lock)
    except (OSError, Refused) as error:
        raise EmbeddedServerError(str(files.root), str(error)) from error
    known = running or record
    return ServerStatus(
        data_dir=files.root,
        running=running is not None and running.ready,
        kept=kept,
        supervisor_pid=None if running is None else running.supervisor.pid,
        server_pid=None if running is None or running.server is None else running.server.pid,
        kind=None if known is None else known.kind,
        version=None if known is None else known.version,
        durability=None if running is None else running.durability,
        url=None if running is None else f"unix://{quote(running.socket)}",
        data_bytes=size,
        users=users,
    )


def lock_users(path: Path) -> tuple[int, ...]:
    """Processes with a shared lock on a file, where the system lists them."""
    if sys.platform != "linux" or not path.exists():
        return ()
    inode = str(path.stat().st_ino)
    pids = set()
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1:4:2] == ["FLOCK", "READ"] and fields[5].rpartition(":")[2] == inode:
            pids.add(int(fields[4]))
    return tuple(sorted(pids))


def _data_bytes(files: Files) -> int:
    try:
        with os.scandir(files.root / "appendonlydir") as entries:
            return sum(entry.stat().st_size for entry in entries)
    except FileNotFoundError:
        return 0
