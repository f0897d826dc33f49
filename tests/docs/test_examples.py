"""Every Python example of README and docs runs as it stands there, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The reference of the files has a test of its own, which writes all its files and then runs its Python.
ELSEWHERE = {"configuration.md"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    if page.exists() and page.name not in ELSEWHERE
    for number, code in enumerate(FENCE.findall(page.read_text(encoding="utf-8")), 1)
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("code", EXAMPLES)
def test_example(code: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:orchestra", str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
