"""The output that the README shows is what this version prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"<!-- output of the (first|second) start -->\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def plain(text: str) -> list[str]:
    """The lines without times and token counts, which differ from run to run."""
    text = re.sub(r"\d+(?:\.\d+)? s\b", "T", text)
    text = re.sub(r"[\d,]+ tokens", "N tokens", text)
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.ray
@pytest.mark.timeout(180)
def test_shown_lines_are_printed(tmp_path: Path) -> None:
    printed = {}
    environment = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL"))}
    for start in ("first", "second"):
        done = subprocess.run(
            [sys.executable, "-m", "orchestra.cli.main", "run", str(ROOT / "configs" / "quickstart.yaml")],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=80,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        printed[start] = set(plain(done.stderr + "\n" + done.stdout))
    shown = SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(shown) == 3
    for start, text in shown:
        assert [line for line in plain(text) if line not in printed[start]] == []
