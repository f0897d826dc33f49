"""Any process is killed from outside at any moment; what was acknowledged is there, and one server serves it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from orchestra.cluster.embedded import EmbeddedServer, stop
from orchestra.core.errors import EmbeddedServerError
from tests.integration.cluster.embedded_users import User, gone, servers_in, supervisors_of, wait_for

Use = Callable[..., User]


def client(url: str) -> redis.Redis:
    """Without retries: a test wants to see its connection break."""
    return redis.Redis.from_url(url, decode_responses=True, protocol=3, retry=Retry(NoBackoff(), 0))


class Writer(threading.Thread):
    """Counts up until its connection breaks; ``acknowledged`` is the last number that the server confirmed."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.acknowledged = 0

    def run(self) -> None:
        with client(self._url) as asking:
            try:
                while True:
                    self.acknowledged = int(asking.incr("count"))
            except redis.ConnectionError:
                return


def kill_while_writing(url: str, kill: Callable[[], None]) -> int:
    """Returns the last acknowledged number."""
    writer = Writer(url)
    writer.start()
    wait_for("some writes", lambda: writer.acknowledged > 100)
    kill()
    writer.join()
    return writer.acknowledged


def test_a_killed_user_leaves_no_server(data_dir: Path, use: Use) -> None:
    use().started().kill()
    wait_for("the server to stop by itself", lambda: gone(data_dir))


def test_a_user_killed_while_it_starts_leaves_no_server(data_dir: Path, use: Use) -> None:
    user = use()
    wait_for("the supervisor to start", lambda: bool(supervisors_of(data_dir)))
    user.kill()
    wait_for("the server to stop by itself", lambda: gone(data_dir))


def test_children_of_a_killed_user_do_not_hold_its_server(data_dir: Path, use: Use) -> None:
    user = use(more="children").started()
    assert len(user.children) == 2
    os.kill(user.pid, signal.SIGKILL)
    wait_for("the server to stop by itself", lambda: gone(data_dir))
    assert psutil.STATUS_ZOMBIE not in [psutil.Process(child).status() for child in user.children]


def test_a_killed_server_comes_back_with_all_that_was_acknowledged(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server:
        killed = server.server_pid()
        assert killed is not None
        acknowledged = kill_while_writing(server.url, lambda: os.kill(killed, signal.SIGKILL))
        server.ensure()
        assert servers_in(data_dir) == [server.server_pid()] != [killed]
        with client(server.url) as asking:
            # The one that was on its way may have been written too.
            assert int(asking.get("count")) in (acknowledged, acknowledged + 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_lost_supervisor_is_replaced_and_there_is_one_server(data_dir: Path, number: signal.Signals) -> None:
    with EmbeddedServer.acquire(data_dir) as server:
        before = server.server_pid()
        supervisor = server.supervisor_pid()
        assert supervisor is not None
        acknowledged = kill_while_writing(server.url, lambda: os.kill(supervisor, number))
        server.ensure()
        assert servers_in(data_dir) == [server.server_pid()] != [before]
        assert supervisors_of(data_dir) == [server.supervisor_pid()] != [supervisor]
        with client(server.url) as asking:
            assert int(asking.get("count")) in (acknowledged, acknowledged + 1)


def test_several_users_replace_a_lost_supervisor_together(data_dir: Path, use: Use) -> None:
    users = [use().started() for _ in range(3)]
    os.kill(users[0].supervisor, signal.SIGKILL)
    wait_for("the supervisor to be gone", lambda: not supervisors_of(data_dir))
    threads = [threading.Thread(target=user.ensure) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(user.url, user.server, user.supervisor) for user in users}) == 1
    assert servers_in(data_dir) == [users[0].server]
    assert supervisors_of(data_dir) == [users[0].supervisor]


def test_the_promise_of_durability_outlives_a_killed_supervisor(data_dir: Path, use: Use) -> None:
    first = use().started()
    os.kill(first.supervisor, signal.SIGKILL)
    wait_for("the supervisor to be gone", lambda: not supervisors_of(data_dir))
    # The newcomer's supervisor serves the first user too, who notices nothing but a broken connection.
    with EmbeddedServer.acquire(data_dir, durability="everysec") as newcomer, client(newcomer.url) as asking:
        assert newcomer.durability == "always"
        assert asking.config_get("appendfsync") == {"appendfsync": "always"}


def test_a_newcomer_waits_for_a_stop_and_gets_a_new_server(data_dir: Path, use: Use) -> None:
    user = use().started()
    with client(user.url) as asking:
        asking.set("kept", "yes")
    # A stopped process keeps its signals for later: so the stop is in its middle until the test lets it go on.
    os.kill(user.server, signal.SIGSTOP)
    user.leave()
    wait_for("the supervisor to begin its stop", lambda: not (data_dir / "running.json").exists())
    newcomer = use()
    wait_for("the newcomer to be at the lock", lambda: has_open(newcomer.pid, data_dir / "users.lock"))
    with pytest.raises(EmbeddedServerError, match="did not stop in time"):
        EmbeddedServer.acquire(data_dir, timeout=0.05)
    assert not has_open(os.getpid(), data_dir / "users.lock")
    assert supervisors_of(data_dir) == [user.supervisor]
    assert servers_in(data_dir) == [user.server]
    os.kill(user.server, signal.SIGCONT)
    newcomer.started()
    assert servers_in(data_dir) == [newcomer.server] != [user.server]
    with client(newcomer.url) as asking:
        assert asking.get("kept") == "yes"


def test_a_supervisor_killed_in_its_stop_leaves_the_data_to_one_server(data_dir: Path, use: Use) -> None:
    user = use().started()
    os.kill(user.server, signal.SIGSTOP)
    user.leave()
    wait_for("the supervisor to begin its stop", lambda: not (data_dir / "running.json").exists())
    os.kill(user.supervisor, signal.SIGKILL)
    newcomer = use()
    wait_for(
        "a new supervisor to wait for the old server", lambda: (data_dir / "running.json").exists() or waits(data_dir)
    )
    assert servers_in(data_dir) == [user.server]
    os.kill(user.server, signal.SIGCONT)
    newcomer.started()
    assert servers_in(data_dir) == [newcomer.server] != [user.server]


@pytest.mark.parametrize("left", ["", "{", "[]"], ids=["empty", "half", "other"])
def test_what_a_power_cut_left_of_the_passing_files(data_dir: Path, left: str) -> None:
    data_dir.mkdir()
    for name in ("running.json", "failure.json", "server.lock"):
        (data_dir / name).write_text(left)
    with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
        assert asking.ping()


def test_a_starter_that_blocks_signals(data_dir: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        server = EmbeddedServer.acquire(data_dir)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    server.release()
    wait_for("the server to stop by itself", lambda: gone(data_dir), limit=10)


def test_users_that_come_as_the_last_one_goes_always_get_a_server(data_dir: Path) -> None:
    for step in range(12):
        with EmbeddedServer.acquire(data_dir) as server, client(server.url) as asking:
            assert asking.incr("uses") == step + 1
        # Not a wait for anything: it moves the next arrival through the moment in which the supervisor looks.
        threading.Event().wait(0.07 + step * 0.008)


def test_a_server_that_cannot_read_its_data_is_given_up(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server:
        with client(server.url) as asking:
            asking.set("some", "data")
        killed = server.server_pid()
        assert killed is not None
        for path in (data_dir / "appendonlydir").glob("*.incr.aof"):
            path.write_bytes(b"this is no log of commands\r\n" + path.read_bytes())
        os.kill(killed, signal.SIGKILL)
        wait_for("the supervisor to give up", lambda: not supervisors_of(data_dir))
        assert servers_in(data_dir) == []
        assert "died 6 times" in (data_dir / "failure.json").read_text()
        with pytest.raises(EmbeddedServerError, match="Bad file format"):
            server.ensure()
        wait_for("that attempt to be over", lambda: gone(data_dir))
    with pytest.raises(EmbeddedServerError, match="did not start"):
        EmbeddedServer.acquire(data_dir)


def test_a_socket_that_was_removed_is_made_anew(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server:
        with client(server.url) as asking:
            asking.set("kept", "yes")
            socket = Path(asking.connection_pool.connection_kwargs["path"])
        socket.unlink()
        server.ensure()
        with client(server.url) as asking:
            assert asking.get("kept") == "yes"
        assert servers_in(data_dir) == [server.server_pid()]


def test_a_removed_directory_ends_its_server_and_not_the_next_one(data_dir: Path) -> None:
    with EmbeddedServer.acquire(data_dir) as server:
        old = server.server_pid()
        moved = data_dir.with_name("moved")
        data_dir.rename(moved)
        with EmbeddedServer.acquire(data_dir) as next_server, client(next_server.url) as asking:
            asking.set("of the new one", "x")
            wait_for("the old server to end", lambda: not psutil.pid_exists(old or 0))
            assert asking.get("of the new one") == "x"
            server.ensure()
            assert server.url == next_server.url
    assert stop(data_dir).outcome != "in_use"


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has this file open."""
    try:
        return any(os.path.samefile(link, path) for link in Path(f"/proc/{pid}/fd").iterdir() if os.path.exists(link))
    except (FileNotFoundError, ProcessLookupError):
        return False


def waits(data_dir: Path) -> bool:
    """Whether a supervisor has the server lock open but has not started a server."""
    return any(has_open(pid, data_dir / "server.lock") for pid in supervisors_of(data_dir))
