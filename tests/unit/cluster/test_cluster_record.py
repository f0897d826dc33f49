"""The record of a cluster that is up, and which processes are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestra.cluster.cluster_record import FILE, ClusterRecord
from orchestra.cluster.code_path import host_version, ray_version
from orchestra.cluster.embedded.supervisor.process import Process
from orchestra.cluster.head import MARKER
from orchestra.cluster.teardown import members
from orchestra.core.cluster import ClusterConfig, HostsConfig, RayConfig
from orchestra.core.errors import ClusterError

#: Starts a child in its own session, tells the child's number, and waits for the end of its input.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=sys.stdin)
print(child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def session(mark: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that leads a session, and the pid of its child."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env={**os.environ, MARKER: mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as leader:
        assert leader.stdout is not None
        yield leader, int(leader.stdout.readline())
        assert leader.stdin is not None
        leader.stdin.close()


def test_it_is_read_as_it_was_written_and_only_by_its_owner(tmp_path: Path) -> None:
    assert ClusterRecord.read(tmp_path) is None
    record = ClusterRecord("demo", "abc", "127.0.0.1:1", Process(1, "x"), "mark", hosts=("primary-0",))
    record.write(tmp_path)
    assert ClusterRecord.read(tmp_path) == record
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert not record.running  # process 1 started at another time
    ClusterRecord.delete(tmp_path)
    ClusterRecord.delete(tmp_path)
    assert ClusterRecord.read(tmp_path) is None


def test_one_that_is_damaged_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    with pytest.raises(ClusterError, match="delete it"):
        ClusterRecord.read(tmp_path)


def test_members_are_those_of_the_session_that_carry_the_mark() -> None:
    with session("mine") as (leader, child):
        head = Process.find(leader.pid)
        assert head is not None
        record = ClusterRecord("demo", "abc", head=head, marker="mine")
        assert {process.pid for process in members(record)} == {leader.pid, child}
        assert members(replace(record, marker="another")) == []
        assert members(replace(record, head=Process(leader.pid, "another start"))) == []
        assert members(replace(record, head=None)) == []
        leader.kill()
        leader.wait()
        assert {process.pid for process in members(record)} == {child}  # an orphan is still found


def test_the_versions_change_with_what_they_are_made_from(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text("one")
    config = ClusterConfig(code=(tmp_path,))
    first = host_version(config)
    assert host_version(config) == first
    assert host_version(config.model_copy(update={"hosts": HostsConfig(primary=5)})) == first
    assert host_version(config.model_copy(update={"hosts": HostsConfig(cache_mb=5)})) != first
    assert ray_version(config) != ray_version(config.model_copy(update={"ray": RayConfig(num_cpus=3)}))
    tool.write_text("two")
    assert host_version(config) != first
