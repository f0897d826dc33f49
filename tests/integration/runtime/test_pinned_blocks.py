"""Pinned blocks: the beginning of a prompt stays, edits follow as notes, and every host makes the same bytes."""

from __future__ import annotations

import itertools

import pytest

from orchestra import Agent, Block, Runtime
from orchestra.context.invariants import faults
from orchestra.core.agent import Persistence
from orchestra.core.conversation import Conversation, Pruning
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines

TEAM = Block(label="team", scope="shared", value="the first line, which is long enough to be left alone\nv")


def notes(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages if message.meta.synthetic]


@pytest.mark.parametrize("persistence", ["journal", "turn"])
async def test_an_edit_is_in_the_very_next_prompt_and_the_beginning_stays(
    runtime: Runtime, persistence: Persistence
) -> None:
    def answers(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "user" and request.messages[-1].text == "edit":
            return reply(calls=[call("core_memory_append", label="team", content="w")])
        return "done"

    model = FunctionModel(answers)
    await runtime.register(Agent(name="a", model=model, blocks=(TEAM,), persistence=persistence))
    for text in ("edit", "look"):
        await runtime.run("a", text, session_id="s")
    first, second, third = model.requests
    assert first.messages[0] == second.messages[0] == third.messages[0]
    assert notes(first) == []
    for request in (second, third):
        assert len(notes(request)) == 1
        assert "after line 2 of the value:\nw</changed_lines>" in notes(request)[0]
        assert faults(request.messages[1:]) == []
    assert [message.role for message in second.messages] == ["system", "user", "user", "assistant", "tool"]
    assert third.messages[-1].text == "look"


async def test_a_detached_block_leaves_the_prompt_at_once(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: "ok")
    await runtime.register(Agent(name="a", model=model))
    await runtime.run("a", "one", session_id="s")
    lent = await runtime.blocks.create(Block(label="lent", value="borrowed"))
    await runtime.blocks.attach("a", lent.id)
    await runtime.run("a", "two", session_id="s")
    await runtime.blocks.detach("a", lent.id)
    await runtime.run("a", "three", session_id="s")
    assert "<value>borrowed</value>" in model.requests[1].messages[0].text
    assert not any("borrowed" in message.text for message in model.requests[2].messages)


@pytest.mark.parametrize(("ttl", "size"), [(1e-6, 10), (300.0, 2000)])
async def test_rendered_afresh_when_the_cache_is_cold_or_the_notes_are_large(
    runtime: Runtime, ttl: float, size: int
) -> None:
    model = FunctionModel(lambda request: "ok")
    conversation = Conversation(pruning=Pruning(ttl=ttl), notes_tokens=400)
    await runtime.register(Agent(name="a", model=model, blocks=(TEAM,), conversation=conversation))
    await runtime.run("a", "one", session_id="s")
    (team,) = await runtime.blocks.list(agent="a")
    await runtime.blocks.update(team.id, value="x" * size)
    await runtime.run("a", "two", session_id="s")
    assert f"<value>{'x' * size}</value>" in model.requests[1].messages[0].text
    assert notes(model.requests[1]) == []


async def test_a_cold_and_a_warm_host_make_the_same_prompt(machines: Machines) -> None:
    warm, model = await machines.client("primary-0"), FunctionModel(lambda request: "ok")
    await warm.register(Agent(name="a", model=model, blocks=(TEAM,), instructions="Help."))
    await warm.run("a", "one", session_id="s")
    (team,) = await warm.blocks.list(agent="a")
    await warm.blocks.append(team.id, "w")
    shown = []
    for number, client in enumerate([warm, await machines.client("cold-0"), warm, await machines.client("cold-1")]):
        await client.run("a", f"look {number}", session_id="s")
        shown.append(model.requests[-1].messages)
    assert len({messages[0] for messages in shown}) == 1
    assert len({messages[-2].text for messages in shown}) == 1
    for before, after in itertools.pairwise(shown):
        kept = [(message.role, message.text) for message in before[:-2]]
        assert [(message.role, message.text) for message in after[: len(kept)]] == kept


async def test_a_run_without_a_session_sees_an_edit_in_the_same_run(runtime: Runtime) -> None:
    def answers(request: ModelRequest) -> ModelReply | str:
        calls = [call("core_memory_append", label="team", content="w")]
        return "done" if request.messages[-1].role == "tool" else reply(calls=calls)

    model = FunctionModel(answers)
    await runtime.register(Agent(name="a", model=model, blocks=(TEAM,)))
    await runtime.run("a", [Message("user", "edit")])
    assert len(notes(model.requests[1])) == 1
