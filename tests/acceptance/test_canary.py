"""``invocation_state`` is seen by the tool and found nowhere else: a canary value is searched for in everything."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from orchestra.cluster.embedded import EmbeddedServer


@pytest.fixture
def ray_folder() -> Iterator[Path]:
    """A short folder for everything that Ray writes: logs, session, spilled objects."""
    folder = Path(tempfile.mkdtemp(prefix="r-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


TALKER = ("tests.acceptance.talker", "1", "3")
DEEP = ("tests.acceptance.deep_talker",)


def play(folder: Path, ray_folder: Path, secret: str, program: tuple[str, ...] = TALKER, **extra: str) -> None:
    """A program of its own on Ray; what it prints goes into the folder too."""
    environment = {
        **os.environ,
        "TALKER_FOLDER": str(folder),
        "TALKER_SECRET": secret,
        "RAY_TMPDIR": str(ray_folder),
        "ORCHESTRA_DEBUG": "1",
        **extra,
    }
    command = [sys.executable, "-m", program[0], str(folder), *program[1:]]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    (folder / "printed").write_bytes(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def stored(folder: Path) -> bytes:
    """Every value in the server, whatever its type."""
    server = EmbeddedServer.acquire(folder / "data")
    client = redis.Redis.from_url(server.url)
    parts: list[object] = []
    for key in client.scan_iter(count=1000):
        kind = client.type(key)
        read = {
            b"string": client.get,
            b"hash": client.hgetall,
            b"list": lambda k: client.lrange(k, 0, -1),
            b"set": client.smembers,
            b"zset": lambda k: client.zrange(k, 0, -1, withscores=True),
            b"stream": client.xrange,
        }[kind]
        parts += [key, read(key)]
    assert len(parts) > 10
    client.close()
    server.release()
    return repr(parts).encode()


def places(folder: Path, ray_folder: Path, secret: str) -> list[str]:
    """Where the secret is found: files of the run (append-only file, logs, output), Ray's folder, the server."""
    found = ["the server"] if secret.encode() in stored(folder) else []
    files = [file for root in (folder, ray_folder) for file in root.rglob("*") if file.is_file()]
    assert any("appendonly" in file.name for file in files)
    assert any(file.is_relative_to(ray_folder) and file.suffix in (".log", ".out", ".err") for file in files)
    return found + [str(file) for file in files if secret.encode() in file.read_bytes()]


@pytest.mark.ray
@pytest.mark.timeout(180)
@pytest.mark.parametrize("trouble", ["", "TALKER_RAISE"])
def test_the_tool_saw_it_and_nobody_else(tmp_path: Path, ray_folder: Path, trouble: str) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    play(tmp_path, ray_folder, secret, **({trouble: "1"} if trouble else {}))
    pid, digest = (tmp_path / "deepest").read_text().split()
    assert digest == hashlib.sha256(secret.encode()).hexdigest()
    assert pid.isdigit()
    assert places(tmp_path, ray_folder, secret) == []


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_the_same_search_finds_a_deliberate_leak(tmp_path: Path, ray_folder: Path) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    play(tmp_path, ray_folder, secret, TALKER_LEAK="1")
    found = places(tmp_path, ray_folder, secret)
    assert "the server" in found
    assert any("appendonly" in place for place in found)


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_p38_at_depth_five_over_three_hosts_the_deepest_tool_saw_it_and_nobody_else(
    tmp_path: Path, ray_folder: Path
) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    play(tmp_path, ray_folder, secret, DEEP)
    lines = (tmp_path / "deepest").read_text().splitlines()
    assert {line.split()[1] for line in lines} == {hashlib.sha256(secret.encode()).hexdigest()}
    assert len(lines) == 12
    served = [line.split() for line in (tmp_path / "served").read_text().splitlines()]
    processes = {line.split()[0] for line in lines} | {pid for pid, _, _ in served}
    assert len(processes) == 3  # the runs below one another came to all three hosts
    assert places(tmp_path, ray_folder, secret) == []


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_at_depth_five_the_same_search_finds_a_deliberate_leak(tmp_path: Path, ray_folder: Path) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    play(tmp_path, ray_folder, secret, DEEP, TALKER_LEAK="1")
    assert "the server" in places(tmp_path, ray_folder, secret)
