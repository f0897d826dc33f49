"""Agents with a folder: what their tools see, and sessions that come back with their files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestra import Agent, Runtime, ToolContext
from orchestra.core.errors import SessionBusy
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.workspaces import WorkspaceError, WorkspaceTooLarge
from orchestra.runtime.agent_file import load_agent
from orchestra.testing import FunctionModel, call, reply
from tests.servers import Server


def answer(request: ModelRequest) -> ModelReply:
    last = request.messages[-1]
    return reply(calls=[call("save", text=last.text)]) if last.role == "user" else reply(last.text)


async def save(text: str, ctx: ToolContext) -> str:
    """Add a line to the file; the whole file comes back."""
    if ctx.workspace is None:
        return "no folder"
    file = ctx.workspace / "lines"
    with file.open("a") as lines:
        lines.write(text)
    return file.read_text()


def agent(workspace: object, **more: object) -> Agent:
    fields = {"name": "a", "model": FunctionModel(answer), "tools": (save,), "workspace": str(workspace)}
    return Agent.model_validate(fields | more)


async def say(runtime: Runtime, text: str, session_id: str | None = "s") -> object:
    result = await runtime.run("a", text, session_id=session_id)
    return result.output if result.status == "completed" else result.error


@pytest.fixture
async def runtime(server: Server, namespace: str, tmp_path: Path) -> AsyncIterator[Runtime]:
    config = {
        "redis": {"url": server.url},
        "namespace": namespace,
        "data_dir": str(tmp_path / "data"),
        "snapshots": {"max_mb": 1},
    }
    async with Runtime.start(config, inline=True) as made:
        yield made


async def test_log_and_files_come_back_together(runtime: Runtime, tmp_path: Path) -> None:
    await runtime.register(agent(tmp_path / "work"))
    assert await say(runtime, "1") == "1"
    snapshot = await runtime.snapshot("s")
    assert await say(runtime, "2") == "12"
    done = await runtime.restore(snapshot)
    assert done.folder == tmp_path / "work"
    assert (tmp_path / "work/lines").read_text() == "1"
    assert await say(runtime, "3") == "13"
    (view,) = await runtime.snapshots("s")
    assert view.folder == str(tmp_path / "work")
    assert (tmp_path / f"data/workspaces/{runtime.config.namespace}/manifests/{view.workspace}").is_file()


async def test_one_folder_for_each_session(runtime: Runtime, tmp_path: Path) -> None:
    await runtime.register(agent(tmp_path / "work/{session}"))
    assert [await say(runtime, "x", name) for name in ("s", "t", "s", "../up")] == ["x", "x", "xx", "x"]
    assert await say(runtime, "x", None) == "no folder"
    assert sorted(os.listdir(tmp_path / "work")) == ["%2E.%2Fup", "s", "t"]
    snapshot = await runtime.snapshot("s")
    assert [await say(runtime, "y", name) for name in ("s", "t")] == ["xxy", "xy"]
    await runtime.restore(snapshot)
    assert [await say(runtime, "z", name) for name in ("s", "t")] == ["xxz", "xyz"]


async def test_no_snapshot_and_no_restore_while_a_run_writes_files(runtime: Runtime, tmp_path: Path) -> None:
    inside, going = asyncio.Event(), asyncio.Event()

    async def write_slowly(ctx: ToolContext) -> str:
        """Write."""
        inside.set()
        await going.wait()
        assert ctx.workspace is not None
        (ctx.workspace / "slow").write_text("done")
        return "written"

    def slow(request: ModelRequest) -> ModelReply:
        if request.messages[-1].text == "slowly":
            return reply(calls=[call("write_slowly")])
        return answer(request)

    await runtime.register(agent(tmp_path / "work", model=FunctionModel(slow), tools=(save, write_slowly)))
    await say(runtime, "1")
    snapshot = await runtime.snapshot("s")
    run = asyncio.create_task(say(runtime, "slowly"))
    await inside.wait()
    with pytest.raises(SessionBusy):
        await runtime.snapshot("s")
    with pytest.raises(SessionBusy):
        await runtime.restore(snapshot)
    going.set()
    assert await run == "written"
    assert sorted(os.listdir(tmp_path / "work")) == ["lines", "slow"]
    assert sorted(os.listdir(tmp_path)) == ["data", "work"]  # what the refused restore had made ready is gone


async def test_files_that_cannot_be_kept_or_brought_back_change_nothing(runtime: Runtime, tmp_path: Path) -> None:
    await runtime.register(agent(tmp_path / "work"))
    await say(runtime, "1")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "2")
    (tmp_path / "work/large").write_bytes(bytes(1 << 20))
    with pytest.raises(WorkspaceTooLarge):
        await runtime.snapshot("s")
    assert [one.id for one in await runtime.snapshots("s")] == [snapshot]
    for path in (tmp_path / "data").rglob("blobs/*/*"):
        path.unlink()
    before = await runtime.session("s").get_items()
    with pytest.raises(WorkspaceError):
        await runtime.restore(snapshot)
    assert await runtime.session("s").get_items() == before
    assert (tmp_path / "work/lines").read_text() == "12"
    assert sorted(os.listdir(tmp_path)) == ["data", "work"]


async def test_a_folder_that_cannot_be_made_fails_the_run_and_not_the_session(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    await runtime.register(agent(tmp_path / "file/work"))
    assert "file" in str(await say(runtime, "1"))
    (tmp_path / "file").unlink()
    assert await say(runtime, "2") == "2"


async def test_kept_files_go_when_no_snapshot_needs_them(runtime: Runtime, tmp_path: Path) -> None:
    await runtime.register(agent(tmp_path / "work"))
    await say(runtime, "1")
    snapshot = await runtime.snapshot("s")
    await say(runtime, "2")
    other = await runtime.snapshot("s")
    await runtime.delete_snapshot(snapshot)
    assert (await runtime.prune_workspaces()).files == 0  # an hour must have passed
    for path in (tmp_path / "data").rglob("*"):
        os.utime(path, (1, 1))
    assert (await runtime.prune_workspaces()).files == 1
    await runtime.restore(other)
    assert (tmp_path / "work/lines").read_text() == "12"


def test_the_folder_is_relative_to_the_agent_file(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/a.md").write_text("---\nname: a\nworkspace: ../work/{session}\n---\nHi.\n")
    assert load_agent(tmp_path / "agents/a.md", environment={}).workspace == str(tmp_path / "work/{session}")
