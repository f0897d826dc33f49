"""Clusters of a test: hosts of their own on the one Ray, a namespace of their own on a real server."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.servers import Server

T = TypeVar("T")


@pytest.fixture
def config(ray_address: str, server: Server, namespace: str, tmp_path: Path) -> Callable[..., dict[str, object]]:
    """A cluster's configuration; keyword arguments are what is under ``hosts:``."""

    def make(**hosts: float) -> dict[str, object]:
        return {
            "namespace": namespace,
            "ray": {"address": ray_address},
            "redis": {"url": server.url},
            "data_dir": str(tmp_path / "data"),
            "hosts": {"primary": 1, "sleeptime": 0, **hosts},
        }

    return make


class Failpoint:
    """A place where one host of the test stands still."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def reached(self) -> int:
        """Wait until a host stands there; its pid."""
        await until("a host to stand at the failpoint", lambda: self._file.exists() and self._file.stat().st_size > 0)
        return int(self._file.read_text().split()[0])


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Failpoint]:
    """Arm a failpoint (``name`` or ``name:count``) for the hosts that are made from now on."""

    def make(name: str) -> Failpoint:
        file = tmp_path / "failpoint"
        monkeypatch.setenv("ORCHESTRA_FAILPOINT", f"{name}@{file}")
        return Failpoint(file)

    return make


async def until(what: str, condition: Callable[[], bool], limit: float = 20.0) -> None:
    """Look until the condition holds; an error that names it after ``limit`` seconds."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit:g} s for: {what}"
        await asyncio.sleep(0.01)


async def until_async(what: str, look: Callable[[], Awaitable[T]], wanted: T, limit: float = 20.0) -> None:
    """As :func:`until`, for what is looked up asynchronously and is to equal ``wanted``."""
    deadline = time.monotonic() + limit
    while (found := await look()) != wanted:
        assert time.monotonic() < deadline, f"waited {limit:g} s for: {what}; it is {found!r}"
        await asyncio.sleep(0.01)


def note(file: Path, line: str) -> None:
    """Append a line in one write, so that lines of several processes stay whole."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)
