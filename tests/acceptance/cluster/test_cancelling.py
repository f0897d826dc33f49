"""Stopping a run that a host serves: by its id, by the task that waits for it, by leaving its stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from orchestra import Agent, Runtime
from orchestra.core.events import RunStarted
from orchestra.testing import ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import note, until, until_async

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]


def waiting(file: Path) -> Agent:
    """An agent whose first tool ends, while its second one waits for ever."""

    async def quick() -> str:
        note(file, "quick")
        return "quick"

    async def slow() -> str:
        note(file, "slow")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            note(file, "cancelled")
            raise
        return "never"

    model = ScriptedModel([reply(calls=[call("quick")]), reply(calls=[call("slow")]), reply("Next.")])
    return Agent(name="a", model=model, tools=[quick, slow])


def noted(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


async def started(file: Path) -> None:
    await until("the slow tool to have started", lambda: "slow" in noted(file))


async def settled(runtime: Runtime, file: Path) -> None:
    """The tool was cancelled, the turn is stored, and the session is free for the next one."""
    assert noted(file) == ["quick", "slow", "cancelled"]
    log = await runtime.session("s", "a").get_items()
    assert [message.role for message in log] == ["user", "assistant", "tool", "assistant", "tool"]  # type: ignore[attr-defined]
    assert (await runtime.run("a", "again", session_id="s")).output == "Next."


async def test_by_its_id(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(waiting(file))
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s", run_id="run-1"))
        await started(file)
        assert await runtime.cancel("run-1")
        assert not await runtime.cancel("another")
        assert (await running).status == "cancelled"
        await settled(runtime, file)


async def test_by_the_task_that_waits_for_it(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    async with Runtime.start(config()) as runtime:
        await runtime.register(waiting(file))
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s"))
        await started(file)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settled(runtime, file)


async def test_by_leaving_its_stream(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    async with Runtime.start(config()) as runtime:
        await runtime.register(waiting(file))
        async with aclosing(runtime.stream("a", "x", session_id="s")) as events:
            assert isinstance(await anext(events), RunStarted)
            await started(file)
        await settled(runtime, file)


async def test_while_it_waits_for_its_session(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    async with Runtime.start(config()) as runtime:
        await runtime.register(waiting(file))
        first = asyncio.ensure_future(runtime.run("a", "x", session_id="s", run_id="run-1"))
        await started(file)
        second = asyncio.ensure_future(runtime.run("a", "y", session_id="s", run_id="run-2"))

        async def active() -> set[str]:
            return {run for host in await runtime.hosts() for run in host.active}

        await until_async("both runs to be there", active, {"run-1", "run-2"})
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await until_async("the second run to be gone", active, {"run-1"})
        await runtime.cancel("run-1")
        await first
        log = await runtime.session("s", "a").get_items()
    assert [message.text for message in log if message.role == "user"] == ["x"]  # type: ignore[attr-defined]
