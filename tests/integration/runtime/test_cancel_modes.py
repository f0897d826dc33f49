"""Cancelling after the step: what runs ends and is kept, nothing new starts."""

from __future__ import annotations

import asyncio

from orchestra import Agent, tool
from orchestra.core.messages import Message
from orchestra.core.model import ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines


async def test_running_tools_finish_and_no_model_call_follows(machines: Machines) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Take its time."""
        started.set()
        await go.wait()
        return "finished"

    client = await machines.client()
    model = ScriptedModel([reply(calls=[call("slow")]), reply("never said")])
    await client.register(Agent(name="a", model=model, tools=(slow,)))
    running = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r"))
    await started.wait()
    assert await client.cancel("r", "after_step")
    assert not running.done()
    go.set()
    result = await running
    assert (result.status, result.reason, len(model.requests)) == ("cancelled", "cancelled", 1)
    assert result.usage.model_calls == 1
    log = [one for one in await client.session("s", "a").get_items() if isinstance(one, Message)]
    assert [(one.role, one.text, one.meta.aborted) for one in log] == [
        ("user", "go", True),
        ("assistant", "", True),
        ("tool", "finished", True),
    ]


async def test_an_answer_that_comes_in_this_step_completes_the_run(machines: Machines) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        asked.set()
        await go.wait()
        return "said"

    client = await machines.client()
    await client.register(Agent(name="a", model=FunctionModel(answer)))
    running = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r"))
    await asked.wait()
    assert await client.cancel("r", "after_step")
    go.set()
    result = await running
    assert (result.status, result.output, result.turn) == ("completed", "said", 1)
