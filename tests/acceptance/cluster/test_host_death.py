"""A host dies, or stands still, in the middle of a turn: the same run goes on elsewhere, and nothing is done twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestra import Agent, Runtime, tool
from orchestra.core.errors import HostUnavailable
from orchestra.core.events import RunEnded, RunEvent, RunStarted
from orchestra.store.host_store import HostStore
from orchestra.testing import ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import Failpoint, note, until, until_async

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]
Arm = Callable[[str], Failpoint]


def counting(file: Path, *, idempotent: bool = False) -> Agent:
    """An agent whose tool writes the pid of each start into ``file``."""

    @tool(idempotent=idempotent)
    def count() -> str:
        note(file, str(os.getpid()))
        return f"counted in {os.getpid()}"

    return Agent(name="a", model=ScriptedModel([reply(calls=[call("count")]), reply("Done.")]), tools=[count])


@pytest.mark.parametrize("place", ["turn.tool_journaled", "turn.committing", "turn.committed"])
async def test_the_run_of_a_killed_host_ends_on_the_other_one(
    config: Config, arm: Arm, tmp_path: Path, place: str
) -> None:
    failpoint, starts = arm(place), tmp_path / "starts"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(counting(starts))
        before = {host.name: host.pid for host in await runtime.hosts()}
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s", run_id="run-1"))
        pid = await failpoint.reached()
        os.kill(pid, signal.SIGKILL)
        result = await running
        log = await runtime.session("s", "a").get_items()
        await until_async("the killed host to be back", lambda: _alive(runtime), 2)
        after = {host.name: host.pid for host in await runtime.hosts()}
    assert (result.status, result.output, result.run_id) == ("completed", "Done.", "run-1")
    assert pid in before.values()
    assert starts.read_text().split() == [str(pid)]  # the journaled tool ran once, in the host that died
    assert len(log) == 4
    assert result.duplicate == (place == "turn.committed")
    assert [name for name in before if before[name] != after[name]] == [_named(before, pid)]


async def test_a_tool_that_may_have_run_is_not_started_again(config: Config, arm: Arm, tmp_path: Path) -> None:
    failpoint, starts = arm("turn.tool_done"), tmp_path / "starts"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(counting(starts))
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s"))
        os.kill(await failpoint.reached(), signal.SIGKILL)
        result = await running
    assert result.status == "completed"
    assert len(starts.read_text().split()) == 1
    assert "may or may not have run" in result.messages[2].text


async def test_without_a_session_a_run_whose_tool_may_have_run_is_given_back(
    config: Config, arm: Arm, tmp_path: Path
) -> None:
    failpoint, starts = arm("turn.tool_done"), tmp_path / "starts"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(counting(starts))
        running = asyncio.ensure_future(runtime.run("a", "x"))
        os.kill(await failpoint.reached(), signal.SIGKILL)
        with pytest.raises(HostUnavailable, match="session_id"):
            await running
    assert len(starts.read_text().split()) == 1


async def test_a_stream_goes_on_from_another_host(config: Config, arm: Arm, tmp_path: Path) -> None:
    failpoint, starts = arm("turn.tool_journaled"), tmp_path / "starts"
    events: list[RunEvent] = []
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(counting(starts))

        async def read() -> None:
            async for event in runtime.stream("a", "x", session_id="s", run_id="run-1"):
                events.append(event)

        reading = asyncio.ensure_future(read())
        pid = await failpoint.reached()
        await until("the first events", lambda: bool(events))
        os.kill(pid, signal.SIGKILL)
        await reading
    assert starts.read_text().split() == [str(pid)]
    assert [event.resumed for event in events if isinstance(event, RunStarted)] == [False, True]
    assert [event.number for event in events] == sorted({event.number for event in events})
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert (last.result.output, last.run_id) == ("Done.", "run-1")


async def test_a_host_that_stood_still_is_fenced_when_it_wakes_up(config: Config, arm: Arm, tmp_path: Path) -> None:
    failpoint, starts = arm("turn.committing"), tmp_path / "starts"
    async with Runtime.start(config(primary=2, heartbeat_seconds=0.6)) as runtime:
        await runtime.register(counting(starts))
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s"))
        pid = await failpoint.reached()
        result = await running  # its heartbeat ended, and the other host took over
        os.kill(pid, signal.SIGCONT)
        await until_async("the host that woke up to be back", lambda: _alive(runtime), 2)
        # What it did after it woke up was refused, so its run is over there and the session holds one turn.
        await until_async("its late turn to be over", lambda: _active(runtime), 0)
        log = await runtime.session("s", "a").get_items()
        again = await HostStore(runtime.store).alive()
    assert result.status == "completed"
    assert not result.duplicate
    assert len(log) == 4
    assert len(starts.read_text().split()) == 1
    assert len(again) == 2


async def test_with_its_only_host_dead_a_run_waits_for_the_restarted_one(
    config: Config, arm: Arm, tmp_path: Path
) -> None:
    failpoint, starts = arm("turn.begun"), tmp_path / "starts"
    async with Runtime.start(config(primary=1)) as runtime:
        await runtime.register(counting(starts))
        running = asyncio.ensure_future(runtime.run("a", "x", session_id="s"))
        pid = await failpoint.reached()
        os.kill(pid, signal.SIGKILL)
        result = await running
    assert result.output == "Done."
    assert int(starts.read_text()) != pid  # the restarted host was taught the by-value tool again


async def _alive(runtime: Runtime) -> int:
    return sum(host.alive for host in await runtime.hosts())


async def _active(runtime: Runtime) -> int:
    return sum(len(host.active) for host in await runtime.hosts())


def _named(pids: dict[str, int], pid: int) -> str | None:
    return next((name for name, value in pids.items() if value == pid), None)
