"""Functions as nodes of a graph whose host is lost while they run."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Graph, tool
from tests.hosts import Machines


@pytest.mark.parametrize(("repeatable", "status", "starts"), [(False, "failed", 1), (True, "completed", 2)])
async def test_one_that_was_started_is_started_again_only_when_it_may_be(
    machines: Machines, repeatable: bool, status: str, starts: int
) -> None:
    begun = asyncio.Event()
    ran: list[str] = []

    @tool(idempotent=repeatable)
    async def pay(text: str) -> str:
        """Pay."""
        ran.append(text)
        begun.set()
        if len(ran) == 1:
            await asyncio.Event().wait()
        return "paid"

    first, second = await machines.client("primary-0"), await machines.client("primary-1")
    await first.register(Graph("g", nodes={"pay": pay}))
    lost = asyncio.ensure_future(first.run("g", "the task", session_id="s", run_id="r"))
    await begun.wait()
    await machines.hosts[0].hosts.leave(machines.hosts[0].id)  # a dead host: what it still does is fenced
    result = await second.run("g", "the task", session_id="s", run_id="r")
    assert (result.status, len(ran)) == (status, starts)
    if not repeatable:
        assert result.reason == "unknown_outcome"
        assert "may or may not have run" in result.error
    lost.cancel()
    await asyncio.gather(lost, return_exceptions=True)
