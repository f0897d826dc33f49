"""A folder of its own for each test's command, and a look at what it left running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli.orchestra_command import Command, write

AGENT = """---
name: pal
model: scripted:replies.yaml
blocks:
  - {label: human, scope: user, description: The user.}
  - {label: topic, scope: session, description: What it is about.}
sleeptime: {every: 2, consolidator: extractive}
---
Be a pal.
"""
REPLIES = "".join(f"- text: answer {number}\n" for number in range(1, 40))
CLUSTER = "namespace: test\nray: {num_cpus: 2, object_store_mb: 78}\ndata_dir: data\n"
SCENARIO = """cluster: cluster.yaml
agents: [agents/pal.md]
run: pal
session: talk
user: ana
invocation_state: {secret: hunter2-hunter2}
turns:
  - My name is Ana and I live in Lisbon.
  - My budget is 900 euros.
  - {content: I am allergic to nuts., at: "2026-03-04T10:11"}
  - I prefer trains.
  - My hotel is the Astoria.
follow_up: [Where do I live?]
expect: {passes_at: [2, 4]}
"""


@pytest.fixture
def orchestra(tmp_path: Path) -> Iterator[Command]:
    """``orchestra`` in an empty folder. Nothing that it started may be running at the end."""
    command = Command(tmp_path)
    yield command
    command.end()
    command.nothing_is_left()


@pytest.fixture
def project(orchestra: Command) -> Command:
    """``orchestra`` in a folder with an agent, a cluster file and a scenario, ``play.yaml``."""
    write(
        orchestra.folder,
        {"agents/pal.md": AGENT, "agents/replies.yaml": REPLIES, "cluster.yaml": CLUSTER, "play.yaml": SCENARIO},
    )
    return orchestra


@pytest.fixture
def played(project: Command) -> Command:
    """``project`` after its scenario was played without Ray."""
    done = project("run", "play.yaml", "--inline")
    assert done.code == 0, done.err
    return project
