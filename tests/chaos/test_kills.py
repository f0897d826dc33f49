"""SIGKILL from outside, at named places and at random; afterwards nothing is lost, nothing is there twice."""

from __future__ import annotations

import asyncio
import collections
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestra import Runtime
from orchestra.cluster.embedded import status
from orchestra.memory.sessions import readable
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore

TURN = (
    "turn.begun",
    "turn.replied",
    "turn.reply_journaled",
    "turn.tool_done",
    "turn.tool_journaled",
    "turn.committing",
    "turn.committed",
)
PASS = ("pass.claimed", "pass.working")
BETWEEN = ("pass.worked",)
AFTER = ("pass.published",)

landed: collections.Counter[str] = collections.Counter()


class Play:
    """One folder with a player in it that is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.turns = 0

    def start(self, more: int, failpoint: str = "") -> None:
        """Start the player; it plays ``more`` turns beyond those that are acknowledged, and waits for all passes."""
        self.turns = len(self.lines("acknowledged")) + more
        environment = {**os.environ, "CHAOS_FOLDER": str(self.folder), "ORCHESTRA_FAILPOINT": failpoint}
        command = [sys.executable, "-m", "tests.chaos.player", str(self.folder), str(self.turns)]
        with (self.folder / "output").open("ab") as out:
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> bool:
        """Wait for a described condition; False when the player ended first."""
        assert self.process is not None
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            if self.process.poll() is not None:
                return condition()
            threading.Event().wait(0.005)
        pytest.fail(f"waited {seconds} s for: {what}\n{(self.folder / 'output').read_text()[-3000:]}")

    def kill(self, pid: int, window: str) -> None:
        """SIGKILL to a recorded pid; counted only when the process was there."""
        os.kill(pid, signal.SIGKILL)
        landed[window] += 1
        if self.process is not None and pid == self.process.pid:
            self.process.wait()

    def kill_at(self, place: str, count: int, window: str) -> None:
        mark = self.folder / f"stopped-{place}-{count}-{len(self.lines('started'))}"
        self.start(8, f"{place}:{count}@{mark}")
        if self.wait(lambda: mark.exists() and mark.read_text().endswith("\n"), f"{place} to be reached"):
            self.kill(int(mark.read_text().split()[0]), window)

    def finish(self) -> None:
        self.start(4)
        assert self.process is not None
        assert self.process.wait(120) == 0, (self.folder / "output").read_text()[-3000:]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    made = Play(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


@pytest.mark.timeout(300)
def test_killed_everywhere_nothing_is_lost_and_nothing_is_there_twice(play: Play) -> None:
    chance = random.Random(int(os.environ.get("CHAOS_SEED", "7")))
    for place in TURN:
        play.kill_at(place, chance.randint(1, 2), "in a turn")
    for place in PASS:
        play.kill_at(place, 1, "in a pass")
    for place in BETWEEN:
        play.kill_at(place, 1, "between a pass's work and its publishing")
    for place in AFTER:
        play.kill_at(place, 1, "after a pass was published")
    for _ in range(3):
        acknowledged = len(play.lines("acknowledged")) + chance.randint(1, 12)
        play.start(300)
        if play.wait(lambda n=acknowledged: len(play.lines("acknowledged")) >= n, "some turns"):  # type: ignore[misc]
            assert play.process is not None
            if play.process.poll() is None:
                play.kill(play.process.pid, "at random")
    for victim in ("server", "supervisor"):
        acknowledged = len(play.lines("acknowledged")) + 1
        started = len(play.lines("started"))
        play.start(200)
        play.wait(lambda n=started: len(play.lines("started")) > n, "the player to start")  # type: ignore[misc]
        play.wait(lambda n=acknowledged: len(play.lines("acknowledged")) >= n, "a turn")  # type: ignore[misc]
        found = status(play.folder / "data")
        pid = found.server_pid if victim == "server" else found.supervisor_pid
        assert pid is not None
        play.kill(pid, f"the {victim}")
        assert play.process is not None
        # The player itself is not killed: it must come through by itself.
        assert play.process.wait(120) == 0, (play.folder / "output").read_text()[-3000:]
    play.finish()
    print("\nkills:", dict(landed))
    for window in (
        "in a turn",
        "in a pass",
        "between a pass's work and its publishing",
        "after a pass was published",
        "at random",
        "the server",
        "the supervisor",
    ):
        assert landed[window], f"no kill landed {window}"
    asyncio.run(check(play))


async def check(play: Play) -> None:
    """The log, the tool's file, the blocks and the passes, as they are in the end."""
    config = {"data_dir": str(play.folder / "data"), "namespace": "chaos", "hosts": {"sleeptime": 0}}
    async with Runtime.start(config, inline=True) as runtime:
        entries = readable(await ThreadStore(runtime.store).entries("cashier|s"))
        messages = [message for _, message in entries]
        # No acknowledged turn lost, none twice, each well-formed and in order.
        turns: dict[int, list[str]] = {}
        for message in messages:
            turns.setdefault(message.meta.turn, []).append(message.role)
        assert sorted(turns) == list(range(1, play.turns + 1))
        assert {tuple(roles) for roles in turns.values()} == {
            ("user", "assistant", "tool", "assistant", "tool", "assistant")
        }
        assert [m.text for m in messages if m.role == "user"] == [f"item {number}" for number in range(play.turns)]
        assert [message.meta.seq for message in messages] == list(range(1, len(messages) + 1))
        # The tool that must not run twice: at most once per turn, and where its result is known, exactly once.
        charged = collections.Counter(line.split()[0] for line in play.lines("charged"))
        assert set(charged.values()) == {1}
        known = [m for m in messages if m.role == "tool" and m.name == "charge" and not m.is_error]
        assert {m.meta.run for m in known} <= set(charged)
        unknown = play.turns - len(known)
        assert unknown <= landed["in a turn"] + landed["at random"]
        # Edits of blocks: one line per turn, and versions without gaps.
        blocks = {block.label: block for block in await runtime.blocks.list(agent="cashier")}
        assert sorted(blocks["notes"].value.split("\n")) == sorted(f"item {number}" for number in range(play.turns))
        versions = [version.version for version in await runtime.blocks.log(blocks["notes"].id)]
        assert versions == list(range(1, play.turns + 2))
        # The union of the transcripts is the log up to the watermark: no gap, no repeat.
        seen = [int(seq) for seq in blocks["seen"].value.split()]
        watermark = int((await ThreadStore(runtime.store).head("cashier|s"))["watermark"])
        assert seen == list(range(1, watermark + 1))
        assert watermark == len(messages)
        assert await PassStore(runtime.store).pending() == {}
