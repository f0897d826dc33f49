"""``orchestra up``, ``status`` and ``down``."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.orchestra_command import Command


def test_without_a_cluster_status_and_down_say_so_and_start_nothing(project: Command) -> None:
    found = project("status", "--json")
    assert (found.code, found.json["up"], found.json["hosts"]) == (0, False, [])
    assert "not up (orchestra up starts it)" in project("status").out
    assert project("down", "--json").json["was_up"] is False
    assert not (project.folder / "data" / "appendonlydir").exists()


@pytest.mark.ray
@pytest.mark.timeout(240)
def test_a_cluster_serves_programs_until_it_is_taken_down(project: Command) -> None:
    try:
        started = project("up", "cluster.yaml", "--json")
        assert started.code == 0, started.err
        assert started.json["outcome"] == "started"
        hosts = {host["name"]: host["pid"] for host in started.json["hosts"]}
        again = project("up", "cluster.yaml", "--json").json
        assert again["outcome"] == "unchanged"
        assert {host["name"]: host["pid"] for host in again["hosts"]} == hosts
        played = project("run", "play.yaml", "--json")
        assert played.code == 0, played.err
        found = project("status", "--json").json
        assert (found["up"], found["sessions"], found["agents"]) == (True, 1, 1)
        assert {host["name"]: host["pid"] for host in found["hosts"]} == hosts  # the play used them and left them
        assert "primary-0" in project("status").out
        # Commands over the store see the same data, without Ray.
        assert project("sessions", "list", "--json").json[0]["turns"] == 5
    finally:
        ended = project("down", "--json")
    assert (ended.code, ended.json["was_up"]) == (0, True)
    assert project("down", "--json").json["was_up"] is False
    project.nothing_is_left()
