"""Hooks around nodes, handoffs, block edits and sleep-time passes: what they may change, and what they may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestra import Agent, Block, Graph, HookContext, RunResult, Runtime, Swarm, ToolContext, ToolError
from orchestra.core.handoff import Handoff
from orchestra.core.jsontext import Json
from orchestra.core.model import ModelReply
from orchestra.memory.edits import BlockEdit
from orchestra.patterns.visits import NodeResult, Visit
from orchestra.testing import ScriptedModel, call, reply
from tests.sleeping import primary

NOTE = Block(label="note", scope="agent", value="first", description="Notes.")


async def write(ctx: ToolContext, text: str) -> str:
    """Write it down."""
    await ctx.blocks.append("note", text)
    return "written"


def writer(hooks: tuple[object, ...], text: str = "second") -> Agent:
    """An agent that edits its block once."""
    model = ScriptedModel([reply(calls=[call("write", text=text)]), reply("done")])
    return Agent(name="a", model=model, tools=(write,), blocks=(NOTE,), hooks=hooks)


async def note(runtime: Runtime) -> str:
    (block,) = await runtime.blocks.list(label="note")
    return block.value


async def test_hooks_around_a_block_edit_run_in_order_and_in_reverse(runtime: Runtime) -> None:
    seen: list[str] = []

    class Noting:
        def __init__(self, name: str) -> None:
            self.name = name

        def before_block_edit(self, context: HookContext, edit: BlockEdit) -> None:
            seen.append(f"{self.name} before {context.agent} {edit.label} {edit.operation} {edit.text}")

        async def after_block_edit(self, context: HookContext, edit: BlockEdit, version: int) -> None:
            seen.append(f"{self.name} after {edit.text} {version}")

    await runtime.register(writer((Noting("one"), Noting("two"))))
    await runtime.run("a", "go", session_id="s")
    assert seen == [
        "one before a note append second",
        "two before a note append second",
        "two after second 2",
        "one after second 2",
    ]


async def test_of_a_block_edit_only_the_text_can_be_changed(runtime: Runtime) -> None:
    class Changing:
        def before_block_edit(self, context: HookContext, edit: BlockEdit) -> BlockEdit:
            return replace(edit, label="other", operation="rethink", text=edit.text.upper())

        def after_block_edit(self, context: HookContext, edit: BlockEdit, version: int) -> BlockEdit:
            raise RuntimeError("too late")  # it is stored by then: this is only logged

    await runtime.register(writer((Changing(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, await note(runtime)) == ("completed", "first\nSECOND")


async def test_a_hook_can_refuse_a_block_edit(runtime: Runtime) -> None:
    class Refusing:
        async def before_block_edit(self, context: HookContext, edit: BlockEdit) -> None:
            raise ToolError("nothing about that")

    await runtime.register(writer((Refusing(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert [(one.text, one.is_error) for one in result.messages if one.role == "tool"] == [("nothing about that", True)]
    assert await note(runtime) == "first"


def desk(*hooks: object) -> Swarm:
    """Two agents, one handoff."""
    handoff = call("handoff_to_agent", agent_name="two", message="go on", context={"found": 1})
    one = Agent(name="one", model=ScriptedModel([reply(calls=[handoff])]))
    two = Agent(name="two", model=ScriptedModel([reply("done")]))
    three = Agent(name="three", model=ScriptedModel([reply("no")]))
    return Swarm("desk", agents=[one, two, three], hooks=hooks)


@pytest.mark.parametrize("session", ["s", None])
async def test_of_a_handoff_message_and_context_can_be_changed_but_not_the_target(
    runtime: Runtime, session: str | None
) -> None:
    seen: list[object] = []

    class Changing:
        def before_handoff(self, context: HookContext, visit: Visit, handoff: Handoff) -> Handoff:
            seen.append((visit.node, handoff.message))
            return Handoff("three", f"{handoff.message}, please", {"found": 2})

        async def after_handoff(self, context: HookContext, source: str, handoff: Handoff) -> None:
            seen.append((source, handoff.target, handoff.message, handoff.context))

    swarm = desk(Changing())
    await runtime.register(swarm)
    result = await runtime.run("desk", "go", session_id=session)
    assert result.node_history == ("one", "two")
    assert seen == [("one", "go on"), ("one", "two", "go on, please", {"found": 2})]
    two = swarm.agents[1]
    assert isinstance(two, Agent)
    assert isinstance(two.model, ScriptedModel)
    assert "go on, please" in two.model.requests[0].messages[-1].text


class Meddling:
    """Changes in place whatever it is given."""

    def before_node(self, context: HookContext, visit: Visit, decision: str) -> None:
        outputs: Any = visit.given.outputs
        outputs["draft"] = "meddled"

    def after_node(self, context: HookContext, visit: Visit, result: NodeResult) -> None:
        if isinstance(result.output, dict):
            result.output["draft"] = "meddled"

    def before_handoff(self, context: HookContext, visit: Visit, handoff: Handoff) -> None:
        assert isinstance(handoff.context, dict)
        handoff.context["found"] = "meddled"

    def after_model(self, context: HookContext, answer: ModelReply) -> None:
        for one in answer.message.tool_calls:
            arguments: Any = one.arguments
            arguments["text"] = "meddled"

    def before_tool(self, context: HookContext, call: object, arguments: dict[str, Json]) -> None:
        arguments["text"] = "meddled"

    def after_run(self, context: HookContext, result: RunResult) -> None:
        for message in result.messages:
            for one in message.tool_calls:
                arguments: Any = one.arguments
                arguments["text"] = "meddled"


async def test_what_hooks_change_in_place_stays_as_it_was(runtime: Runtime) -> None:
    def draft() -> dict[str, str]:
        return {"draft": "mine"}

    def send(outputs: Mapping[str, object]) -> str:
        return f"sent {outputs['draft']}"

    await runtime.register(
        Graph("g", nodes={"draft": draft, "send": send}, edges=[("draft", "send")], hooks=[Meddling()])
    )
    assert (await runtime.run("g", "go", session_id="s")).output == "sent {'draft': 'mine'}"
    await runtime.register(desk(Meddling()))
    handed: Any = (await runtime.run("desk", "go")).node_results["one"][0]
    assert handed["handoff"]["context"] == {"found": 1}
    await runtime.register(writer((Meddling(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert result.messages[1].tool_calls[0].arguments == {"text": "second"}
    assert await note(runtime) == "first\nsecond"


async def test_a_decision_about_a_node_that_there_is_not_is_a_failure(runtime: Runtime) -> None:
    class Deciding:
        def before_node(self, context: HookContext, visit: Visit, decision: str) -> str:
            return "skpi"

    await runtime.register(Graph("g", nodes={"one": lambda text: "ran"}, edges=[], hooks=[Deciding()]))
    result = await runtime.run("g", "go", session_id="s")
    assert result.status == "failed"
    assert "'skpi'" in result.error


async def test_hooks_see_the_sleep_time_pass_and_one_that_raises_before_it_delays_it(runtime: Runtime) -> None:
    seen: list[str] = []

    class Watching:
        def before_pass(self, context: HookContext, transcript: Any) -> None:
            seen.append(f"before {context.agent} {context.session_id} {[m.text for m in transcript.messages]}")
            if len(seen) == 1:
                raise RuntimeError("not yet")

        async def after_pass(self, context: HookContext, report: Mapping[str, Json]) -> None:
            seen.append(f"after {report['tries']}")

    sleeper = ScriptedModel([reply(calls=[call("memory_finish_edits")])])
    agent = primary(sleeper, every=1).model_copy(update={"hooks": (Watching(),)})
    await runtime.register(agent)
    result = await runtime.run(agent.name, "remember", session_id="s")
    assert result.status == "completed"  # a pass that fails costs an answer nothing
    await runtime.drain("s")
    about = f"before {agent.name} s ['remember', 'hello']"
    assert seen == [about, about, "after 2"]
