"""The head that ``up`` leaves running: a process that starts Ray, says where it is, and keeps it until SIGTERM.

It leads a session of its own, so that all of Ray's processes can be found by its number, whatever became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from orchestra.cluster.embedded.supervisor.process import Process
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ClusterError, OrchestraError

MARKER = "ORCHESTRA_CLUSTER"
LOG = "head.log"
START_SECONDS = 120.0


class Head:
    """A head that was spawned and waits for :meth:`begin`."""

    def __init__(self, child: subprocess.Popen[bytes], process: Process, log: Path) -> None:
        self.process = process
        self._child, self._log = child, log

    @classmethod
    def spawn(cls, config: ClusterConfig, marker: str) -> Head:
        """A process that does nothing yet: were its starter killed before it wrote the process down, it would end."""
        log = config.data_dir / LOG
        with log.open("ab") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "orchestra.cluster.head"],
                env={**os.environ, MARKER: marker},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                start_new_session=True,
            )
        process = Process.find(child.pid)
        if process is None:
            raise ClusterError(f"the head ended at once; see {log}")
        return cls(child, process, log)

    def begin(self, config: ClusterConfig) -> str:
        """Have it start Ray; Ray's address. Blocks for some seconds. Raises :class:`ClusterError`."""
        pipe, answer = self._child.stdin, self._child.stdout
        assert pipe is not None
        assert answer is not None
        with answer:
            with contextlib.suppress(BrokenPipeError), pipe:
                pipe.write(config.model_dump_json().encode() + b"\n")
            if not select.select([answer], [], [], START_SECONDS)[0]:
                raise ClusterError(f"the head was not ready within {START_SECONDS:g} s; see {self._log}")
            out = answer.readline()
        try:
            said: dict[str, str] = json.loads(out)
        except ValueError:
            raise ClusterError(f"the head ended before it was ready; see {self._log}") from None
        if "error" in said:
            raise ClusterError(said["error"])
        # It is not our child to wait for any more; without this, a warning about a running child would be given.
        self._child.returncode = 0
        return said["address"]


def main() -> None:
    """Wait for the word, start Ray, tell its address, keep it, stop the hosts at SIGTERM."""
    # By this way and not as an argument, which everybody on the machine could read: it may hold a password.
    word = sys.stdin.readline().strip()
    if not word:
        return  # whoever started this did not live to write it down
    config = ClusterConfig.model_validate_json(word)
    try:
        from orchestra.cluster.ray_connection import RayConnection, current_address

        connection = RayConnection.open(config, address="local")
        said = {"address": current_address()}
    except OrchestraError as error:
        said = {"error": str(error)}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    if "error" in said:
        return
    asyncio.run(_until_told(config))
    connection.close()


async def _until_told(config: ClusterConfig) -> None:
    from orchestra.cluster.host_actors import all_detached, stop

    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
    with contextlib.suppress(Exception):  # Ray ends in any case, and hosts that were killed are safe
        await stop(all_detached(config.namespace))


if __name__ == "__main__":
    main()
