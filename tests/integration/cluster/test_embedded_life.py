"""From nothing to a server and back."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
import redis.asyncio

import orchestra.cluster.embedded
from orchestra.cluster.embedded import EmbeddedServer, keep, status, stop, unkeep
from orchestra.core.errors import EmbeddedServerError
from tests.integration.cluster.embedded_users import User, gone, servers_in, supervisors_of, wait_for

Use = Callable[..., User]


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, decode_responses=True, protocol=3)


async def test_a_server_from_nothing_and_its_data_the_next_time(data_dir: Path) -> None:
    with await EmbeddedServer.open(data_dir) as server:
        asking = redis.asyncio.Redis.from_url(server.url, decode_responses=True)
        await asking.set("kept", "yes")
        await asking.aclose()
    wait_for("the server to stop by itself", lambda: gone(data_dir))
    with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
        assert asking.get("kept") == "yes"


def test_the_server_is_configured_as_promised(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
        told = asking.config_get("*")
    expected = {
        "appendonly": "yes",
        "appendfsync": "always",
        "port": "0",
        "maxmemory-policy": "noeviction",
        "save": "",
        "no-appendfsync-on-rewrite": "no",
        "aof-load-truncated": "yes",
        "dir": str(data_dir),
    }
    assert {name: told[name] for name in expected} == expected


def test_starting_is_quick(data_dir: Path) -> None:
    """The target is 0.25 s; twice that here, for a busy machine."""
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        with EmbeddedServer.acquire(data_dir):
            times.append(time.perf_counter() - begun)
        assert stop(data_dir).outcome != "in_use"
    assert min(times) < 0.5


def test_only_the_user_can_reach_socket_and_data(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
        asking.set("secret", "x")
        socket = Path(asking.connection_pool.connection_kwargs["path"])
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
        for path in data_dir.rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_two_directories_are_two_servers(data_dir: Path) -> None:
    other = data_dir / "inner"
    with EmbeddedServer.acquire(data_dir) as one, EmbeddedServer.acquire(other) as two:
        assert one.url != two.url
        assert one.server_pid() != two.server_pid()
    assert stop(other).outcome != "in_use"


def test_one_directory_by_two_names_is_one_server(data_dir: Path, tmp_path: Path) -> None:
    data_dir.mkdir()
    link = tmp_path / "link"
    link.symlink_to(data_dir)
    with EmbeddedServer.acquire(data_dir) as one, EmbeddedServer.acquire(link) as two:
        assert one.url == two.url
        assert one.server_pid() == two.server_pid()


def test_the_server_stays_for_the_last_of_several_users(data_dir: Path, use: Use) -> None:
    first, second = use().started(), use().started()
    first.leave()
    with client(second.url) as asking:
        assert asking.ping()
    assert servers_in(data_dir) == [second.server]
    second.leave()
    wait_for("the server to stop by itself", lambda: gone(data_dir))


def test_five_at_once_from_nothing_get_one_server(data_dir: Path, use: Use) -> None:
    users = [use() for _ in range(5)]
    for user in users:
        user.started()
    assert len({(user.url, user.server, user.supervisor) for user in users}) == 1
    assert servers_in(data_dir) == [users[0].server]
    assert supervisors_of(data_dir) == [users[0].supervisor]


def test_release_twice_and_use_afterwards(data_dir: Path) -> None:
    server = EmbeddedServer.acquire(data_dir)
    server.release()
    server.release()
    with pytest.raises(EmbeddedServerError, match="was released"):
        server.ensure()


async def test_a_cancelled_open_holds_nothing(data_dir: Path) -> None:
    opening = asyncio.ensure_future(EmbeddedServer.open(data_dir))
    await asyncio.to_thread(wait_for, "the supervisor to start", lambda: bool(supervisors_of(data_dir)))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await asyncio.to_thread(wait_for, "the server to stop by itself", lambda: gone(data_dir))


def test_a_kept_server_stays_until_it_is_stopped(data_dir: Path, use: Use) -> None:
    user = use().started()
    keep(data_dir)
    user.leave()
    with client(user.url) as asking:
        asking.set("kept", "yes")
        # Several looks of the supervisor go by before this answers.
        assert asking.blpop(["nothing"], timeout=0.5) is None
    assert status(data_dir).kept
    with EmbeddedServer.acquire(data_dir) as again:
        assert again.server_pid() == user.server
    assert stop(data_dir).outcome == "stopped"
    assert gone(data_dir)
    assert not status(data_dir).kept


def test_stop_names_those_who_still_use_it(data_dir: Path, use: Use) -> None:
    user = use().started()
    keep(data_dir)
    found = stop(data_dir)
    assert (found.outcome, found.users) == ("in_use", (user.pid,))
    assert not status(data_dir).kept
    user.leave()
    wait_for("the server to go with its last user", lambda: gone(data_dir))
    assert stop(data_dir).outcome == "not_running"


def test_what_does_not_run_cannot_be_kept(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir):
        pass
    assert stop(data_dir).outcome != "in_use"
    with pytest.raises(EmbeddedServerError, match="does not run"):
        keep(data_dir)
    unkeep(data_dir)


def test_status_of_a_directory_before_during_and_after(data_dir: Path) -> None:
    before = status(data_dir)
    assert (before.running, before.version, before.data_bytes, before.users) == (False, None, 0, ())
    with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
        asking.set("large", "x" * 100_000)
        during = status(data_dir)
        assert (during.running, during.kind, during.durability) == (True, "valkey", "always")
        assert during.url == server.url
        assert during.version == asking.info("server")["valkey_version"]
        assert [during.server_pid] == servers_in(data_dir)
        assert [during.supervisor_pid] == supervisors_of(data_dir)
        assert during.users == (os.getpid(),)
        assert 100_000 < during.data_bytes < 110_000
    wait_for("the server to stop by itself", lambda: gone(data_dir))
    after = status(data_dir)
    assert (after.running, after.url, after.kind, after.version) == (False, None, "valkey", during.version)


def test_a_supervisor_imports_only_the_standard_library() -> None:
    """It lives as long as the cluster: a user's imports would cost it time to start and memory."""
    folder = Path(orchestra.cluster.embedded.__file__).parent
    program = (
        "import sys; sys.path.append(sys.argv[1]); import supervisor.__main__; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - {'__main__'} - set(sys.stdlib_module_names)))"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "['supervisor']"
