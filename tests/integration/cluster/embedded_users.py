"""Programs that use an embedded server, as real processes, and ways to look at what they left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

_PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
from orchestra.cluster.embedded import EmbeddedServer
data_dir, durability, more = sys.argv[1:]
server = EmbeddedServer.acquire(Path(data_dir), durability=durability)
children = []
if more == "children":
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    children.append(waiting.pid)
    reader, writer = os.pipe()
    forked = os.fork()
    if forked == 0:
        os.close(writer)
        os.read(reader, 1)  # until the parent is gone, and then for as long as standard input is open
        sys.stdin.read()
        os._exit(0)
    os.close(reader)
    children.append(forked)
def show():
    facts = {"url": server.url, "server": server.server_pid(), "supervisor": server.supervisor_pid()}
    print(json.dumps({**facts, "children": children}), flush=True)
show()
for line in sys.stdin:
    if line == "ensure\\n":
        server.ensure()
        show()
"""

LIMIT = 30.0


def wait_for(what: str, condition: Callable[[], bool], *, limit: float = LIMIT) -> None:
    """Look until the condition holds; an error that names it after ``limit`` seconds."""
    deadline = time.monotonic() + limit
    nothing = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit:g} s for: {what}"
        nothing.wait(0.005)


class User:
    """A program that acquires a server and holds it until its standard input ends, or it is killed."""

    def __init__(self, data_dir: Path, *, durability: str = "always", more: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _PROGRAM, str(data_dir), durability, more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def started(self) -> User:
        """Wait until it has its server."""
        self._read()
        return self

    def _read(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            raise AssertionError(self._process.stderr.read())
        facts = json.loads(line)
        self.url: str = facts["url"]
        self.server: int = facts["server"]
        self.supervisor: int = facts["supervisor"]
        self.children: list[int] = facts["children"]

    def ensure(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("ensure\n")
        self._process.stdin.flush()
        self._read()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._close()

    def leave(self) -> None:
        """Let the program come to its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._close()

    def _close(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def servers_in(data_dir: Path) -> list[int]:
    """Numbers of the server processes whose working directory this is, found without any file of ours."""
    return [pid for pid in _processes() if _name(pid).startswith("valkey-server") and _folder(pid) == str(data_dir)]


def supervisors_of(data_dir: Path) -> list[int]:
    """Numbers of the supervisors of this directory, which stands in their arguments."""
    return [pid for pid in _processes() if _is_supervisor(_arguments(pid), str(data_dir))]


def _is_supervisor(arguments: list[str], data_dir: str) -> bool:
    return len(arguments) > 2 and arguments[-2] == data_dir and any("supervisor" in part for part in arguments)


def _processes() -> list[int]:
    return psutil.pids()


def _name(pid: int) -> str:
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    return ""


def _folder(pid: int) -> str:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).cwd()
    return ""


def _arguments(pid: int) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).cmdline()
    return []


def gone(data_dir: Path) -> bool:
    """Whether neither a server nor a supervisor of this directory is left."""
    return not servers_in(data_dir) and not supervisors_of(data_dir)


def end_all(data_dir: Path) -> list[int]:
    """Kill what is left; returns what that was."""
    left = supervisors_of(data_dir) + servers_in(data_dir)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left
