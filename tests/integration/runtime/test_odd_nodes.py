"""Functions, conditions and hooks of a graph that do what they had better not do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from orchestra import Edge, Graph, Node, Runtime, ToolContext
from tests.conformance.pattern_agents import run, says


class Opaque:
    """No JSON value."""


def leave() -> str:
    raise SystemExit("usage: leave [options]")


async def leave_soon() -> str:
    raise SystemExit("usage: leave [options]")


@pytest.mark.parametrize("function", [leave, leave_soon])
async def test_a_function_that_ends_the_process_ends_its_node_only(
    runtime: Runtime, function: Callable[..., object]
) -> None:
    nodes = {"f": function, "rescue": lambda: "still here"}
    result = await run(runtime, Graph("g", nodes=nodes, edges=[Edge("f", "rescue", on="failure")]))
    assert (result.status, result.output) == ("completed", "still here")
    assert "SystemExit: usage" in str(result.node_results["f"])


@pytest.mark.parametrize(("value", "problem"), [(Opaque(), "Opaque"), (b"\xff", "utf-8"), ({"a": float("nan")}, "nan")])
async def test_what_is_no_json_is_named(runtime: Runtime, value: object, problem: str) -> None:
    result = await run(runtime, Graph("g", nodes={"f": lambda: value}))
    assert (result.status, result.output) == ("failed", None)
    assert "a function of a graph returns a JSON value" in result.error
    assert problem in result.error


async def test_a_question_in_a_task_group_of_a_function_is_a_question(runtime: Runtime) -> None:
    async def ask(ctx: ToolContext) -> Any:
        async def one() -> Any:
            return ctx.interrupt("colour", "which one?")

        async with asyncio.TaskGroup() as group:
            asking = group.create_task(one())
        return asking.result()

    first = await run(runtime, Graph("g", nodes={"ask": ask}))
    assert [one.name for one in first.interrupts] == ["colour"]
    result = await runtime.resume(first.run_id, {first.interrupts[0].id: "blue"})
    assert (result.status, result.output) == ("completed", "blue")


async def test_conditions_and_inputs_each_have_a_copy_of_the_invocation_state(runtime: Runtime) -> None:
    seen: list[object] = []

    def condition(state: Any, invocation_state: Any) -> bool:
        invocation_state["items"].append("spoiled by a condition")
        seen.append(invocation_state["items"])
        return True

    def inputs(state: Any, invocation_state: Any) -> str:
        invocation_state["items"].append("spoiled by inputs")
        seen.append(invocation_state["items"])
        return "go on"

    graph = Graph(
        "g",
        nodes={"a": says("a"), "b": Node(says("b"), inputs=inputs), "c": says("c")},
        edges=[Edge("a", "b", when=condition), Edge("a", "c", when=condition)],
    )
    result = await run(runtime, graph, invocation_state={"items": []})
    assert result.status == "completed"
    assert seen == [["spoiled by a condition"], ["spoiled by a condition"], ["spoiled by inputs"]]


async def test_a_hook_cannot_change_what_a_node_is_given(runtime: Runtime) -> None:
    got: list[object] = []

    class Spoiling:
        def before_node(self, context: object, visit: Any, decision: str) -> None:
            visit.given.outputs.update(a="spoiled")

    def take(outputs: Any) -> list[str]:
        got.append(outputs)
        return ["taken"]

    graph = Graph("g", nodes={"a": lambda: ["given"], "b": take}, edges=[("a", "b")], hooks=[Spoiling()])
    result = await run(runtime, graph)
    assert (result.output, got) == (["taken"], [{"a": ["given"]}])
