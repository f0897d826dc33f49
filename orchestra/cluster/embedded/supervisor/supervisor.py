"""The supervisor: runs one server, restarts it when it dies, stops it when nobody uses it."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
import uuid
from collections import deque
from contextlib import suppress
from pathlib import Path

from .child import Child
from .endpoint import probe
from .files import Files, tail
from .locks import Lock
from .process import Process
from .record import Record, Refused
from .running import Failure, Running
from .settings import Settings
from .waking import Waking

#: Seconds between two looks at the users' lock. A death or a signal is noticed at once.
LOOK = 0.1
#: A server that died more often than this, within so many seconds, is given up.
DEATHS, DEATH_WINDOW = 5, 30.0
#: Seconds for a server to open its socket (reading data back afterwards may take as long as it takes).
OPEN_LIMIT = 30.0
#: Seconds for a clean shutdown, and for an old server of a killed supervisor to go, before it is killed.
STOP_LIMIT, OLD_LIMIT = 30.0, 10.0


class GivenUp(Exception):
    """The server cannot be run; the message is for people."""


class Supervisor:
    """Owns the server of one data directory; started with the supervisor lock held.

    How a newcomer and a stop exclude each other. The newcomer: (1) takes the users' lock shared, (2) reads
    ``running.json`` and believes it when the supervisor that it names is alive and says ready, (3) otherwise tries the
    supervisor lock and, with it, starts a new supervisor. The supervisor: (a) takes the users' lock exclusively without
    waiting, (b) looks for the keep file, (c) removes ``running.json``, (d) stops the server, (e) lets go of the
    supervisor lock, (f) then of the users' lock.

    - 1 before a: a fails and the server stays.
    - a before 1: 1 waits until f. Then there is no ``running.json`` (c) and the supervisor lock is free (e): step 3.
    - The supervisor is killed between a and f: the kernel frees both locks, the newcomer starts another supervisor,
      and that one waits for the server lock, which the old server holds until it is gone.
    - ``keep`` writes its file with the users' lock shared, so none appears between b and f.
    """

    def __init__(self, settings: Settings, *, lock: Lock) -> None:
        self._settings = settings
        self._files = Files(Path(settings.data_dir))
        self._lock = lock
        self._incarnation = uuid.uuid4().hex
        self._waking = Waking()
        self._child: Child | None = None
        self._running: Running | None = None
        self._users: Lock | None = None
        self._deaths: deque[float] = deque()
        self._was_ready = False

    def run(self) -> None:
        """Live until nobody uses the server, or a signal asks to stop, or the server cannot be run."""
        self._waking.listen()
        try:
            self._adopt_data()
            self._start()
            self._watch()
        except (GivenUp, Refused, OSError) as error:
            # Without the file (full disk, directory gone) those who wait start a supervisor and hear it from that one.
            with suppress(OSError):
                Failure(self._incarnation, str(error)).write(self._files)
            self._report({"error": str(error)})
        finally:
            self._stop()

    def _report(self, message: dict[str, str]) -> None:
        """Tell the starter, once; it may be gone."""
        self._waking.report(self._settings.report, message)

    # --- starting ---------------------------------------------------------------------------------------------------

    def _adopt_data(self) -> None:
        """Wait for the server of a killed predecessor to go, then claim its data. Raises Refused, GivenUp."""
        old = Running.read(self._files)
        if old is not None and old.durability == "always":
            # It was not stopped without users, or its file were gone: some may go on with what they were promised.
            self._settings = dataclasses.replace(self._settings, durability="always")
        self._server_lock = self._wait_for_server_lock()
        record = Record.of_binary(self._settings.binary)
        record.claim(self._files)
        self._running = Running(
            incarnation=self._incarnation,
            supervisor=_this_process(),
            server=None,
            ready=False,
            socket=self._settings.socket,
            kind=record.kind,
            version=record.version,
            durability=self._settings.durability,
        )
        self._running.write(self._files)

    def _wait_for_server_lock(self) -> Lock:
        """Held by a server, and for a moment by what it forked to rewrite its log. Raises GivenUp."""
        lock = Lock.open(self._files.server_lock)
        asked = time.monotonic()
        while not lock.try_exclusive():
            waited = time.monotonic() - asked
            if waited > 2 * OLD_LIMIT:
                raise GivenUp("an earlier server on this directory does not end; end it, then try again")
            if old := Process.read(lock.descriptor):
                old.send(signal.SIGKILL if waited > OLD_LIMIT else signal.SIGTERM)
            self._waking.wait(0.01)
        return lock

    def _start(self) -> None:
        descriptor = self._server_lock.detach()
        try:
            self._child = Child(self._settings, self._files, server_lock=descriptor)
            if self._child.process is not None:
                self._child.process.write(descriptor)
        finally:
            os.close(descriptor)
        self._opened = time.monotonic()
        self._publish(ready=False, server=self._child.process)

    def _publish(self, *, ready: bool, server: Process | None) -> None:
        assert self._running is not None
        self._running = dataclasses.replace(self._running, ready=ready, server=server)
        self._running.write(self._files)
        if ready:
            self._was_ready = True
            self._files.failure.unlink(missing_ok=True)
            self._report({"ready": self._incarnation})

    # --- running ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        pause = 0.001
        while not self._waking.stop_asked and not self._unused():
            assert self._child is not None
            assert self._running is not None
            if (code := self._child.exit_code()) is not None:
                self._restart(code)
                pause = 0.001
            elif not self._running.ready:
                self._look_whether_ready()
                pause = min(pause * 1.5, 0.02)
            elif not os.path.exists(self._settings.socket):
                # A runtime directory goes when its user logs out. The next ensure() makes it anew, with a supervisor.
                print(f"the socket {self._settings.socket} was removed, stopping", flush=True)
                return
            self._waking.wait(LOOK if self._running.ready else pause)

    def _look_whether_ready(self) -> None:
        assert self._child is not None
        state = probe(self._settings.socket)
        if state == "answers":
            self._publish(ready=True, server=self._child.process)
        elif state == "loading":
            self._opened = time.monotonic()
        elif time.monotonic() - self._opened > OPEN_LIMIT:
            raise GivenUp(f"the server did not open its socket within {OPEN_LIMIT:g} s{self._log_tail()}")

    def _restart(self, code: int) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if not self._was_ready:
            raise GivenUp(f"the server did not start ({how}){self._log_tail()}")
        now = time.monotonic()
        self._deaths.append(now)
        while now - self._deaths[0] > DEATH_WINDOW:
            self._deaths.popleft()
        if len(self._deaths) > DEATHS:
            raise GivenUp(
                f"the server died {len(self._deaths)} times in {DEATH_WINDOW:g} s, last by {how}{self._log_tail()}"
            )
        print(f"the server died ({how}), starting it again", flush=True)
        self._publish(ready=False, server=None)
        self._server_lock = self._wait_for_server_lock()
        self._start()

    def _log_tail(self) -> str:
        text = tail(self._files.server_log)
        return f". The end of {self._files.server_log.name}:\n{text}" if text else ""

    def _unused(self) -> bool:
        """Whether nobody uses the server and nobody can begin to (steps a and b above)."""
        if not self._lock.in_place():
            raise GivenUp("the data directory was removed")
        if self._files.keep.exists():
            return False
        users = Lock.open(self._files.users_lock)
        if users.try_exclusive() and not self._files.keep.exists():
            self._users = users
            return True
        users.close()
        return False

    # --- stopping ---------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Steps c to f."""
        if self._users is not None:
            self._files.running.unlink(missing_ok=True)
        elif self._running is not None and self._lock.in_place():
            with suppress(OSError):
                self._publish(ready=False, server=self._running.server)
        if self._child is not None:
            self._end(self._child)
            Path(self._settings.socket).unlink(missing_ok=True)
        self._report({})
        self._lock.close()
        if self._users is not None:
            self._users.close()

    def _end(self, child: Child) -> None:
        asked = time.monotonic()
        while child.exit_code() is None:
            if time.monotonic() - asked > STOP_LIMIT:
                child.kill()
            else:
                # Again and again: a server that has not installed its handlers yet, or is asked in the middle of a
                # long script, may miss one.
                child.terminate()
            self._waking.wait(LOOK)


def _this_process() -> Process:
    this = Process.find(os.getpid())
    assert this is not None
    return this
