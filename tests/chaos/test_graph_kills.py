"""SIGKILL at every journal position of a graph run: it completes, no tool runs twice, the join runs once."""

from __future__ import annotations

import asyncio
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestra.core.jsontext import loads
from orchestra.core.names import branch_of, thread_name
from orchestra.store.connection import Store
from orchestra.store.thread_store import ThreadStore
from tests.chaos.graph_player import NODES, OUTPUT
from tests.servers import Server

#: Where a turn (of the graph or of a node) and a node stand between two entries of a journal, and at each of them.
PLACES = (
    "turn.begun",
    "pattern.node_starting",
    "turn.replied",
    "turn.reply_journaled",
    "turn.tool_done",
    "turn.tool_journaled",
    "turn.committing",
    "turn.committed",
    "pattern.node_done",
    "pattern.settling",
    "pattern.settled",
)
POSITIONS = [(place, count) for count in range(1, len(NODES) + 1) for place in PLACES]
POSITIONS += [(place, len(NODES) + 1) for place in ("turn.begun", "turn.committing", "turn.committed")]


class Players:
    """The process that forks players, and the killing of them."""

    def __init__(self, url: str, namespace: str, folder: Path) -> None:
        self.folder, self.kills = folder, collections.Counter[str]()
        command = [sys.executable, "-m", "tests.chaos.graph_player", url, namespace, str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(self, runs: list[str], failpoint: str = "-") -> None:
        """Start a player of ``runs``."""
        assert self._process.stdin is not None
        print(failpoint, *runs, file=self._process.stdin, flush=True)

    def ended(self) -> int:
        """Wait for the player to end; its status, as of ``waitpid``."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("ended "), line
        return int(line.split()[1])

    def kill_at(self, run: str, place: str, count: int, round_: str = "") -> None:
        """Play ``run`` until it stands at the ``count``-th time at ``place``, and kill it there."""
        mark = self.folder / f"{run}-{place}-{count}{round_}"
        self.play([run], f"{place}:{count}@{mark}")
        until = time.monotonic() + 30
        while not (mark.exists() and mark.read_text().endswith("\n")):
            assert time.monotonic() < until, f"{run} did not come to {place} for the {count}th time"
            assert self._process.poll() is None
            threading.Event().wait(0.002)
        os.kill(int(mark.read_text().split()[0]), signal.SIGKILL)
        assert self.ended() == signal.SIGKILL
        self.kills[place] += 1

    def lines(self, name: str) -> list[str]:
        """The lines of a file that the players wrote."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def stop(self) -> None:
        """End the process that forks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)


@pytest.fixture
def players(server: Server, namespace: str, tmp_path: Path) -> Iterator[Players]:
    made = Players(server.url, namespace, tmp_path)
    yield made
    made.stop()


@pytest.mark.timeout(300)
def test_killed_at_every_journal_position_the_run_completes(players: Players, server: Server, namespace: str) -> None:
    runs = {f"run-{n}": position for n, position in enumerate(POSITIONS)}
    for run, (place, count) in runs.items():
        players.kill_at(run, place, count)
    again = list(runs)[:: max(1, len(runs) // 20)]
    for run in again:  # and a second time, on the way that is left of it
        if runs[run][1] <= len(NODES) // 2:
            players.kill_at(run, "pattern.settling", 1, "-again")
    print("\nkills:", dict(players.kills))
    assert sum(players.kills.values()) >= 50
    assert set(players.kills) == set(PLACES)
    players.play(list(runs))
    assert players.ended() == 0
    results = {result["run_id"]: result for result in map(json.loads, players.lines("results"))}
    assert set(results) == set(runs)
    counted = collections.Counter(players.lines("counted"))
    assert set(counted.values()) == {1}  # at most once each: no tool was started twice
    known = asyncio.run(tool_results(server.url, namespace, list(runs)))
    for run, result in results.items():
        assert (result["status"], result["output"]) == ("completed", OUTPUT), (run, runs[run], result)
        assert {name: len(visits) for name, visits in result["node_results"].items()} == dict.fromkeys(NODES, 1), run
        assert result["node_results"]["join"][0]["output"] == "join<e,f,g>"
        for node, texts in known[run].items():
            assert len(texts) == 1, (run, node)  # one turn of the node, and so of the join
            if texts[0] == f"counted {node}":
                assert counted[f"{run} {node}"] == 1
            else:
                assert "may or may not have run" in texts[0]
    unknown = sum(text != f"counted {node}" for nodes in known.values() for node, (text,) in nodes.items())
    assert unknown <= sum(players.kills.values())


async def tool_results(url: str, namespace: str, runs: list[str]) -> dict[str, dict[str, list[str]]]:
    """For each run and node the results of tools in the log of the node's own thread."""
    store = await Store.open(url, namespace)
    out: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        for node in NODES:
            thread = thread_name(node, run, branch_of(f"{run}.{node}#1"))
            entries = [loads(text.split(" ", 3)[3]) for text in await ThreadStore(store).entries(thread)]
            texts = [entry["content"] for entry in entries if entry["role"] == "tool"]
            out.setdefault(run, {})[node] = texts
    await store.close()
    return out
