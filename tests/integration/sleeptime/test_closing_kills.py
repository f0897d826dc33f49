"""A sleep-time host that is killed while it closes a session: another one does, and there is one summary."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestra import Agent
from orchestra.store.connection import Store
from orchestra.testing import ScriptedModel, reply
from tests.hosts import Machines
from tests.waiting import until


def started(store: Store, failpoint: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.sleeptime.closing_user", store.url, store.keys.namespace],
        env={**os.environ, "ORCHESTRA_FAILPOINT": failpoint},
    )


@pytest.mark.parametrize("place", ["closing.claimed", "closing.worked", "closing.published"])
async def test_killed_while_it_closes(machines: Machines, place: str, tmp_path: Path) -> None:
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(Agent(name="a", model=ScriptedModel([reply("ok")] * 2)))
    for text in ("My budget is 2000 euros.", "I am allergic to peanuts."):
        await client.run("a", text, session_id="s", user_id="ana")
    assert await client.close_session("s")
    reached = tmp_path / "reached"
    process = started(machines.store, f"{place}@{reached}")
    try:
        await until("it stands still there", lambda: reached.exists() and reached.read_text() != "", seconds=30)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    there = await client.passages.list("a", user_id="ana")
    assert len(there) == (place == "closing.published")
    await machines.worker(host)
    await client.drain("s")
    (summary,) = await client.passages.list("a", user_id="ana")
    assert "2000 euros" in summary.text
    assert "peanuts" in summary.text
    assert list(there) in ([], [summary])
    assert not await client.close_session("s")
