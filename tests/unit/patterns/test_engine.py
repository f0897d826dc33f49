"""The engine: interrupts, resuming, cancelling, and that it leaves nothing running. By number where P has one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from orchestra.core.errors import Fenced, InputError, StoreUnavailable
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.swarm import Swarm
from orchestra.patterns.engine import Approval, NodeEnd, NodeStart, asked
from orchestra.patterns.visits import NodeResult, Visit
from tests.unit.patterns.stage import Journal, Stage, done, failed, handed, play

DIAMOND = Graph("g", nodes=dict.fromkeys("abcd", "x"), edges=[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
WAITS = NodeResult("interrupted", interrupts=({"id": "i1", "name": "ok?"},))


async def test_p29_an_interrupt_keeps_the_sibling_and_resuming_does_not_run_it_again() -> None:
    journal = Journal()
    first = Stage({"b": WAITS}, held={"c"})
    run = asyncio.create_task(play(DIAMOND, first, journal))
    await first.until_started("b#1", "c#1")
    first.release("c#1")
    outcome = await run
    assert (outcome.status, outcome.output) == ("interrupted", None)
    assert outcome.interrupts == ({"id": "i1", "name": "ok?"},)
    assert [name for name, _ in journal.kept] == ["a#1", "c#1"]
    second = Stage()
    resumed = await play(DIAMOND, second, Journal(journal.kept))
    assert second.started == ["b#1", "d#1"]
    assert (resumed.status, resumed.output) == ("completed", "d1")
    assert second.text("d#1") == "the task\n\n## From b\n\nb1\n\n## From c\n\nc1"


async def test_after_an_interrupt_nothing_new_starts() -> None:
    edges = [("a", "b"), ("a", "c"), ("c", "d")]
    stage = Stage({"b": WAITS}, held={"c"})
    run = asyncio.create_task(play(Graph("g", nodes=dict.fromkeys("abcd", "x"), edges=edges), stage))
    await stage.until_started("b#1", "c#1")
    stage.release("c#1")
    await run
    assert stage.started == ["a#1", "b#1", "c#1"]


async def test_p30_an_interrupt_in_a_swarms_agent_resumes_with_the_same_visit() -> None:
    desk = Swarm("desk", agents=["a", "b"])
    journal = Journal()
    first = Stage({"a": handed("b"), "b": WAITS})
    assert (await play(desk, first, journal)).status == "interrupted"
    second = Stage({"b": done("answered")})
    assert (await play(desk, second, Journal(journal.kept))).output == "answered"
    assert second.started == ["b#1"]
    assert second.text("b#1") == first.text("b#1")


@pytest.mark.parametrize("how", ["needs_approval", "interrupt_before"])
async def test_a_gated_node_asks_before_it_runs(how: str) -> None:
    gated: dict[str, object] = {"needs_approval": True} if how == "needs_approval" else {}
    before = ("send",) if how == "interrupt_before" else ()
    nodes = {"draft": "writer", "send": Node("mailer", **gated)}  # type: ignore[arg-type]
    made = Graph("g", nodes=nodes, edges=[("draft", "send")], interrupt_before=before)
    journal, stage = Journal(), Stage()
    outcome = await play(made, stage, journal)
    assert stage.started == ["draft#1"]
    [interrupt] = outcome.interrupts
    assert isinstance(interrupt, Mapping)
    assert (outcome.status, interrupt["node"], interrupt["agent"]) == ("interrupted", "send", "mailer")
    again = await play(made, Stage(), Journal(journal.kept))
    assert again.interrupts == outcome.interrupts

    approved = Stage()
    outcome = await play(made, approved, Journal(journal.kept), approval=lambda _: Approval(True))
    assert (approved.started, outcome.status) == (["send#1"], "completed")

    rejected = Stage()
    outcome = await play(made, rejected, Journal(journal.kept), approval=lambda _: Approval(False, "too rude"))
    assert (rejected.started, outcome.status, outcome.reason) == ([], "failed", "rejected")
    assert outcome.node_results["send"][0].error == "too rude"


async def test_all_gated_nodes_that_are_ready_ask_at_once_and_each_has_its_id() -> None:
    made = Graph("g", nodes={name: Node("x", needs_approval=True) for name in "abc"})
    outcome = await play(made, approval=lambda visit: Approval(True) if visit.node == "b" else None)
    ids = {interrupt["node"]: interrupt["id"] for interrupt in outcome.interrupts if isinstance(interrupt, Mapping)}
    assert set(ids) == {"a", "c"}
    assert len(set(ids.values())) == 2


async def test_p33_killed_after_the_first_of_two_parents_the_join_runs_once_with_both() -> None:
    journal = Journal(limit=2)
    first = Stage(held={"c"})
    run = asyncio.create_task(play(DIAMOND, first, journal))
    await first.until_started("b#1", "c#1")
    first.release("c#1")  # its write is the one at which the process dies
    with pytest.raises(Fenced):
        await run
    assert [name for name, _ in journal.kept] == ["a#1", "b#1"]
    second = Stage()
    outcome = await play(DIAMOND, second, Journal(journal.kept))
    assert second.started == ["c#1", "d#1"]
    assert second.text("d#1") == "the task\n\n## From b\n\nb1\n\n## From c\n\nc1"
    assert outcome.node_history == ("a", "b", "c", "d")


async def test_p34_resumed_and_succeeded_is_completed() -> None:
    journal = Journal()
    assert (await play(DIAMOND, Stage({"b": WAITS}), journal)).status == "interrupted"
    assert (await play(DIAMOND, Stage(), Journal(journal.kept))).status == "completed"


async def test_p35_two_visits_of_one_agent_at_once_are_both_served() -> None:
    made = Graph("g", nodes={"one": "same", "two": "same", "j": "x"}, edges=[("one", "j"), ("two", "j")])
    stage = Stage(held={"one", "two"})
    run = asyncio.create_task(play(made, stage))
    await stage.until_started("one#1", "two#1")
    stage.release("two#1", "one#1")
    await run
    assert {visit.runs for visit in stage.visits[:2]} == {"same"}
    assert stage.visits[-1].given.outputs == {"one": "one1", "two": "two1"}


async def test_p37_cancelling_the_run_cancels_its_nodes_and_waits_for_them() -> None:
    before = asyncio.all_tasks()
    stage = Stage(held={"b", "c"})
    run = asyncio.create_task(play(DIAMOND, stage))
    await stage.until_started("b#1", "c#1")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert sorted(stage.cancelled) == ["b#1", "c#1"]
    assert asyncio.all_tasks() == before


async def test_cancelling_gently_lets_running_nodes_finish_and_starts_no_others() -> None:
    finish, stage, journal = asyncio.Event(), Stage(held={"b", "c"}), Journal()
    run = asyncio.create_task(play(DIAMOND, stage, journal, finish=finish))
    await stage.until_started("b#1", "c#1")
    finish.set()
    stage.release("b#1", "c#1")
    outcome = await run
    assert (outcome.status, stage.cancelled) == ("cancelled", [])
    assert [name for name, _ in journal.kept] == ["a#1", "b#1", "c#1"]
    assert (await play(DIAMOND, Stage(), Journal(journal.kept))).output == "d1"


async def test_a_node_that_finishes_although_it_is_cancelled_is_kept() -> None:
    async def shielded(visit: Visit) -> NodeResult:
        if visit.node == "f":
            await started.wait()
            return failed()
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return done("committed")
        raise AssertionError

    started, journal = asyncio.Event(), Journal()
    outcome = await play(Graph("g", nodes={"s": "x", "f": "x"}), shielded, journal)  # type: ignore[arg-type]
    assert outcome.status == "failed"
    assert outcome.node_results["s"][0].output == "committed"
    assert [name for name, _ in journal.kept] == ["f#1", "s#1"]


@pytest.mark.parametrize("error", [Fenced("run"), StoreUnavailable("redis://x", "gone")])
async def test_a_process_that_may_not_go_on_raises_and_leaves_nothing_running(error: Exception) -> None:
    before = asyncio.all_tasks()

    def late(_: Visit) -> NodeResult:
        raise error

    stage = Stage({"f": late}, held={"s"})
    with pytest.raises(type(error)):
        await play(Graph("g", nodes={"s": "x", "f": "x"}), stage)
    assert stage.cancelled == ["s#1"]
    assert asyncio.all_tasks() == before


async def test_a_failing_write_ends_the_run_before_anything_follows() -> None:
    stage = Stage()
    with pytest.raises(Fenced):
        await play(DIAMOND, stage, Journal(limit=0))
    assert stage.started == ["a#1"]


async def test_checkpoints_of_another_graph_are_refused() -> None:
    journal = Journal()
    await play(DIAMOND, journal=journal)
    other = Graph("g", nodes=dict.fromkeys("xyz", "x"), edges=[("x", "y"), ("y", "z")])
    with pytest.raises(InputError, match="'a#1' is not outstanding"):
        await play(other, journal=Journal(journal.kept))


async def test_decisions_are_kept_and_not_made_again() -> None:
    asked_for = []

    def when(state: object, invocation_state: object) -> bool:
        asked_for.append(1)
        return len(asked_for) == 1

    made = Graph("g", nodes=dict.fromkeys("ab", "x"), edges=[Edge("a", "b", when=when)])
    journal = Journal(limit=1)
    with pytest.raises(Fenced):
        await play(made, journal=journal)
    stage = Stage()
    await play(made, stage, Journal(journal.kept))
    assert (stage.started, len(asked_for)) == (["b#1"], 1)


async def test_events_tell_each_start_and_end_and_what_was_replayed() -> None:
    events: list[NodeStart | NodeEnd] = []
    journal = Journal(limit=2)
    made = Graph("g", nodes=dict.fromkeys("abc", "x"), edges=[("a", "b"), ("b", "c")])
    with pytest.raises(Fenced):
        await play(made, journal=journal)
    await play(made, journal=Journal(journal.kept), emit=events.append)
    told = [("start", e.visit.node) if isinstance(e, NodeStart) else (e.replayed, e.node) for e in events]
    assert told == [(True, "a"), (True, "b"), ("start", "c"), (False, "c")]


def test_the_id_of_an_approval_depends_on_run_and_visit_alone() -> None:
    from orchestra.patterns.graph_plan import GraphPlan
    from tests.unit.patterns.stage import TASK

    [visit] = GraphPlan(Graph("g", nodes={"a": Node("x", needs_approval=True)}), TASK).ready()
    assert asked("run", visit) == asked("run", visit)
    assert asked("run", visit)["id"] != asked("other", visit)["id"]


async def test_an_output_that_is_no_json_fails_the_node_and_names_the_part() -> None:
    made = Graph("g", nodes={"a": "x", "b": "x"}, edges=[("a", "b")])
    outcome = await play(made, Stage({"a": NodeResult("completed", output={"when": {1, 2}})}))  # type: ignore[dict-item]
    assert (outcome.status, outcome.reason) == ("failed", "output")
    assert outcome.error == "node 'a' failed: output['when']: set is not JSON"


async def test_a_time_that_is_over_while_an_interrupted_runs_sibling_works() -> None:
    stage = Stage({"b": WAITS}, held={"c"})
    outcome = await play(DIAMOND, stage, execution_timeout=0.01)
    assert (outcome.status, outcome.reason, stage.cancelled) == ("limit", "execution_timeout", ["c#1"])
