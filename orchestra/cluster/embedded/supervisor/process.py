"""A process by number and start time, since numbers are used again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """One process of this machine. ``started`` is opaque: equal for the same process, different for a later one."""

    pid: int
    started: str

    @classmethod
    def find(cls, pid: int) -> Process | None:
        """The process that has this number now; None when there is none, or only a zombie."""
        started = _start_on_linux(pid) if sys.platform == "linux" else _start_elsewhere(pid)
        return None if started is None else cls(pid, started)

    def alive(self) -> bool:
        """Whether it still runs. A zombie does not: its locks and sockets are gone."""
        return Process.find(self.pid) == self

    def send(self, signal_number: int) -> None:
        """Signal it; nothing happens when it is gone."""
        if self.alive():
            try:
                os.kill(self.pid, signal_number)
            except ProcessLookupError:
                return

    def write(self, descriptor: int) -> None:
        """Make this the content of an open file."""
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps([self.pid, self.started]).encode(), 0)

    @classmethod
    def read(cls, descriptor: int) -> Process | None:
        """What :meth:`write` wrote; None when it was not written, or not to its end."""
        try:
            pid, started = json.loads(os.pread(descriptor, 4096, 0))
        except ValueError:
            return None
        return cls(int(pid), str(started))


def _start_on_linux(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in parentheses may hold anything; the fields after it are numbered from 3.
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return f"{boot}:{int(fields[19])}"


def _start_elsewhere(pid: int) -> str | None:
    shown = subprocess.run(["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = shown.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()
