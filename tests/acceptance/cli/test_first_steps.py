"""``init``, ``doctor``, ``--help`` and ``--version``."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.acceptance.cli.orchestra_command import Command, write


def test_a_new_project_runs_as_it_is(orchestra: Command) -> None:
    made = orchestra("init", "garden", "--json").json
    assert "configs/scenario.yaml" in made["files"]
    assert not any("pycache" in name for name in made["files"])
    project = Command(orchestra.folder / "garden", mark=orchestra.mark)
    first = project("run", "configs/scenario.yaml", "--inline", "--json")
    assert first.code == 0, first.err
    assert [one["turn"] for one in first.json["passes"]] == [3, 6]
    assert project("run", "configs/scenario.yaml", "--inline", "--json").json["played"] == "follow_up"
    # As its README says: no --cluster is needed there.
    assert "work" in [block["label"] for block in project("blocks", "list", "--json").json]
    assert project("chat", "assistant", "--inline", text="Hi.\n").code == 0


def test_an_existing_empty_folder_is_fine(orchestra: Command) -> None:
    (orchestra.folder / "here").mkdir()
    assert "orchestra run configs/scenario.yaml" in orchestra("init", "here").out


def test_doctor_finds_everything_here(orchestra: Command) -> None:
    done = orchestra("doctor", "--json")
    assert done.code == 0, done.out
    found = {one["name"]: one for one in done.json["findings"]}
    assert {"python", "ray", "redis", "disk", "model auto"} <= set(found)
    assert found["redis"]["text"].startswith("Valkey ")
    assert found["model auto"]["text"].startswith("extractive (no language model")
    assert found["model auto"]["hint"]
    assert list(orchestra.folder.iterdir()) == []  # looking leaves nothing behind
    assert "✓ redis" in orchestra("doctor").out


def test_doctor_names_what_is_configured_without_its_value(orchestra: Command) -> None:
    orchestra.variables["OPENAI_API_KEY"] = "sk-secret-word"
    done = orchestra("doctor")
    assert "OPENAI_API_KEY is set" in done.out
    assert "secret-word" not in done.out + done.err


@pytest.mark.parametrize(
    ("cluster", "broken", "text"),
    [
        ("redis: {url: 'redis://127.0.0.1:1'}\n", "redis", "cannot be reached"),
        (
            "ray: {address: '127.0.0.1:1'}\nredis: {url: 'redis://127.0.0.1:1'}\n",
            "ray",
            "nothing answers at 127.0.0.1:1",
        ),
        ("data_dir: file/data\n", "disk", "file is a file"),
    ],
)
def test_doctor_says_what_is_broken(orchestra: Command, cluster: str, broken: str, text: str) -> None:
    write(orchestra.folder, {"cluster.yaml": cluster, "file": ""})
    done = orchestra("doctor", "--json")
    assert done.code == 1, done.err
    found = next(one for one in done.json["findings"] if one["name"] == broken)
    assert found["state"] == "broken"
    assert text in found["text"]


def test_help_and_version_are_quick_to_load(orchestra: Command) -> None:
    assert orchestra("--version").out.startswith("orchestra")
    listed = orchestra("--help").out
    for command in ("doctor", "init", "up", "status", "down", "run", "chat", "blocks", "sessions", "runs", "watch"):
        assert f" {command} " in listed
    assert orchestra("blocks", "--help").code == 0
    program = "import sys, orchestra.cli.main; print([m for m in ('ray', 'pydantic_ai', 'openai') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], env=orchestra.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
