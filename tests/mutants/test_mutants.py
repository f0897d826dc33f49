"""Each law, broken by a small patch: a named test must fail with it, and passes without it.

A patch names the law that it breaks in its first line and the test that must notice in a line ``Fails: …``. It is
applied to a copy of the tree. One that no longer applies is out of date: make it anew. That each applies is looked at
in every run of the tests; that its test notices, with ``--slow``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))
pytestmark = pytest.mark.timeout(180)
each_patch = pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git, which applies the patches, is not here")


def tree(folder: Path) -> Path:
    """A copy of what the tests need."""
    skipped = shutil.ignore_patterns("__pycache__", "*.patch")
    for name in ("orchestra", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def run(folder: Path, tests: list[str]) -> tuple[int, str]:
    """The exit code of pytest in ``folder``, and what it said."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--timeout=15", "-x", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def named(patch: Path) -> list[str]:
    """The tests that must fail with the patch."""
    return re.findall(r"^Fails: (\S+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)


def problem_of(patch: Path, folder: Path) -> str:
    """Apply it in ``folder``; why that cannot be done, or an empty text."""
    # In a folder of somebody's repository git would leave out, without a word, what the patch names.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "-p1", str(patch)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{patch.name} is out of date: {done.stderr}"


def test_every_law_has_a_mutant() -> None:
    laws = {re.match(r"Law (\d): \S", patch.read_text(encoding="utf-8")) for patch in PATCHES}
    assert {int(found[1]) for found in laws if found} == set(range(1, 10))
    assert all(named(patch) for patch in PATCHES)


@needs_git
@each_patch
def test_it_applies_to_the_tree_as_it_is(patch: Path, tmp_path: Path) -> None:
    for name in re.findall(r"^--- a/(\S+)$", patch.read_text(encoding="utf-8"), re.MULTILINE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert problem_of(patch, tmp_path) == ""
    for test in named(patch):
        file, _, name = test.partition("::")
        function = name.partition("[")[0]
        assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), test


@pytest.mark.slow
def test_without_a_patch_the_named_tests_pass(tmp_path: Path) -> None:
    code, said = run(tree(tmp_path), sorted({test for patch in PATCHES for test in named(patch)}))
    assert code == 0, said


@pytest.mark.slow
@needs_git
@each_patch
def test_the_named_test_notices(patch: Path, tmp_path: Path) -> None:
    folder = tree(tmp_path)
    assert problem_of(patch, folder) == ""
    for test in named(patch):
        code, said = run(folder, [test])
        assert code == 1, said
        assert "FAILED" in said or "Timeout" in said
