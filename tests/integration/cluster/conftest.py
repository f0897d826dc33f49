"""Fixtures for the cluster floor."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.cluster.embedded_users import User, end_all, gone, wait_for


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that does not exist yet; afterwards nothing may run there."""
    with tempfile.TemporaryDirectory(prefix="orch-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        folder = tmp_path / "data of a tést"
        yield folder
        try:
            wait_for("server and supervisor to be gone", lambda: gone(folder), limit=10)
        finally:
            left = end_all(folder)
        assert not left
        assert not list(Path(runtime).rglob("*.sock"))


@pytest.fixture
def use(data_dir: Path) -> Iterator[Callable[..., User]]:
    """Starts programs that use the directory; those that still run at the end are killed."""
    users: list[User] = []

    def start(**options: str) -> User:
        user = User(data_dir, **options)
        users.append(user)
        return user

    yield start
    for user in users:
        with contextlib.suppress(ProcessLookupError):
            user.kill()
