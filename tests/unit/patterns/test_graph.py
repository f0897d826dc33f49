"""Graphs: what runs when, and on what. Section P of the conformance cases, by number, where no runtime is needed."""

from __future__ import annotations

import asyncio

import pytest

from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.model import Usage
from orchestra.patterns.graph_plan import GraphPlan
from orchestra.patterns.graph_state import GraphState
from orchestra.patterns.visits import ABORTED, NodeResult
from tests.unit.patterns.stage import TASK, Journal, Stage, done, failed, graph, play


def diamond(**options: object) -> Graph:
    return graph("abcd", ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), **options)


async def test_p15_a_line_runs_in_order_each_on_the_task_and_the_output_before_it() -> None:
    stage = Stage()
    outcome = await play(graph("abc", ("a", "b"), ("b", "c")), stage)
    assert stage.started == ["a#1", "b#1", "c#1"]
    assert [visit.given.text for visit in stage.visits] == [
        "the task",
        "the task\n\n## From a\n\na1",
        "the task\n\n## From b\n\nb1",
    ]
    assert (outcome.status, outcome.output, outcome.last_node) == ("completed", "c1", "c")
    assert outcome.node_history == ("a", "b", "c")


async def test_p16_three_nodes_run_at_the_same_time() -> None:
    barrier = asyncio.Barrier(3)

    async def meets(visit: object) -> NodeResult:
        await barrier.wait()
        return done("met")

    async with asyncio.timeout(60):
        assert (await play(graph("abc"), meets)).status == "completed"  # type: ignore[arg-type]


async def test_p17_a_diamonds_join_runs_once_with_both_inputs_in_declared_order() -> None:
    stage = Stage(held={"b", "c"})
    run = asyncio.create_task(play(diamond(), stage))
    await stage.until_started("b#1", "c#1")
    stage.release("c#1", "b#1")
    await run
    assert stage.started.count("d#1") == 1
    assert stage.started[-1] == "d#1"
    assert stage.text("d#1") == "the task\n\n## From b\n\nb1\n\n## From c\n\nc1"


async def test_p17_with_one_false_edge_the_join_runs_once_with_the_other_input() -> None:
    stage = Stage()
    edges = [Edge("a", "b", when="false"), ("a", "c"), ("b", "d"), ("c", "d")]
    await play(graph("abcd", *edges), stage)
    assert stage.started == ["a#1", "c#1", "d#1"]
    assert stage.text("d#1") == "the task\n\n## From c\n\nc1"


async def test_a_false_edge_prunes_all_that_only_it_leads_to() -> None:
    stage = Stage()
    outcome = await play(graph("abcd", Edge("a", "b", when="false"), ("b", "c"), ("c", "d")), stage)
    assert stage.started == ["a#1"]
    assert (outcome.status, outcome.output) == ("completed", "a1")


async def test_p18_a_diamond_with_a_direct_edge_joins_once() -> None:
    stage = Stage()
    await play(graph("abcd", ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")), stage)
    assert stage.started == ["a#1", "b#1", "c#1", "d#1"]
    assert stage.text("d#1").split("## ")[1:] == ["From b\n\nb1\n\n", "From c\n\nc1\n\n", "From a\n\na1"]


async def test_p19_a_fast_branchs_grandchild_does_not_wait_for_the_slow_sibling() -> None:
    stage = Stage(held={"s"})
    run = asyncio.create_task(play(graph("asfg", ("a", "s"), ("a", "f"), ("f", "g")), stage))
    await stage.until_started("s#1", "g#1")
    assert "s#1" in stage.running
    stage.release("s#1")
    assert (await run).output == {"s": "s1", "g": "g1"}


async def test_join_any_runs_at_the_first_and_once() -> None:
    stage = Stage(held={"b"})
    nodes = {"a": "x", "b": "x", "c": "x", "d": Node("x", join="any")}
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    run = asyncio.create_task(play(Graph("g", nodes=nodes, edges=edges), stage))
    await stage.until_started("d#1")
    assert "b#1" in stage.running
    stage.release("b#1")
    assert (await run).node_history == ("a", "b", "c", "d")
    assert stage.text("d#1") == "the task\n\n## From c\n\nc1"


async def test_a_join_does_not_wait_for_a_branch_that_an_any_join_has_cut_off() -> None:
    """w ran on p; q still runs and leads to w only, so what depends on w's false edge is settled."""
    stage = Stage(held={"q"})
    nodes = {"p": "x", "q": "x", "w": Node("x", join="any"), "z": "x", "c": "x", "j": "x"}
    edges = [("p", "w"), ("q", "w"), Edge("w", "z", when="false"), ("z", "j"), ("p", "c"), ("c", "j")]
    run = asyncio.create_task(play(Graph("g", nodes=nodes, edges=edges), stage))
    await stage.until_started("j#1")
    assert "q#1" in stage.running
    stage.release("q#1")
    assert (await run).node_history == ("p", "q", "w", "c", "j")


@pytest.mark.parametrize("memory", ["fresh", "run"])
async def test_p20_a_loop_of_three_visits(memory: str) -> None:
    stage = Stage()
    nodes = {"draft": Node("writer", memory=memory), "check": "reviewer"}  # type: ignore[arg-type]
    edges = [("draft", "check"), Edge("check", "draft", when="check.visits < 3")]
    outcome = await play(Graph("g", nodes=nodes, edges=edges), stage)
    assert stage.started == ["draft#1", "check#1", "draft#2", "check#2", "draft#3", "check#3"]
    assert {visit.memory for visit in stage.visits if visit.node == "draft"} == {memory}
    assert stage.text("draft#3") == "the task\n\n## From check\n\ncheck2"
    assert [result.output for result in outcome.node_results["draft"]] == ["draft1", "draft2", "draft3"]
    assert (outcome.output, outcome.last_node) == ("check3", "check")


async def test_a_loop_entered_from_outside_needs_no_special_join() -> None:
    stage = Stage()
    edges = [
        ("a", "h"),
        ("h", "x"),
        ("h", "y"),
        ("x", "j"),
        ("y", "j"),
        Edge("j", "h", when="j.visits < 2"),
        ("j", "e"),
    ]
    await play(graph("ahxyje", *edges), stage)
    assert stage.started == ["a#1", "h#1", "x#1", "y#1", "j#1", "h#2", "e#1", "x#2", "y#2", "j#2", "e#2"]
    assert stage.text("j#2") == "the task\n\n## From x\n\nx2\n\n## From y\n\ny2"


async def test_an_any_join_in_a_loop_runs_once_a_round() -> None:
    stage = Stage(held={"y#1"})
    nodes = {"h": "x", "x": "x", "y": "x", "j": Node("x", join="any")}
    edges = [("h", "x"), ("h", "y"), ("x", "j"), ("y", "j"), Edge("j", "h", when="j.visits < 2")]
    run = asyncio.create_task(play(Graph("g", nodes=nodes, edges=edges, entry="h"), stage))
    await stage.until_started("j#1", "h#2", "x#2", "j#2")
    stage.release("y#1")
    outcome = await run
    assert outcome.node_history.count("j") == 2
    assert outcome.node_history.count("y") == 2


async def test_a_branch_that_is_not_taken_in_one_round_counts_in_the_next() -> None:
    """j#1 ran on x while p could still lead to y. p did not, so nothing of round 1 is expected when y ends."""
    stage = Stage(held={"p#1", "j#1", "x#2"})
    nodes = {"h": "w", "x": "w", "p": "w", "y": "w", "j": Node("w", join="any")}
    edges = [("h", "x"), ("x", "j"), ("h", "p"), Edge("p", "y", when="p.visits == 2"), ("y", "j")]
    loop = Edge("j", "h", when="j.visits < 2")
    run = asyncio.create_task(play(Graph("g", nodes=nodes, edges=[*edges, loop], entry="h"), stage))
    await stage.until_started("p#1", "j#1")
    stage.release("p#1", "j#1")
    await stage.until_started("x#2", "y#1", "j#2")
    assert "x#2" in stage.running
    assert stage.text("j#2") == "the task\n\n## From y\n\ny1"
    stage.release("x#2")
    assert (await run).node_history.count("j") == 2


async def test_an_any_join_at_the_head_of_a_loop_takes_each_round_though_another_entry_is_slow() -> None:
    stage = Stage(held={"s"})
    nodes = {"a": "w", "s": "w", "h": Node("w", join="any"), "z": "w"}
    edges = [("a", "h"), ("s", "h"), ("h", "z"), Edge("z", "h", when="z.visits < 3")]
    run = asyncio.create_task(play(Graph("g", nodes=nodes, edges=edges), stage))
    await stage.until_started("h#3", "z#3")
    assert stage.running == {"s#1"} or stage.running == {"s#1", "z#3"}
    stage.release("s#1")
    assert (await run).node_history.count("h") == 3


async def test_an_entry_that_another_entry_leads_to_runs_once() -> None:
    stage = Stage()
    await play(graph("ab", ("a", "b"), entry=["a", "b"]), stage)
    assert stage.started == ["a#1", "b#1"]


async def test_p21_a_bound_reached_is_a_limit_with_its_reason() -> None:
    stage = Stage()
    outcome = await play(graph("ab", ("a", "b"), ("b", "a"), max_node_executions=5), stage)
    assert stage.started == ["a#1", "b#1", "a#2", "b#2", "a#3"]
    assert (outcome.status, outcome.reason, outcome.output) == ("limit", "max_node_executions", "a3")


async def test_p22_three_allowed_and_ten_entries_run_three() -> None:
    stage = Stage()
    outcome = await play(graph("abcdefghij", max_node_executions=3), stage)
    assert stage.started == ["a#1", "b#1", "c#1"]
    assert (outcome.status, outcome.reason) == ("limit", "max_node_executions")
    assert [record.result.output for record in outcome.visits] == ["a1", "b1", "c1"]


async def test_p22_one_at_a_time_runs_the_three_as_well() -> None:
    stage = Stage()
    await play(graph("abcdefghij", max_node_executions=3, max_concurrency=1), stage)
    assert stage.started == ["a#1", "b#1", "c#1"]


async def test_exactly_as_many_nodes_as_allowed_is_no_limit() -> None:
    assert (await play(graph("ab", ("a", "b"), max_node_executions=2))).status == "completed"


async def test_p23_a_node_over_its_time_is_failed_and_nothing_is_left_running() -> None:
    before = asyncio.all_tasks()
    stage = Stage(held={"b"})
    outcome = await play(graph("abc", ("a", "b"), ("b", "c"), node_timeout=0.01), stage)
    assert (outcome.status, outcome.reason) == ("failed", "node_timeout")
    assert [(record.node, record.result.status) for record in outcome.visits] == [("a", "completed"), ("b", "failed")]
    assert outcome.node_results["b"][0].reason == "node_timeout"
    assert stage.cancelled == ["b#1"]
    assert asyncio.all_tasks() == before


async def test_the_runs_time_is_over_while_nodes_run() -> None:
    before = asyncio.all_tasks()
    stage = Stage(held={"b"})
    outcome = await play(graph("ab", execution_timeout=0.01), stage)
    assert (outcome.status, outcome.reason) == ("limit", "execution_timeout")
    assert [(record.node, record.result.status) for record in outcome.visits] == [
        ("a", "completed"),
        ("b", "cancelled"),
    ]
    assert asyncio.all_tasks() == before


async def test_p24_stop_cancels_the_rest_and_the_result_has_all_that_finished() -> None:
    stage = Stage({"f": failed("no such city")}, held={"s", "f"})
    run = asyncio.create_task(play(graph("asfg", ("a", "s"), ("a", "f"), ("s", "g")), stage))
    await stage.until_started("s#1", "f#1")
    stage.release("f#1")
    outcome = await run
    assert (outcome.status, outcome.reason) == ("failed", "error")
    assert outcome.error == "node 'f' failed: no such city"
    statuses = [(record.node, record.result.status) for record in outcome.visits]
    assert statuses == [("a", "completed"), ("s", "cancelled"), ("f", "failed")]
    assert outcome.node_results["a"][0].output == "a1"
    assert stage.cancelled == ["s#1"]


async def test_p24_continue_goes_on_with_what_does_not_depend_on_it() -> None:
    stage = Stage({"f": failed()})
    edges = [("a", "s"), ("a", "f"), ("s", "g"), ("f", "h")]
    outcome = await play(graph("asfgh", *edges, on_failure="continue"), stage)
    assert stage.started == ["a#1", "s#1", "f#1", "g#1"]
    assert (outcome.status, outcome.error) == ("failed", "node 'f' failed: broken")
    assert outcome.node_results["g"][0].output == "g1"


async def test_what_a_node_raises_is_its_failure() -> None:
    def breaks(_: object) -> NodeResult:
        raise RuntimeError("out of paper")

    outcome = await play(graph("ab", ("a", "b")), Stage({"a": breaks}))
    assert (outcome.status, outcome.error) == ("failed", "node 'a' failed: RuntimeError: out of paper")


async def test_a_node_that_cancels_itself_is_failed() -> None:
    def cancels(_: object) -> NodeResult:
        raise asyncio.CancelledError

    outcome = await play(graph("ab", ("a", "b")), Stage({"a": cancels}))
    assert (outcome.status, outcome.reason) == ("failed", "cancelled")


@pytest.mark.parametrize("status", ["failed", "limit"])
async def test_p25_a_nested_pattern_that_fails_takes_the_edge_for_failure(status: str) -> None:
    stage = Stage({"t": NodeResult(status, "max_handoffs", "too many")})  # type: ignore[arg-type]
    edges = [("t", "n"), Edge("t", "r", on="failure"), Edge("t", "l", on="always")]
    outcome = await play(graph("tnrl", *edges), stage)
    assert stage.started == ["t#1", "r#1", "l#1"]
    assert stage.text("r#1") == "the task\n\n## From t\n\nfailed: too many"
    assert outcome.status == "completed"
    assert outcome.node_results["t"][0].reason == "max_handoffs"


async def test_p25_without_such_an_edge_what_follows_does_not_run() -> None:
    stage = Stage({"t": failed("too many", "max_handoffs")})
    outcome = await play(graph("tn", ("t", "n")), stage)
    assert stage.started == ["t#1"]
    assert (outcome.status, outcome.reason) == ("failed", "max_handoffs")


async def test_p26_two_runs_of_one_graph_at_once_do_not_touch_each_other() -> None:
    one = diamond()
    first, second = Stage({"a": done("one")}, held={"b"}), Stage({"a": done("two")}, held={"c"})
    runs = [asyncio.create_task(play(one, stage)) for stage in (first, second)]
    await first.until_started("b#1", "c#1")
    await second.until_started("b#1", "c#1")
    first.release("b#1")
    second.release("c#1")
    outcomes = await asyncio.gather(*runs)
    assert [outcome.output for outcome in outcomes] == ["d1", "d1"]
    assert [stage.text("b#1")[-3:] for stage in (first, second)] == ["one", "two"]


async def test_p27_usage_is_the_sum_over_all_visits() -> None:
    answers = {"draft": done("x", calls=2, agent="writer"), "check": done("y", calls=3, agent="reviewer")}
    nodes = {"draft": "writer", "check": "reviewer"}
    edges = [("draft", "check"), Edge("check", "draft", when="check.visits < 3")]
    outcome = await play(Graph("g", nodes=nodes, edges=edges), Stage(answers))
    assert outcome.usage.model_calls == 15
    assert {name: usage.model_calls for name, usage in outcome.usage_by_agent.items()} == {"writer": 6, "reviewer": 9}
    assert outcome.usage == sum((record.result.usage for record in outcome.visits), Usage())


async def test_p40_a_failing_condition_fails_the_node_behind_it_with_its_error() -> None:
    def broken(state: GraphState, invocation_state: object) -> bool:
        raise LookupError("no score")

    stage = Stage()
    outcome = await play(graph("abc", ("a", "b"), Edge("a", "c", when=broken), on_failure="continue"), stage)
    assert stage.started == ["a#1", "b#1"]
    assert (outcome.status, outcome.reason) == ("failed", "condition")
    assert outcome.error == "node 'c' failed: the condition of edge a -> c raised LookupError: no score"
    assert outcome.node_results["a"][0].output == "a1"
    assert outcome.node_results["c"][0].error == "the condition of edge a -> c raised LookupError: no score"


async def test_p40_an_expression_that_cannot_be_computed_is_such_an_error() -> None:
    edges = [Edge("a", "b", when="a.output.score < 7"), Edge("b", "c", on="failure")]
    stage = Stage({"a": done({"grade": 3})})
    outcome = await play(graph("abc", *edges), stage)
    assert stage.started == ["a#1", "c#1"]
    error = outcome.node_results["b"][0].error
    assert error == "the condition of edge a -> b: there is no 'score' in what 'a.output.score < 7' looks at"
    assert outcome.status == "completed"


async def test_p40_an_expression_must_be_true_or_false() -> None:
    outcome = await play(graph("ab", Edge("a", "b", when="a.output")))
    assert outcome.node_results["b"][0].error == "the condition of edge a -> b: 'a.output' gives str, not true or false"


@pytest.mark.parametrize(("score", "taken"), [(5, ["draft#2"]), (8.5, ["send#1"])])
async def test_conditions_read_status_output_and_invocation_state(score: float, taken: list[str]) -> None:
    stage = Stage({"check#1": done({"score": score}), "check#2": done({"score": 9})})
    nodes = {"draft": "w", "check": Node("r", join="any"), "send": "s"}
    good = "check.output.score >= 7 && draft.status == 'completed' && invocation_state.user == 'ana'"
    edges = [
        ("draft", "check"),
        Edge("check", "draft", when="check.output.score < 7"),
        Edge("check", "send", when=good),
    ]
    made = Graph("g", nodes=nodes, edges=edges, max_node_executions=12)
    plan = GraphPlan(made, TASK, invocation_state=lambda: {"user": "ana"})
    [first] = plan.ready()
    plan.settled(plan.judge(first, await stage(first)))
    [second] = plan.ready()
    plan.settled(plan.judge(second, await stage(second)))
    assert [visit.key for visit in plan.ready()] == taken


async def test_a_function_as_condition_sees_the_state_and_cannot_change_it() -> None:
    seen = []

    def when(state: GraphState, invocation_state: object) -> bool:
        state["a"].output.append("changed")  # type: ignore[union-attr]
        seen.append((state["a"].status, state["a"].output, state["a"].visits, state["b"].status, state.task))
        return True

    stage = Stage({"a": done(["x"])})
    await play(graph("ab", Edge("a", "b", when=when)), stage)
    assert seen == [("completed", ["x"], 1, "pending", "the task")]
    assert stage.visits[1].given.outputs == {"a": ["x"]}


async def test_a_skipped_nodes_successors_go_on_and_an_abort_ends_the_run() -> None:
    skipping = Stage({"a": NodeResult("skipped", "hook")})
    assert (await play(graph("ab", ("a", "b")), skipping)).output == "b1"
    assert skipping.started == ["a#1", "b#1"]
    assert skipping.text("b#1") == "the task"
    aborting = Stage({"a": failed("a hook said so", ABORTED)})
    edges = [Edge("a", "b", on="always")]
    outcome = await play(graph("ab", *edges, on_failure="continue"), aborting)
    assert (outcome.status, outcome.reason) == ("failed", "aborted")
    assert aborting.started == ["a#1"]


async def test_a_failure_that_a_later_visit_makes_good_is_no_failure_of_the_run() -> None:
    """The status comes from each node's last attempt."""
    stage = Stage({"b#1": failed()})
    edges = [("a", "b"), ("a", "c"), Edge("c", "a", when="c.visits < 2")]
    outcome = await play(graph("abc", *edges, on_failure="continue", entry="a"), stage)
    assert [result.status for result in outcome.node_results["b"]] == ["failed", "completed"]
    assert outcome.status == "completed"


async def test_max_concurrency_bounds_how_many_run_at_a_time() -> None:
    stage = Stage(held="abcde")
    run = asyncio.create_task(play(graph("abcde", max_concurrency=2), stage))
    for first, second in ("ab", "cd"):
        await stage.until_started(f"{first}#1", f"{second}#1")
        assert stage.running == {f"{first}#1", f"{second}#1"}
        stage.release(f"{first}#1", f"{second}#1")
    stage.release("e#1")
    assert len((await run).visits) == 5


async def test_each_result_is_kept_before_anything_follows_from_it() -> None:
    writing, written = asyncio.Event(), asyncio.Event()

    class Slow(Journal):
        async def write(self, name: str, value: object) -> None:
            if name == "a#1":
                writing.set()
                await written.wait()
            await super().write(name, value)  # type: ignore[arg-type]

    stage, journal = Stage(), Slow()
    run = asyncio.create_task(play(graph("ab", ("a", "b")), stage, journal))
    await writing.wait()
    assert (stage.started, journal.kept) == (["a#1"], [])
    written.set()
    await run
    assert [name for name, _ in journal.kept] == ["a#1", "b#1"]
