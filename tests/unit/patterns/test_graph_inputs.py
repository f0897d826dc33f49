"""What nodes of graphs are given: outputs, inputs of their own, items of a map. By number where P has one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.messages import Message, Part
from orchestra.patterns.graph_plan import GraphPlan
from orchestra.patterns.graph_state import GraphState
from orchestra.patterns.visits import NodeResult, Visit
from tests.unit.patterns.stage import Stage, done, failed, graph, play

ROOT = Path(__file__).parents[3]


_SEEDED = """
import asyncio
from orchestra.core.graph import Graph
from tests.unit.patterns.stage import Stage, play
names = ["n%d" % i for i in range(12)]
edges = [("start", name) for name in names] + [(name, "end") for name in reversed(names)]
stage = Stage()
asyncio.run(play(Graph("g", nodes=dict.fromkeys(["start", *names, "end"], "x"), edges=edges), stage))
print(*((visit.key, visit.given.text) for visit in stage.visits), sep="\\n")
"""


def test_p28_inputs_are_the_same_under_four_hash_seeds() -> None:
    printed = set()
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done_ = subprocess.run([sys.executable, "-c", _SEEDED], env=environment, capture_output=True, check=True)
        printed.add(done_.stdout)
    assert len(printed) == 1
    assert b"## From n11" in printed.pop()


async def test_structured_outputs_travel_as_data() -> None:
    stage = Stage({"a": done({"tags": ["x"]})})
    await play(graph("ab", ("a", "b")), stage)
    assert stage.visits[1].given.outputs == {"a": {"tags": ["x"]}}
    assert stage.text("b#1") == 'the task\n\n## From a\n\n{"tags":["x"]}'


async def test_inputs_replaces_what_a_node_is_given() -> None:
    def question(state: GraphState, invocation_state: object) -> str:
        return f"Improve: {state['a'].output}"

    stage = Stage()
    await play(Graph("g", nodes={"a": "x", "b": Node("x", inputs=question)}, edges=[("a", "b")]), stage)
    assert stage.text("b#1") == "Improve: a1"
    assert stage.visits[1].given.messages == (Message("user", "Improve: a1"),)


async def test_inputs_that_fail_fail_the_node() -> None:
    def question(state: GraphState, invocation_state: object) -> object:
        return {1, 2}

    stage = Stage()
    outcome = await play(Graph("g", nodes={"a": Node("x", inputs=question)}), stage)
    assert stage.started == []
    assert outcome.reason == "inputs"
    assert "inputs: set is not JSON" in outcome.error


async def test_map_runs_a_node_once_per_item_in_parallel_with_the_results_in_order() -> None:
    stage = Stage({"p": done(["x", "y", "z"])}, held={"m"})
    run = asyncio.create_task(
        play(Graph("g", nodes={"p": "a", "m": Node("b", map="p"), "j": "c"}, edges=[("p", "m"), ("m", "j")]), stage)
    )
    await stage.until_started("m#1[0]", "m#1[1]", "m#1[2]")
    assert "## Item 2 of 3\n\ny" in stage.text("m#1[1]")
    stage.release("m#1[2]", "m#1[0]", "m#1[1]")
    outcome = await run
    assert stage.visits[-1].given.outputs == {"m": ["mx", "my", "mz"]}
    assert len(outcome.node_results["m"]) == 3


@pytest.mark.parametrize(
    ("source", "error"),
    [(done("text"), "str is no list"), (done({"a": 1}), "dict is no list"), (done(None), "NoneType is no list")],
)
async def test_map_over_what_is_no_list_fails_the_node(source: NodeResult, error: str) -> None:
    made = Graph("g", nodes={"p": "a", "m": Node("b", map="p.output")}, edges=[("p", "m")])
    outcome = await play(made, Stage({"p": source}))
    assert (outcome.reason, outcome.error) == ("map", f"node 'm' failed: map of node 'm': {error}")


async def test_map_over_nothing_completes_with_nothing() -> None:
    stage = Stage({"p": done([])})
    made = Graph("g", nodes={"p": "a", "m": Node("b", map="p"), "j": "c"}, edges=[("p", "m"), ("m", "j")])
    await play(made, stage)
    assert stage.started == ["p#1", "j#1"]
    assert stage.visits[-1].given.outputs == {"m": []}


async def test_map_counts_each_item_and_a_failing_item_fails_the_node_after_all() -> None:
    def one_breaks(visit: object) -> NodeResult:
        return failed("bad item") if visit.item == 1 else done(visit.given.item)  # type: ignore[attr-defined]

    stage = Stage({"p": done(["x", "y", "z"]), "m": one_breaks})
    edges = [("p", "m"), Edge("m", "j", on="failure")]
    outcome = await play(Graph("g", nodes={"p": "a", "m": Node("b", map="p"), "j": "c"}, edges=edges), stage)
    assert stage.visits[-1].given.outputs == {"m": ["x", None, "z"]}
    assert (outcome.status, len(outcome.visits)) == ("completed", 5)


async def test_an_input_of_several_parts_stays_whole() -> None:
    task = (Message("user", (Part("text", "Look:"), Part("image", url="a.png"))),)
    plan = GraphPlan(graph("ab", ("a", "b")), task)
    [first] = plan.ready()
    assert first.given.messages == task
    plan.settled(plan.judge(first, done("seen")))
    [second] = plan.ready()
    assert second.given.messages[0].content == (*task[0].content, Part("text", "## From a\n\nseen"))


async def test_what_one_node_does_to_its_input_no_other_sees() -> None:
    def spoils(visit: Visit) -> NodeResult:
        visit.given.outputs["a"].append("spoilt")  # type: ignore[union-attr]
        return done(visit.given.outputs["a"])

    stage = Stage({"a": done(["x"]), "b": spoils, "c": spoils})
    outcome = await play(graph("abc", ("a", "b"), ("a", "c")), stage)
    assert outcome.node_results["a"][0].output == ["x"]
    assert outcome.output == {"b": ["x", "spoilt"], "c": ["x", "spoilt"]}
