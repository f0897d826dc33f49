"""SIGKILL of everything around a run that waits for an approval: it ends completed, and the tool ran at most once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestra.cluster.embedded import status

UNKNOWN = "may or may not have run"
# Where the process is killed → (how often the tool has run in the end, what the model reads of it).
PLACES = {
    "turn.reply_journaled": (1, "paid 12"),
    "turn.suspending": (1, "paid 12"),
    "turn.suspended": (1, "paid 12"),
    "run.answered": (1, "paid 12"),
    "turn.begun:2": (1, "paid 12"),
    "turn.waited_tool_starting": (0, UNKNOWN),
    "turn.tool_done:2": (1, UNKNOWN),
    "turn.tool_journaled:2": (1, "paid 12"),
    "turn.committing": (1, "paid 12"),
    "turn.committed": (1, "paid 12"),
}


class Payer:
    """One folder with a program in it that is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, step: str, failpoint: str = "") -> subprocess.Popen[bytes]:
        environment = {**os.environ, "CHAOS_FOLDER": str(self.folder), "ORCHESTRA_FAILPOINT": failpoint}
        command = [sys.executable, "-m", "tests.chaos.payer", str(self.folder), step]
        with (self.folder / "output").open("ab") as out:
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        return self.process

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def wait(self, what: str, condition: Callable[[], bool], seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not condition():
            alive = self.process is None or self.process.poll() is None
            assert alive, f"it ended before {what}:\n{(self.folder / 'output').read_text()[-3000:]}"
            assert time.monotonic() < until, f"waited {seconds} s for {what}"
            threading.Event().wait(0.005)

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        if self.process is not None and pid == self.process.pid:
            self.process.wait()

    def finish(self) -> tuple[str, str, dict[str, str]]:
        code = self.start("finish").wait(120)
        assert code == 0, (self.folder / "output").read_text()[-3000:]
        status_, output, texts = json.loads(self.lines("ended")[-1])
        return status_, output, texts


@pytest.fixture
def payer(tmp_path: Path) -> Iterator[Payer]:
    made = Payer(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def test_everything_is_killed_while_the_run_waits(payer: Payer) -> None:
    """The program, and the server with its supervisor: what is on disk is all that there is."""
    payer.start("ask")
    payer.wait("the question", lambda: bool(payer.lines("waits")))
    found = status(payer.folder / "data")
    assert payer.process is not None
    for pid in (payer.process.pid, found.supervisor_pid, found.server_pid):
        assert pid is not None
        payer.kill(pid)
    assert payer.finish() == ("completed", "all done", {"pay": "paid 12", "look": "12 euros"})
    assert payer.lines("waits") == ['["r:0.0"]'] * 2
    assert (payer.lines("paid"), payer.lines("looked"), payer.lines("booked")) == (["r 12"], ["r"], ["r"])
    assert payer.lines("asked") == ["0", "1"]


@pytest.mark.parametrize("place", PLACES)
def test_a_process_that_is_killed_around_the_answer(payer: Payer, place: str) -> None:
    mark = payer.folder / "stopped"
    payer.start("finish", f"{place}@{mark}")
    payer.wait(f"{place} to be reached", lambda: mark.exists() and mark.read_text().endswith("\n"))
    payer.kill(int(mark.read_text().split()[0]))
    status_, output, texts = payer.finish()
    count, read = PLACES[place]
    assert (status_, output) == ("completed", "all done")
    assert payer.lines("paid") == ["r 12"] * count
    assert read in texts["pay"]
    # A sibling that may have run before the process was killed is not started again either.
    assert len(payer.lines("looked")) <= 1
    assert texts["look"] == "12 euros" if payer.lines("looked") else UNKNOWN in texts["look"]
