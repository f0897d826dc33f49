"""A cluster of three masters on the loopback interface, formed without its command line tool."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

SLOTS = 16384


def free_ports(count: int) -> list[int]:
    """Ports that are free now, and whose cluster bus ports (10000 above) are valid."""
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port < 55_000 and port not in found:
            found.append(port)
        elif port >= 55_000:
            found.append(20_000 + port % 20_000)
    return found


class Cluster:
    """Three masters, each with a third of the slots."""

    def __init__(self, path: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="orch-"))
        self.ports = free_ports(3)
        self.processes = []
        for port in self.ports:
            folder = self.folder / str(port)
            folder.mkdir()
            command = [str(path), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
            command += ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--appendonly", "no"]
            self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        retry = Retry(ConstantBackoff(0.01), 500)
        self.clients = [redis.Redis(port=port, retry=retry, decode_responses=True) for port in self.ports]
        for number, client in enumerate(self.clients):
            client.ping()
            first, last = SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for port in self.ports[1:]:
            self.clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port)
        end = time.monotonic() + 8
        while not all(self._ready(client) for client in self.clients):
            assert time.monotonic() < end, "the cluster was not formed in 8 s"

    @staticmethod
    def _ready(client: redis.Redis) -> bool:
        try:
            info = str(client.execute_command("CLUSTER", "INFO"))
            return "cluster_state:ok" in info and "cluster_known_nodes:3" in info
        except RedisError:
            return False

    def url_of(self, key: str) -> str:
        """The URL of the node that has the slot of ``key``."""
        slot = int(self.clients[0].execute_command("CLUSTER", "KEYSLOT", key))
        return f"redis://127.0.0.1:{self.ports[next(n for n in range(3) if slot < SLOTS * (n + 1) // 3)]}/0"

    def stop(self) -> None:
        """Kill the three and delete their folder."""
        for client in self.clients:
            client.close()
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
