"""``invocation_state`` below a run: whoever needs it has it, each run its own, and it is kept nowhere."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from orchestra import Agent, Approve, Graph, Runtime, Swarm, ToolContext, tool
from orchestra.core.conversation import Compaction, Conversation, WindowGuard
from orchestra.core.events import ContextDecided
from orchestra.core.graph import Edge
from orchestra.core.model import ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.servers import Server
from tests.stored import stored

CANARY = "canary-9d21"


@pytest.mark.parametrize("kind", ["swarm", "graph"])
async def test_nothing_keeps_it_while_a_tool_far_below_waits_for_an_answer(
    runtime: Runtime, server: Server, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    seen: list[object] = []

    @tool(needs_approval=True)
    def send(ctx: ToolContext) -> str:
        """Send."""
        seen.append(ctx.invocation_state["key"])
        return "sent"

    def when(state: Any, invocation_state: Any) -> bool:
        seen.append(invocation_state["key"])
        return True

    models = [ScriptedModel([reply(calls=[call("send")]), reply("sent it")])]
    clerk = Agent(name="clerk", model=models[0], tools=(send,))
    models.append(ScriptedModel([reply(calls=[call("clerk", input="send it")]), reply("done")]))
    lead = Agent(name="lead", model=models[1], tools=(clerk.as_tool(),))
    models.append(ScriptedModel([reply("ended")]))
    end = Agent(name="end", model=models[2])
    pattern: Swarm | Graph = Swarm("p", agents=[lead, end])
    if kind == "graph":
        pattern = Graph("p", nodes={"lead": lead, "end": end}, edges=[Edge("lead", "end", when=when)])
    await runtime.register(pattern)
    given = {"key": CANARY}
    with caplog.at_level(logging.DEBUG):
        events: list[object] = [e async for e in runtime.stream("p", "go", session_id="s", invocation_state=given)]
        first: Any = events[-1]
        assert first.result.status == "interrupted"
        texts = [stored(server.url), str(first.result.to_state())]
        assert "run:" in texts[0]
        answers = {one.id: Approve() for one in first.result.interrupts}
        result = await runtime.resume(first.result.run_id, responses=answers, invocation_state=given)  # type: ignore[arg-type]
    assert (result.status, seen) == ("completed", [CANARY] * (2 if kind == "graph" else 1))
    requests = [request for model in models for request in model.requests]
    assert len(requests) == (5 if kind == "graph" else 4)
    texts += [stored(server.url), repr(events), repr(result), repr(requests), caplog.text]
    assert [text for text in texts if CANARY in text] == []


async def test_each_run_of_one_graph_has_its_own(runtime: Runtime) -> None:
    both, begun = asyncio.Event(), []

    async def gate(text: str, ctx: ToolContext) -> str:
        begun.append(text)
        if len(begun) == 2:
            both.set()
        await both.wait()  # neither run comes to its conditions before the other one has begun
        return str(ctx.invocation_state["who"])

    def for_ana(state: Any, invocation_state: Any) -> bool:
        return bool(invocation_state["who"] == "ana")

    def ana(ctx: ToolContext) -> str:
        return f"ana: {ctx.invocation_state['who']}"

    def other(ctx: ToolContext) -> str:
        return f"other: {ctx.invocation_state['who']}"

    edges = [Edge("gate", "ana", when=for_ana), Edge("gate", "other", when="invocation_state.who != 'ana'")]
    await runtime.register(Graph("g", nodes={"gate": gate, "ana": ana, "other": other}, edges=edges))
    names = ["bo", "ana"]
    runs = [runtime.run("g", name, session_id=name, invocation_state={"who": name}) for name in names]
    results = await asyncio.gather(*runs)
    assert [(one.status, one.error, one.output) for one in results] == [
        ("completed", "", "other: bo"),
        ("completed", "", "ana: ana"),
    ]
    for name, output in (("bo", "other: bo"), ("ana", "ana: ana")):  # and one after the other
        assert (await runtime.run("g", name, session_id=name, invocation_state={"who": name})).output == output


async def test_no_summary_is_made_of_it(runtime: Runtime, server: Server) -> None:
    def look(ctx: ToolContext) -> str:
        """Look."""
        return "looked " * 200 if ctx.invocation_state["key"] == CANARY else "nothing"

    def answer(request: ModelRequest) -> object:
        if "takes the place of these messages" in str(request.messages[0].text):
            return reply("They looked.")
        return reply("ok") if request.messages[-1].role == "tool" else reply(calls=[call("look")])

    model = FunctionModel(answer)  # type: ignore[arg-type]
    compaction = Compaction(retries=0, block_stream=True)
    conversation = Conversation(guard=WindowGuard(minimum=0), compaction=compaction)
    await runtime.register(Agent(name="a", model=model, tools=(look,), context_tokens=2_000, conversation=conversation))
    events: list[object] = []
    for number in range(6):
        given = {"key": CANARY}
        events += [e async for e in runtime.stream("a", f"look {number}", session_id="s", invocation_state=given)]
    assert any(isinstance(e, ContextDecided) and (e.part, e.decision) == ("compaction", "yes") for e in events)
    assert any("They looked." in str(request) for request in model.requests)
    assert [text for text in (stored(server.url), repr(events), repr(model.requests)) if CANARY in text] == []
