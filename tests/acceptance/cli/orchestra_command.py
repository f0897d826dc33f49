"""The real command in a process of its own, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[3]
MARK = "ORCHESTRA_TEST_MARK"
KEYS = ("_API_KEY", "_BASE_URL", "ORCHESTRA_", "AWS_", "HF_TOKEN", "GOOGLE_CLOUD_PROJECT", "COLUMNS", "FORCE_COLOR")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document."""
        return json.loads(self.out)


@dataclass
class Command:
    """Starts ``orchestra`` in ``folder``. Every process that it starts carries a mark, so that leftovers are found."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Without keys and settings of whoever runs the tests."""
        kept = {name: value for name, value in os.environ.items() if not any(key in name for key in KEYS)}
        return {**kept, "PYTHONPATH": str(ROOT), MARK: self.mark, **self.variables}

    def start(self, *arguments: str | Path, piped: bool = False, **more: Any) -> subprocess.Popen[str]:
        """Start it; standard input is empty unless ``piped``."""
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestra.cli.main", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """End what a failed test has left, by its pid."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def __call__(self, *arguments: str | Path, text: str | None = None, seconds: float = 90) -> Done:
        """Run it to its end; ``text`` is its standard input."""
        process = self.start(*arguments, piped=text is not None)
        try:
            out, err = process.communicate(text, timeout=seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return Done(process.returncode, out, err)

    def left(self) -> list[str]:
        """The processes that still carry the mark."""
        found = []
        for process in psutil.process_iter(["pid", "cmdline"]):
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.info["cmdline"] or [])[:200])
            except psutil.Error:
                continue
        return found

    def nothing_is_left(self, *, seconds: float = 20) -> None:
        """Wait until nothing that was started here runs any more; an assertion names what does."""
        end = time.monotonic() + seconds
        while found := self.left():
            assert time.monotonic() < end, found
            threading.Event().wait(0.02)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read the process's standard error up to the line that holds ``text``."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r} in:\n{''.join(seen)}")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write text files below ``folder``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def labels(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The labels of blocks as JSON."""
    return [block["label"] for block in blocks]
