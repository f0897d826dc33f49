"""After turn 3 everything is killed; turn 4, in a new process on another host, is as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest


def talk(folder: Path, first: int, last: int, *, stay: bool = False, secret: str = "") -> subprocess.Popen[str]:
    """Start the program; its output is a pipe."""
    folder.mkdir(exist_ok=True)
    extra = {"TALKER_FOLDER": str(folder), "TALKER_STAY": "1" if stay else "", "TALKER_SECRET": secret}
    command = [sys.executable, "-m", "tests.acceptance.talker", str(folder), str(first), str(last)]
    with (folder / "errors").open("ab") as errors:
        return subprocess.Popen(
            command,
            env={**os.environ, **extra},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def lines_until_ready(process: subprocess.Popen[str], folder: Path) -> list[dict[str, object]]:
    """What the program printed until it said that it is ready."""
    out = []
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return out
        out.append(json.loads(line))
    pytest.fail((folder / "errors").read_text()[-3000:])


def finish(process: subprocess.Popen[str]) -> int:
    """Wait for the program's end and close its pipe; its exit code."""
    assert process.stdout is not None
    process.stdout.close()
    return process.wait(60)


def kill_all(process: subprocess.Popen[str], keep: set[int]) -> int:
    """SIGKILL to the program and to all that it started (Ray, the hosts), by their pids; how many there were."""
    victims = [child for child in psutil.Process(process.pid).children(recursive=True) if child.pid not in keep]
    for victim in victims:
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            continue
    process.kill()
    finish(process)
    psutil.wait_procs(victims, timeout=20)
    return len(victims) + 1


def requests(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "requests").read_text().splitlines()]


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_turn_four_after_killing_hosts_and_driver_equals_an_undisturbed_run_byte_for_byte(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    process = talk(calm, 1, 4)
    undisturbed = lines_until_ready(process, calm)
    assert finish(process) == 0

    first = talk(killed, 1, 3, stay=True)
    before = lines_until_ready(first, killed)
    hosts = {int(str(request["pid"])) for request in requests(killed)}
    assert first.pid not in hosts  # the serving process is not the caller's
    assert kill_all(first, keep=set()) > 2
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in hosts)

    second = talk(killed, 4, 4)
    after = lines_until_ready(second, killed)
    assert finish(second) == 0
    assert [line["output"] for line in before + after] == [line["output"] for line in undisturbed]
    assert after[0]["turn"] == 4
    assert after[0]["host"] != before[0]["host"]
    expected, got = requests(calm), requests(killed)
    assert [request["asked"] for request in got] == [request["asked"] for request in expected]
    assert len(got) == 8
    assert got[-1]["pid"] not in hosts
