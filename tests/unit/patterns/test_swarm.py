"""Swarms: handoffs, what the next agent is told, and every limit. Section P of the conformance cases, by number."""

from __future__ import annotations

import asyncio

import pytest

from orchestra.core.agent import Agent
from orchestra.core.graph import Graph
from orchestra.core.handoff import Handoff, handoff_spec, read_handoff, second_handoff
from orchestra.core.messages import Message, Part
from orchestra.core.swarm import Swarm
from orchestra.patterns.handoff import targets_of
from orchestra.patterns.shared_context import SharedContext
from orchestra.patterns.swarm_plan import SwarmPlan
from orchestra.patterns.visits import Visit
from tests.unit.patterns.stage import TASK, Answer, Stage, done, failed, handed, play

A = Agent(name="a", description="finds out")
B = Agent(name="b", description="writes")


def swarm(*names: str, **options: object) -> Swarm:
    return Swarm("desk", agents=names, **options)  # type: ignore[arg-type]


def route(*targets: str | None) -> Answer:
    """One answer per visit of the run: a handoff, or at ``None`` the end."""
    steps = iter(targets)

    def answer(visit: Visit) -> object:
        target = next(steps)
        return done(f"by {visit.node}") if target is None else handed(target)

    return answer  # type: ignore[return-value]


def along(*targets: str | None) -> Stage:
    answer = route(*targets)
    return Stage(dict.fromkeys("abcd", answer))


async def test_p6_a_hands_to_b_who_gets_message_request_and_as_knowledge() -> None:
    desk = Swarm("desk", agents=[A, B])
    stage = Stage({"a": handed("b", "write it up", {"capital": "Kyōto"}), "b": done("written")})
    outcome = await play(desk, stage)
    assert outcome.node_history == ("a", "b")
    assert stage.text("a#1") == "the task"
    assert stage.text("b#1") == (
        "## Handed to you by a\n\nwrite it up\n\n"
        "## The user's request\n\nthe task\n\n"
        "## The agents that worked on it so far\n\na\n\n"
        '## What they found out\n\na: {"capital":"Kyōto"}\n\n'
        "## The other agents\n\n- a: finds out"
    )
    assert stage.visits[1].given.messages == (Message("user", stage.text("b#1")),)
    assert (outcome.output, outcome.last_node) == ("written", "b")
    assert outcome.node_results["a"][0].usage.model_calls == 1


async def test_p7_without_a_handoff_one_node_runs() -> None:
    outcome = await play(swarm("a", "b"), along(None))
    assert outcome.node_history == ("a",)
    assert (outcome.status, outcome.output) == ("completed", "by a")


async def test_p8_a_b_a_b_is_repetitive_in_a_window_of_four_with_three_distinct() -> None:
    desk = swarm("a", "b", "c", repetitive_window=4, repetitive_min_unique=3)
    outcome = await play(desk, along("b", "a", "b", "c"))
    assert (outcome.status, outcome.reason) == ("limit", "repetitive_handoff")
    assert outcome.node_history == ("a", "b", "a", "b")
    varied = await play(desk, along("b", "c", "a", "b", None))
    assert (varied.status, varied.node_history) == ("completed", ("a", "b", "c", "a", "b"))


async def test_p9_max_handoffs_of_one_runs_the_target() -> None:
    outcome = await play(swarm("a", "b", max_handoffs=1), along("b", None))
    assert (outcome.status, outcome.node_history) == ("completed", ("a", "b"))


@pytest.mark.parametrize(
    ("options", "visited"),
    [({"max_handoffs": 1}, ("a", "b")), ({"max_handoffs": 0}, ("a",)), ({"max_iterations": 3}, ("a", "b", "a"))],
)
async def test_p9_each_limit_has_its_reason_and_keeps_what_was_done(
    options: dict[str, int], visited: tuple[str, ...]
) -> None:
    outcome = await play(swarm("a", "b", **options), along("b", "a", "b", "a", "b"))
    assert (outcome.status, outcome.reason) == ("limit", next(iter(options)))
    assert outcome.node_history == visited
    assert outcome.usage.model_calls == len(visited)


@pytest.mark.parametrize("reason", ["node_timeout", "execution_timeout"])
async def test_p9_a_time_that_is_over_while_an_agent_works(reason: str) -> None:
    before = asyncio.all_tasks()
    stage = Stage({"a": handed("b")}, held={"b"})
    outcome = await play(swarm("a", "b", **{reason: 0.01}), stage)
    assert (outcome.status, outcome.reason) == ("limit", reason)
    assert outcome.node_history == ("a", "b")
    assert outcome.node_results["b"][0].status == ("failed" if reason == "node_timeout" else "cancelled")
    assert asyncio.all_tasks() == before


def test_p12_the_first_of_two_handoffs_counts_and_the_second_gets_an_error() -> None:
    first = read_handoff({"agent_name": "b", "message": "go"}, agent="a", targets=["b", "c"])
    assert first == Handoff("b", "go")
    assert second_handoff(first) == "You already hand off to 'b' in this turn; only the first handoff counts."


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"agent_name": "x", "message": "go"}, "There is no agent 'x' to hand off to. The agents are: b, c."),
        ({"agent_name": "a", "message": "go"}, "You are 'a': hand off to another agent (b, c), or answer yourself."),
        ({"agent_name": "b", "message": " "}, "message must be a text that tells the other agent what to do."),
        ({"message": "go"}, "There is no agent None to hand off to. The agents are: b, c."),
        ({"agent_name": "b", "message": "go", "to": 1}, "There is no argument 'to'; there are agent_name, message and"),
    ],
)
def test_a_handoff_that_cannot_be_is_an_error_result(arguments: dict[str, object], error: str) -> None:
    found = read_handoff(arguments, agent="a", targets=["b", "c"])  # type: ignore[arg-type]
    assert isinstance(found, str)
    assert found.startswith(error)


def test_the_tool_names_the_others_with_their_descriptions() -> None:
    targets = targets_of(Swarm("desk", agents=[A, B, "c"]), "a")
    assert targets == {"b": "writes", "c": ""}
    spec = handoff_spec(targets)
    assert spec.name == "handoff_to_agent"
    assert spec.parameters["properties"]["agent_name"]["enum"] == ["b", "c"]  # type: ignore[index,call-overload]
    assert spec.description.endswith("The agents are:\n- b: writes\n- c")


async def test_p13_a_second_run_starts_with_an_empty_shared_context() -> None:
    desk = swarm("a", "b")
    for _ in range(2):
        stage = Stage({"a": handed("b", "go", {"seen": 1})})
        await play(desk, stage)
        assert stage.text("a#1") == "the task"
        assert stage.text("b#1").count('"seen"') == 1


async def test_p14_one_agent_in_two_swarms() -> None:
    both = [await play(Swarm(name, agents=[A, B]), along("b", None)) for name in ("one", "two")]
    assert [outcome.node_history for outcome in both] == [("a", "b")] * 2
    assert targets_of(Swarm("three", agents=[A, "c"]), "a") == {"c": ""}


async def test_p20_an_agent_that_is_visited_again_is_numbered_and_remembers_as_declared() -> None:
    stage = along("b", "a", None)
    outcome = await play(swarm("a", "b", memory="session"), stage)
    assert stage.started == ["a#1", "b#1", "a#2"]
    assert {visit.memory for visit in stage.visits} == {"session"}
    assert [len(results) for results in outcome.node_results.values()] == [2, 1]
    assert "so far\n\na -> b\n" in stage.text("a#2")


async def test_an_agent_that_fails_fails_the_run_with_what_was_done() -> None:
    outcome = await play(swarm("a", "b"), Stage({"a": handed("b"), "b": failed("no key")}))
    assert (outcome.status, outcome.reason, outcome.error) == ("failed", "error", "agent 'b' failed: no key")
    assert [record.result.status for record in outcome.visits] == ["completed", "failed"]


async def test_the_agent_that_answered_last_can_take_the_next_input() -> None:
    plan = SwarmPlan(swarm("a", "b", start="last"), TASK, first="b")
    assert [visit.key for visit in plan.ready()] == ["b#1"]
    assert [visit.node for visit in SwarmPlan(swarm("a", "b"), TASK, first="gone").ready()] == ["a"]


async def test_a_graph_in_a_swarm_answers() -> None:
    inner = Graph("inner", nodes={"x": "y"})
    outcome = await play(Swarm("desk", agents=[A, inner]), Stage({"a": handed("inner"), "inner": done("x1")}))
    assert (outcome.node_history, outcome.output) == (("a", "inner"), "x1")


def test_knowledge_is_merged_by_agent_and_the_newest_stands_last() -> None:
    shared = SharedContext(TASK, knowledge_chars=1000)
    shared.left("a", {"x": 1, "y": 1})
    shared.left("b", "a text")
    shared.left("a", {"y": 2})
    shared.left("b", None)
    text = shared.input_for(Handoff("b", "go"), "a", {}).text
    assert '## What they found out\n\nb: "a text"\na: {"x":1,"y":2}' in text
    assert "The other agents" not in text


def test_the_oldest_knowledge_is_shortened_first_and_the_bound_is_stated() -> None:
    shared = SharedContext(TASK, knowledge_chars=1000)
    shared.left("a", "A" * 900)
    shared.left("b", "B" * 500)
    text = shared.input_for(Handoff("c", "go"), "b", {}).text
    known = text.split("## What they found out\n\n")[1]
    note, listed = known.split("\n\n", 1)
    assert note == "(Shortened to 1000 characters; the oldest was cut first.)"
    assert len(listed) <= 1000
    oldest, newest = listed.split("\n")
    assert newest == "b: " + '"' + "B" * 500 + '"'
    assert oldest.startswith('a: "AAAA')
    assert "characters left out" in oldest
    assert oldest.endswith('AAAA"')


def test_knowledge_of_very_many_agents_stays_within_the_bound() -> None:
    shared = SharedContext(TASK, knowledge_chars=500)
    for i in range(40):
        shared.left(f"agent{i}", "x" * 300)
    listed = shared.input_for(Handoff("c", "go"), "b", {}).text.split("cut first.)\n\n")[1]
    assert len(listed) <= 500
    assert listed.split("\n")[-1].startswith("agent39: ")


def test_pictures_of_the_request_reach_the_next_agent() -> None:
    task = (Message("user", (Part("text", "What is it?"), Part("image", url="a.png"))),)
    given = SharedContext(task, knowledge_chars=1000).input_for(Handoff("b", "look"), "a", {})
    assert given.messages[0].content == (Part("text", given.text), Part("image", url="a.png"))
