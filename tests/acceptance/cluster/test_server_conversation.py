"""Conversations that the provider keeps, on Ray: the request travels, and what a run that is sent again may do."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestra import Agent, Runtime, tool
from orchestra.core.errors import HostUnavailable, ServerConversationError
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import Failpoint, note

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]
Arm = Callable[[str], Failpoint]


def telling(file: Path) -> Agent:
    """An agent with an idempotent tool; its answer is where it was asked, and with what."""

    @tool(idempotent=True)
    def count() -> str:
        note(file, "started")
        return "counted"

    def answer(request: ModelRequest) -> ModelReply:
        if request.call_number == 0:
            return reply(calls=[call("count")], response_id="r1")
        assert request.conversation is not None
        names = request.conversation.to_json().values()
        return reply(f"{[*names]} {[message.text for message in request.messages]}", response_id="r2")

    return Agent(name="a", model=FunctionModel(answer, keeps_conversations=True), tools=[count])


async def test_a_chain_whose_host_dies_begins_again_where_it_began(config: Config, arm: Arm, tmp_path: Path) -> None:
    failpoint, starts = arm("turn.tool_done"), tmp_path / "starts"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(telling(starts), Agent(name="b", model=ScriptedModel(["one"], name="scripted:plain")))
        running = asyncio.ensure_future(runtime.run("a", "x", previous_response_id="r0"))
        os.kill(await failpoint.reached(), signal.SIGKILL)
        result = await running
        with pytest.raises(ServerConversationError, match="scripted:plain"):
            await runtime.run("b", "x", previous_response_id="r0")
    assert (result.output, result.last_response_id) == ("[None, 'r1'] ['counted']", "r2")
    assert len(starts.read_text().split()) == 2


async def test_a_run_in_a_conversation_whose_host_dies_is_given_back(config: Config, arm: Arm, tmp_path: Path) -> None:
    failpoint, starts = arm("turn.tool_done"), tmp_path / "starts"
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(telling(starts))
        running = asyncio.ensure_future(runtime.run("a", "x", conversation_id="c1"))
        os.kill(await failpoint.reached(), signal.SIGKILL)
        with pytest.raises(HostUnavailable, match="'c1'"):
            await running
    assert len(starts.read_text().split()) == 1
