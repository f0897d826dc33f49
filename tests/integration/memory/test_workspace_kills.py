"""Processes that are killed while they keep or bring back files: the old tree or the new one, never a mix."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestra import Agent, Runtime, ToolContext
from orchestra.memory.workspace import WorkspaceStore, opened_folder
from orchestra.testing import FunctionModel, call, reply
from tests.servers import Server
from tests.trees import Tree, make_tree, tree_of
from tests.waiting import until

OLD: Tree = {"": (0o755, None), **{f"f{n}": (0o644, b"old") for n in range(20)}}
NEW: Tree = {"": (0o700, None), "d": (0o755, None), **{f"d/f{n}": (0o600, b"new") for n in range(20)}}
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a program that stands still at a failpoint and can be killed there."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, at: str = "") -> subprocess.Popen[str]:
        environment = {**os.environ, "ORCHESTRA_FAILPOINT": f"{at}@{tmp_path / 'reached'}" if at else ""}
        made = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.memory.workspace_user", *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(made)
        return made

    yield begin
    for process in started:
        process.kill()
        process.communicate()


async def kill_at(process: subprocess.Popen[str], tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    await until("the program has come to its failpoint", lambda: reached.exists() and reached.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    reached.unlink()


def beside(tmp_path: Path) -> list[str]:
    """What lies beside the folder and is no part of it."""
    return [name for name in os.listdir(tmp_path) if name.startswith(".work")]


async def two(tmp_path: Path) -> tuple[WorkspaceStore, Path, str, str]:
    """A folder that is OLD now, with snapshots of OLD and NEW."""
    store, folder = WorkspaceStore(tmp_path / "kept"), tmp_path / "work"
    new = await store.snapshot(make_tree(tmp_path / "made", NEW))
    return store, folder, await store.snapshot(make_tree(folder, OLD)), new


@pytest.mark.parametrize(("place", "left"), [("workspace.staged", OLD), ("workspace.swapped", NEW)])
async def test_killed_in_a_restore(start: Start, tmp_path: Path, place: str, left: Tree) -> None:
    store, folder, _, new = await two(tmp_path)
    await kill_at(start("restore", store.url, folder, new, at=place), tmp_path)
    assert tree_of(folder) == left
    assert [name[:10] for name in beside(tmp_path)] == [".work.new-"]  # what the killed one has left
    await store.restore(new, folder)
    assert tree_of(folder) == NEW
    assert beside(tmp_path) == []


async def test_killed_between_the_two_steps_of_systems_that_cannot_exchange(start: Start, tmp_path: Path) -> None:
    folder, stage = make_tree(tmp_path / "work", OLD), make_tree(tmp_path / ".work.new-1", NEW)
    await kill_at(start("steps", folder, stage, at="workspace.between"), tmp_path)
    assert not folder.exists()
    await opened_folder(folder)
    assert tree_of(folder) == OLD
    assert beside(tmp_path) == []


async def test_a_replacement_in_two_steps(start: Start, tmp_path: Path) -> None:
    folder, stage = make_tree(tmp_path / "work", OLD), make_tree(tmp_path / "stage", NEW)
    assert start("steps", folder, stage).wait() == 0
    assert (tree_of(folder), tree_of(stage)) == (NEW, OLD)


async def test_killed_in_a_snapshot(start: Start, tmp_path: Path) -> None:
    store, folder = WorkspaceStore(tmp_path / "kept"), make_tree(tmp_path / "work", OLD)
    await kill_at(start("snapshot", store.url, folder, at="workspace.read"), tmp_path)
    assert tree_of(folder) == OLD
    assert not (tmp_path / "kept/manifests").exists()
    manifest = await store.snapshot(folder)
    await store.restore(manifest, tmp_path / "copy")
    assert tree_of(tmp_path / "copy") == OLD


async def test_killed_at_any_moment(start: Start, tmp_path: Path) -> None:
    store, folder, old, new = await two(tmp_path)
    chance = random.Random(7)
    for _ in range(5):
        process = start("swing", store.url, folder, old, new)
        assert process.stdout is not None
        for _ in range(chance.randint(1, 6)):
            assert process.stdout.readline().strip() in (old, new)
        for _ in range(chance.randint(0, 1000)):  # a moment that nobody has chosen
            await asyncio.sleep(0)
        process.kill()
        process.wait()
        assert tree_of(folder) in (OLD, NEW)
    await store.restore(old, folder)
    assert tree_of(folder) == OLD
    assert beside(tmp_path) == []


async def look(ctx: ToolContext) -> str:
    """List the files, and add one."""
    assert ctx.workspace is not None
    names = sorted(os.listdir(ctx.workspace))
    (ctx.workspace / f"file{len(names)}").write_text("x")
    return " ".join(names)


async def test_killed_between_the_log_and_the_files(
    start: Start, server: Server, namespace: str, tmp_path: Path
) -> None:
    """The next turn finds the log restored and finishes the files before any tool sees them."""
    config = {"redis": {"url": server.url}, "namespace": namespace, "data_dir": tmp_path / "data"}
    model = FunctionModel(
        lambda request: (
            reply(calls=[call("look")]) if request.messages[-1].role == "user" else request.messages[-1].text
        )
    )
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=model, tools=(look,), workspace=str(tmp_path / "work")))
        assert (await runtime.run("a", "1", session_id="s")).output == ""
        snapshot = await runtime.snapshot("s")
        assert (await runtime.run("a", "2", session_id="s")).output == "file0"
        await kill_at(
            start("session", server.url, namespace, tmp_path / "data", snapshot, at="restore.recorded"), tmp_path
        )
        said = [m.text for m in await runtime.session("s").get_items() if m.role == "user"]  # type: ignore[attr-defined]
        assert said == ["1"]
        assert sorted(os.listdir(tmp_path / "work")) == ["file0", "file1"]
        assert (await runtime.run("a", "3", session_id="s")).output == "file0"
        assert sorted(os.listdir(tmp_path / "work")) == ["file0", "file1"]
        assert await runtime.store.read("HEXISTS", runtime.store.keys.head("a|s"), "workspace") == 0
        assert (await runtime.run("a", "4", session_id="s")).output == "file0 file1"
