"""The output that the README shows is what this version prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESK = re.compile(r"<!-- output of the support desk -->\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"<!-- output of the (first|second) start -->\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def played(scenario: str, folder: Path, *options: str) -> tuple[str, str]:
    """(progress, results) of a play."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
    done = subprocess.run(
        [sys.executable, "-m", "orchestra.cli.main", "run", scenario, *options],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr, done.stdout


def plain(text: str) -> list[str]:
    """The lines without times and token counts, which differ from run to run."""
    text = re.sub(r"\d+(?:\.\d+)? s\b", "T", text)
    text = re.sub(r"[\d,]+ tokens", "N tokens", text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_shown_lines_of_the_support_desk_are_printed(tmp_path: Path) -> None:
    printed = plain("\n".join(played("support_desk", tmp_path, "--inline")))
    (text,) = DESK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [line for line in plain(text) if line not in printed] == []


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_shown_lines_of_the_quickstart_are_printed(tmp_path: Path) -> None:
    printed = {}
    for start in ("first", "second"):
        printed[start] = set(plain("\n".join(played(str(ROOT / "configs" / "quickstart.yaml"), tmp_path))))
    shown = SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(shown) == 3
    for start, text in shown:
        assert [line for line in plain(text) if line not in printed[start]] == []
