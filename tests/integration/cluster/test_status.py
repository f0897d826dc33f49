"""What ``status`` and ``watch`` tell of sessions that are closed in the background."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra import Agent, Runtime, Sleeptime
from orchestra.cli.event_screen import event_line
from orchestra.cluster.cluster_status import status
from orchestra.core.cluster import ClusterConfig
from orchestra.core.model import ModelRequest
from orchestra.store.event_store import EventFeed
from orchestra.testing import FunctionModel
from tests.hosts import Machines
from tests.servers import Server


@pytest.fixture
def config(server: Server, namespace: str, tmp_path: Path) -> ClusterConfig:
    return ClusterConfig.model_validate(
        {"namespace": namespace, "redis": {"url": server.url}, "data_dir": tmp_path / ".orchestra"}
    )


async def test_a_closing_that_waits_and_one_that_was_set_aside(machines: Machines, config: ClusterConfig) -> None:
    def answer(request: ModelRequest) -> str:
        raise ValueError("no summary today")

    host = await machines.host()
    client = machines.client_of(host)
    sleeptime = Sleeptime(every=None, model=FunctionModel(answer))
    await client.register(Agent(name="a", model=FunctionModel(lambda request: "ok"), sleeptime=sleeptime))
    await client.run("a", "Hi.", session_id="s")
    assert (await status(config)).passes == ()
    assert await client.close_session("s")
    (waits,) = (await status(config)).passes
    assert (waits.thread, waits.kind, waits.aside, waits.error) == ("a|s", "closing", False, "")
    await machines.worker(host)
    await client.drain()
    (aside,) = (await status(config)).passes
    assert (aside.kind, aside.aside) == ("closing", True)
    assert "no summary today" in aside.error


async def test_events_of_closings_are_one_line_each(runtime: Runtime) -> None:
    feed = EventFeed(runtime.store)
    agent = Agent(name="a", model=FunctionModel(lambda request: "ok"), archive=False)
    await runtime.register(agent)
    await runtime.run("a", "Hi.", session_id="s")
    assert await runtime.close_session("s")
    await runtime.drain()
    await runtime.register(agent.model_copy(update={"archive": None}))
    assert await runtime.close_session("s")
    await runtime.drain()
    (summary,) = await runtime.passages.list("a")
    lines = [event_line(event).plain for event in await feed.wait("0-0", seconds=0.1) if event["type"] == "closed"]
    await feed.close()
    assert len(lines) == 2
    assert lines[0].endswith("closing skipped: a, session s; archive: false leaves no summaries")
    assert lines[1].endswith(f"session closed: a, session s, summary {summary.id}")
