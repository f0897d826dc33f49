"""A cluster that outlives its starter: up, again, used, down; and when its head was killed."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestra.cluster.cluster_record import ClusterRecord
from orchestra.cluster.teardown import members
from orchestra.runtime.cluster_file import load_cluster
from tests.acceptance.cluster.conftest import until
from tests.acceptance.cluster.programs import program

pytestmark = pytest.mark.ray
Made = dict[str, object]


@pytest.fixture
def local(namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Made]]:
    """A cluster of this machine with an embedded server; whatever the test did, it is taken down."""
    with tempfile.TemporaryDirectory(prefix="orch-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        base = {
            "namespace": namespace,
            "ray": {"num_cpus": 2, "object_store_mb": 78},
            "data_dir": str(tmp_path / "data"),
        }
        yield lambda **hosts: {**base, "hosts": {"primary": 1, "sleeptime": 1, **hosts}}
        program("take_down", {**base})


async def test_a_cluster_from_up_to_down(local: Callable[..., Made]) -> None:
    made = local()
    data_dir = load_cluster(made).data_dir

    first = program("bring_up", made)
    hosts: dict[str, int] = first["hosts"]  # type: ignore[assignment]
    assert first["outcome"] == "started"
    assert sorted(hosts) == ["primary-0", "sleeptime-0"]
    assert program("bring_up", made) == {**first, "outcome": "unchanged"}

    said = program("talk", made, session="s")
    assert said["pid"] == hosts["primary-0"]
    found = program("look", made)
    assert (found["up"], found["stale"]) == (True, False)
    assert (found["ray"], found["nodes"]) == (True, 1)
    assert found["hosts"] == hosts  # the program that used them left, they are still there
    assert found["server"] == [True, "valkey", "always", True]
    assert found["counts"] == [1, 1, 0]

    record = ClusterRecord.read(data_dir)
    assert record is not None
    assert len(members(record)) > 4
    assert program("take_down", made) == {"was_up": True, "processes": 0, "server": "stopped"}
    assert members(record) == []


async def test_what_a_killed_head_leaves_is_cleaned_up(local: Callable[..., Made]) -> None:
    made = local(sleeptime=0)
    program("bring_up", made)
    record = ClusterRecord.read(load_cluster(made).data_dir)
    assert record is not None
    assert record.head is not None
    os.kill(record.head.pid, signal.SIGKILL)
    await until("the head to be gone", lambda: record.head is not None and not record.head.alive())
    found = program("look", made)
    assert (found["up"], found["stale"]) == (False, True)
    ended = program("take_down", made)
    assert (ended["was_up"], ended["server"]) == (True, "stopped")
    assert int(str(ended["processes"])) > 0
    assert members(record) == []
    assert program("take_down", made) == {"was_up": False, "processes": 0, "server": "not_running"}
    assert program("look", made)["stale"] is False
