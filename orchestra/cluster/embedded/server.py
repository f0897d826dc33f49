"""A program's use of an embedded server."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Literal
from urllib.parse import quote

from orchestra.cluster.embedded.launch import start_supervisor
from orchestra.cluster.embedded.supervisor.endpoint import probe
from orchestra.cluster.embedded.supervisor.files import Files, tail
from orchestra.cluster.embedded.supervisor.locks import Lock
from orchestra.cluster.embedded.supervisor.running import Failure, Running
from orchestra.core.errors import EmbeddedServerError

Durability = Literal["always", "everysec"]

#: How often a supervisor may vanish without a word, within one call, before that is an error.
_VANISHED_LIMIT = 3


class EmbeddedServer:
    """One use of the server of a data directory; as long as one is held, by any process, the server lives.

    Get one with :meth:`acquire` or :meth:`open`. It is held until :meth:`release`, until the end of a ``with`` block,
    or until the process is gone. Methods are blocking and safe to call from any thread. A forked child does not
    share its parent's hold: it calls :meth:`ensure` to get one of its own.

    Attributes:
        data_dir: The directory, absolute.
        durability: What the running server promises: ``always``, also where ``everysec`` was asked for and the
            server was running with ``always``.
        url: ``unix://…``, for ``redis.asyncio.Redis.from_url``. May change when :meth:`ensure` had to start a
            new supervisor.
    """

    def __init__(self, data_dir: Path, *, durability: Durability) -> None:
        """Not held yet; use :meth:`acquire`."""
        self.data_dir = data_dir.absolute()
        self.durability = durability
        self._asked = durability
        self._files = Files(self.data_dir)
        self._hold: Lock | None = None
        self._released = threading.Event()
        self._socket = ""
        self._one_at_a_time = threading.RLock()

    @classmethod
    def acquire(cls, data_dir: Path, *, durability: Durability = "always", timeout: float = 300.0) -> EmbeddedServer:
        """Use the server of ``data_dir``; starts it when it does not run. Blocks until it answers.

        Args:
            data_dir: Made when missing, with mode 0700.
            durability: ``always`` syncs each write before it is acknowledged, ``everysec`` may lose the last ones to
                a crash. A server that runs with the weaker one is refused to who asks for the stronger.
            timeout: Seconds. Only reading back much data needs more than one.

        Raises:
            EmbeddedServerError: It cannot be started here; the message says why and what to do.
        """
        server = cls(data_dir, durability=durability)
        server._begin(timeout)
        return server

    @classmethod
    async def open(cls, data_dir: Path, *, durability: Durability = "always", timeout: float = 300.0) -> EmbeddedServer:
        """As :meth:`acquire`, without blocking the loop. When cancelled, nothing stays held."""
        server = cls(data_dir, durability=durability)
        future = asyncio.get_running_loop().run_in_executor(None, server._begin, timeout)
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            # The thread cannot be cancelled; it ends at its next look, and takes no hold after this.
            server._released.set()
            future.add_done_callback(lambda _: server.release())
            raise
        return server

    def _begin(self, timeout: float) -> None:
        if sys.platform == "win32":
            raise EmbeddedServerError(
                str(self.data_dir), "it does not run on Windows; give redis.url a server's address"
            )
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.ensure(timeout=timeout)
        except BaseException as error:
            self.release()
            if isinstance(error, OSError):
                raise EmbeddedServerError(str(self.data_dir), _os_problem(error)) from error
            raise

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"unix://{quote(self._socket)}"

    def supervisor_pid(self) -> int | None:
        """The process that keeps the server running now; None when there is none."""
        running = Running.read_live(self._files)
        return None if running is None else running.supervisor.pid

    def server_pid(self) -> int | None:
        """The server process now; None while it is not up."""
        running = Running.read_live(self._files)
        return running.server.pid if running is not None and running.server is not None else None

    def ensure(self, *, timeout: float = 300.0) -> None:
        """Return when the server answers; a dead supervisor is replaced. Cheap when all is well (under a millisecond).

        For callers whose connection broke. Raises EmbeddedServerError, also after :meth:`release`.
        """
        try:
            with self._one_at_a_time:
                self._settle(_Pauses(self.data_dir, time.monotonic() + timeout, self._released))
                if self._released.is_set():
                    self._let_go()
        except OSError as error:
            raise EmbeddedServerError(str(self.data_dir), _os_problem(error)) from error

    def release(self) -> None:
        """End this use. The server stops soon after the last one, unless it is kept. Again does nothing.

        An :meth:`ensure` that waits in another thread ends with an error.
        """
        self._released.set()
        with self._one_at_a_time:
            self._let_go()

    def _let_go(self) -> None:
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    # --- the newcomer's side of the interleaving in Supervisor ------------------------------------------------------

    def _settle(self, pauses: _Pauses) -> None:
        """Steps 1 to 3 of a newcomer (see Supervisor), repeated until the server answers."""
        pauses.check_released()
        self._take_hold(pauses)
        known = Failure.read(self._files)
        vanished = 0
        while True:
            running = Running.read_live(self._files)
            if running is not None and running.ready:
                self._check_durability(running)
                # The process too: a new server answers a moment before its supervisor has published it.
                if running.server is not None and running.server.alive() and probe(running.socket) == "answers":
                    self._socket = running.socket
                    return
            else:
                failure = Failure.read(self._files)
                if failure is not None and failure != known:
                    raise EmbeddedServerError(str(self.data_dir), failure.problem)
                claim = Lock.open(self._files.supervisor_lock)
                if claim.try_exclusive():
                    if self._start(claim, pauses.deadline) == "ready":
                        continue
                    vanished += 1
                    if vanished == _VANISHED_LIMIT:
                        problem = f"its supervisor ended {vanished} times before it was ready"
                        log = tail(self._files.supervisor_log)
                        raise EmbeddedServerError(str(self.data_dir), f"{problem}:\n{log}" if log else problem)
                else:
                    claim.close()
            pauses.wait("it was not ready in time; try again with a longer timeout")

    def _take_hold(self, pauses: _Pauses) -> None:
        if self._hold is not None and not self._hold.closed and self._hold.in_place():
            return
        while True:
            hold = Lock.open(self._files.users_lock)
            try:
                while not hold.try_shared():
                    pauses.wait("the server before this one did not stop in time")
            except BaseException:
                hold.close()
                raise
            if hold.in_place():
                self._let_go()
                self._hold = hold
                return
            # The directory was removed and made again meanwhile: that was a lock of the old one.
            hold.close()

    def _start(self, claim: Lock, deadline: float) -> Literal["ready", "gone"]:
        return start_supervisor(self.data_dir, durability=self._asked, claim=claim, deadline=deadline)

    def _check_durability(self, running: Running) -> None:
        """The server keeps the promise it was started with: changing it would break another user's, or be undone."""
        if running.durability == "always":
            self.durability = "always"
        elif self._asked == "always":
            raise EmbeddedServerError(
                str(self.data_dir),
                f"it runs with durability {running.durability} and always was asked for; end the programs that use it "
                "(orchestra down), or ask for the same durability",
            )
        else:
            self.durability = "everysec"


class _Pauses:
    """Ever longer pauses between two looks, until a deadline (on the monotonic clock) or a release."""

    def __init__(self, data_dir: Path, deadline: float, released: threading.Event) -> None:
        self.deadline = deadline
        self._data_dir, self._released = data_dir, released
        self._pause = 0.001

    def check_released(self) -> None:
        """Raises EmbeddedServerError after a release."""
        if self._released.is_set():
            raise EmbeddedServerError(str(self._data_dir), "this use was released; acquire it again")

    def wait(self, late: str) -> None:
        """Raises EmbeddedServerError after a release and, with ``late``, after the deadline."""
        self._released.wait(self._pause)
        self.check_released()
        if time.monotonic() > self.deadline:
            raise EmbeddedServerError(str(self._data_dir), late)
        self._pause = min(self._pause * 1.5, 0.02)


def _os_problem(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}; give data_dir a directory that you can write to"
