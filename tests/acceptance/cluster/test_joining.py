"""Joining a Ray and a Redis that were there before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from orchestra import Runtime
from orchestra.core.errors import ClusterError
from tests.acceptance.cluster.programs import program

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]


@pytest.fixture(autouse=True)
def auth_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """What whoever joins that Ray has to know."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


def test_a_program_joins_a_running_ray_and_server_and_leaves_both_running(config: Config) -> None:
    first, second = program("talk", config(), session="s"), program("talk", config(), session="s")
    assert (first["turn"], second["turn"]) == (1, 2)
    for said in (first, second):
        assert said["pid"] != said["mine"]
        assert not psutil.pid_exists(int(str(said["pid"])))  # private hosts end with their program


def test_code_is_shipped_to_hosts_that_cannot_read_it(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / "shipped_tools"
    folder.mkdir()
    (folder / "weather.py").write_text(
        "import os\n\ndef forecast() -> str:\n    '''Forecast.'''\n    return f'{os.getpid()} {__file__}'\n"
    )
    found = program("shipped", config(), folder=str(folder))
    for pid, file in found["said"]:  # type: ignore[attr-defined]
        assert int(pid) != found["mine"]
        assert file.endswith("shipped_tools/weather.py")
        assert not file.startswith(str(tmp_path))


def test_in_a_running_ray_up_rolls_and_down_ends_only_the_own_hosts(config: Config) -> None:
    started = program("bring_up", config(primary=1))
    before: dict[str, int] = started["hosts"]  # type: ignore[assignment]
    assert (started["outcome"], list(before)) == ("started", ["primary-0"])
    assert program("talk", config(), session="s")["pid"] == before["primary-0"]

    made = config(primary=2, cache_mb=30)
    changed = program("bring_up", made)
    hosts: dict[str, int] = changed["hosts"]  # type: ignore[assignment]
    assert (changed["outcome"], changed["rolled"]) == ("changed", ["primary-0", "primary-1"])
    assert before["primary-0"] not in hosts.values()
    assert program("talk", made, session="s")["pid"] in hosts.values()
    assert program("take_down", made) == {"was_up": True, "processes": 0, "server": ""}
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in hosts.values())
    assert program("talk", made, session="s")["turn"] == 3  # that Ray serves on


async def test_one_process_has_one_ray(config: Config) -> None:
    with pytest.raises(ClusterError, match="another process"):
        async with Runtime.start({**config(), "ray": {"address": "127.0.0.1:9"}}):
            pass


def test_importing_orchestra_does_not_import_ray() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import orchestra"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "orchestra.cluster.runtime" in imported
    assert [name for name in imported if name.partition(".")[0] == "ray"] == []
