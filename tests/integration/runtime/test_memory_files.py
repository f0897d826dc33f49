"""Memory files: shown from the start of a session on, written to at their end only, nothing else of the machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from orchestra import Agent, Runtime
from orchestra.core.conversation import Conversation
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, call, reply

FILES = ("SOUL.md", "USER.md", "MEMORY.md", "memory/{today}.md")


def asking(path: str, text: str = "Ana likes ferries.") -> FunctionModel:
    def answer(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        if last.role == "user" and last.text == "save":
            return reply(calls=[call("memory_file_append", path=path, text=text)])
        return last.text

    return FunctionModel(answer)


async def test_files_are_shown_from_the_start_of_a_session(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("You are calm.")
    (tmp_path / "USER.md").write_text("  \n")
    model = asking("MEMORY.md")
    await runtime.register(Agent(name="a", model=model, workspace=str(tmp_path), bootstrap=FILES, instructions="Help."))
    await runtime.run("a", "save", session_id="s")
    system = model.requests[0].messages[0].text
    assert '<file name="SOUL.md">\nYou are calm.\n</file>' in system
    assert "USER.md" not in system  # empty
    assert "[the file MEMORY.md is missing]" in system
    assert f"memory/{datetime.now(UTC).date().isoformat()}.md is missing" in system
    assert system.endswith("Help.")
    assert (tmp_path / "MEMORY.md").read_text() == "Ana likes ferries.\n"
    (tmp_path / "SOUL.md").write_text("You are wild.")
    await runtime.run("a", "hello", session_id="s")
    assert model.requests[-1].messages[0].text == system  # this session began with what was there then
    await runtime.run("a", "hello", session_id="next")
    assert "You are wild." in model.requests[-1].messages[0].text
    assert "Ana likes ferries." in model.requests[-1].messages[0].text


async def test_a_line_more_each_time(runtime: Runtime, tmp_path: Path) -> None:
    today = datetime.now(UTC).date().isoformat()
    model = asking(f"memory/{today}.md")
    await runtime.register(Agent(name="a", model=model, workspace=str(tmp_path), bootstrap=FILES))
    for _ in range(2):
        await runtime.run("a", "save", session_id="s")
    assert (tmp_path / "memory" / f"{today}.md").read_text() == "Ana likes ferries.\n" * 2
    assert sorted(path.name for path in (tmp_path / "memory").iterdir()) == [f"{today}.md"]


@pytest.mark.parametrize("path", ["SOUL.md", "../MEMORY.md", "/etc/passwd", "memory/2020-01-01.md", "memory/../x.md"])
async def test_no_other_file_can_be_written(runtime: Runtime, tmp_path: Path, path: str) -> None:
    model = asking(path)
    await runtime.register(Agent(name="a", model=model, workspace=str(tmp_path), bootstrap=FILES))
    result = await runtime.run("a", "save", session_id="s")
    assert "cannot be written" in cast("str", result.output)
    assert list(tmp_path.iterdir()) == []


async def test_a_link_leads_nowhere(runtime: Runtime, tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.md", tmp_path / "work"
    outside.write_text("secret")
    inside.mkdir()
    (inside / "MEMORY.md").symlink_to(outside)
    model = asking("MEMORY.md")
    await runtime.register(Agent(name="a", model=model, workspace=str(inside), bootstrap=FILES))
    result = await runtime.run("a", "save", session_id="s")
    assert "leads out of the workspace" in cast("str", result.output)
    assert outside.read_text() == "secret"
    assert "secret" not in model.requests[0].messages[0].text


async def test_no_files_no_tool(runtime: Runtime, tmp_path: Path) -> None:
    model = asking("MEMORY.md")
    plain = Conversation()
    await runtime.register(Agent(name="a", model=model, workspace=str(tmp_path), conversation=plain))
    await runtime.run("a", "hello", session_id="s")
    assert model.requests[0].tools == ()
