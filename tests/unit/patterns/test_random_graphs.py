"""Random graphs against a simple reference, and any prefix of a run against the undisturbed run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra.core.graph import Edge, Graph, Join, Node
from orchestra.core.jsontext import dumps, loads
from orchestra.patterns.graph_plan import GraphPlan
from orchestra.patterns.outcome import PatternOutcome
from orchestra.patterns.visits import NodeResult, Settlement, Visit
from tests.unit.patterns.stage import TASK, Stage, done, failed, play

Order = Callable[[str], object]


@dataclass(frozen=True)
class Wiring:
    """An edge: ``holds`` is what its condition gives; ``None``: it raises."""

    source: str
    target: str
    on: str
    holds: bool | None


@dataclass(frozen=True)
class Case:
    """A graph whose nodes always end the same way."""

    graph: Graph
    wiring: tuple[Wiring, ...]
    failing: frozenset[str]

    def result(self, node: str, number: int = 1) -> NodeResult:
        return failed(f"{node} broke") if node in self.failing else done(f"{node}{number}", agent=node)


def _condition(holds: bool | None) -> Callable[..., bool]:
    def when(state: object, invocation_state: object) -> bool:
        if holds is None:
            raise ArithmeticError("no")
        return holds

    return when


@st.composite
def cases(draw: st.DrawFn, *, on_failure: str = "continue", loops: bool = False, any_joins: bool = True) -> Case:
    size = draw(st.integers(1, 7))
    names = [chr(97 + i) for i in range(size)]
    joins: dict[str, Join] = {name: draw(st.sampled_from(["all", "any"])) if any_joins else "all" for name in names}
    wiring = []
    for i, target in enumerate(names):
        earlier = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        back = draw(st.lists(st.integers(i, size - 1), max_size=1)) if loops else []
        for source in (*earlier, *back):
            # Which of the arrivals is the first one is a matter of time, so at an any join no condition raises.
            raising = [] if joins[target] == "any" else [None]
            holds = draw(st.sampled_from([True, True, True, False, *raising]))
            on = draw(st.sampled_from(["success", "success", "failure", "always"]))
            wiring.append(Wiring(names[source], target, on, holds))
    wiring = draw(st.permutations(wiring))
    graph = Graph(
        "g",
        nodes={name: Node("agent", join=joins[name]) for name in names},
        edges=[Edge(w.source, w.target, on=w.on, when=_condition(w.holds)) for w in wiring],  # type: ignore[arg-type]
        entry=names if loops else None,
        on_failure=on_failure,  # type: ignore[arg-type]
        max_node_executions=20 if loops else None,
    )
    failing = frozenset(draw(st.sets(st.sampled_from(names), max_size=3)))
    return Case(graph, tuple(wiring), failing)


class Reference:
    """What the description of graphs says, said simply: for graphs without loops, going over the nodes in order."""

    def __init__(self, case: Case, finished: Collection[str] | None = None) -> None:
        self.started: set[str] = set()
        self.status: dict[str, str] = {}
        self.unhandled: set[str] = set()
        self.dependencies: dict[str, list[str]] = {}
        settled: dict[int, bool] = {}
        for name in case.graph.nodes:
            into = [i for i, w in enumerate(case.wiring) if w.target == name]
            satisfied = [i for i in into if settled.get(i)]
            closed = all(i in settled for i in into)
            errors = [i for i in satisfied if case.wiring[i].holds is None]
            ready = not into or bool(satisfied and (closed or case.graph.nodes[name].join == "any"))
            pruned = bool(into) and closed and not satisfied
            if ready:
                self.started.add(name)
                self.dependencies[name] = list(dict.fromkeys(case.wiring[i].source for i in satisfied))
            if ready and (finished is None or name in finished or errors):
                self.status[name] = "failed" if errors or name in case.failing else "completed"
                out = [i for i, w in enumerate(case.wiring) if w.source == name]
                for i in out:
                    on, holds = case.wiring[i].on, case.wiring[i].holds
                    matches = on == "always" or (on == "success") == (self.status[name] == "completed")
                    settled[i] = matches and holds is not False
                routed = any(settled[i] and case.wiring[i].on != "success" for i in out)
                if self.status[name] == "failed" and not routed:
                    self.unhandled.add(name)
            elif pruned:
                settled.update({i: False for i, w in enumerate(case.wiring) if w.source == name})


class Drive:
    """Settles the outstanding visits of a plan one after the other, the one with the least ``order`` first."""

    def __init__(self, case: Case, order: Order, known: Sequence[str] = ()) -> None:
        self.case, self.order = case, order
        self.plan = GraphPlan(case.graph, TASK)
        self.records: list[str] = []
        self.given: dict[str, Visit] = {}
        self.ran: list[str] = []
        self.outstanding: dict[str, Visit] = {}
        for text in known:
            self.plan.settled(Settlement.from_json(loads(text)))
            self.records.append(text)
        self._collect()

    def step(self) -> bool:
        if not self.outstanding or (self.plan.stop is not None and self.plan.stop.running == "cancel"):
            return False
        visit = self.outstanding.pop(min(self.outstanding, key=lambda key: (self.order(key), key)))  # type: ignore[return-value,arg-type]
        self.ran.append(visit.key)
        self._settle(visit, self.case.result(visit.node, visit.number))
        self._collect()
        return True

    def to_the_end(self) -> PatternOutcome:
        while self.step():
            pass
        return self.plan.outcome()

    def _collect(self) -> None:
        while fresh := self.plan.ready():
            for visit in fresh:
                self.given[visit.key] = visit
                if visit.verdict is None:
                    self.outstanding[visit.key] = visit
                else:
                    self._settle(visit, visit.verdict)

    def _settle(self, visit: Visit, result: NodeResult) -> None:
        settlement = self.plan.judge(visit, result)
        self.records.append(dumps(settlement.to_json()))
        self.plan.settled(settlement)


orders = st.randoms(use_true_random=False).map(lambda random: _remembered(random.random))


def _remembered(draw: Callable[[], float]) -> Order:
    drawn: dict[str, float] = {}
    return lambda key: drawn.setdefault(key, draw())


@settings(max_examples=120, deadline=None)
@given(cases(), orders)
def test_at_every_moment_just_those_nodes_have_started_that_may(case: Case, order: Order) -> None:
    drive = Drive(case, order)
    more = True
    while more:
        finished = {Settlement.from_json(loads(text)).visit[:-2] for text in drive.records}
        assert {visit.node for visit in drive.given.values()} == Reference(case, finished).started
        more = drive.step()
    outcome, expected = drive.plan.outcome(), Reference(case)
    assert {record.node: record.result.status for record in outcome.visits} == expected.status
    assert len(outcome.visits) == len(expected.status), "a node ran twice"
    assert outcome.status == ("failed" if expected.unhandled else "completed")


@settings(max_examples=80, deadline=None)
@given(cases(any_joins=False), orders, orders)
def test_inputs_and_outcome_are_the_same_to_the_byte_whatever_ends_first(case: Case, one: Order, two: Order) -> None:
    first, second = Drive(case, one), Drive(case, two)
    outcomes = first.to_the_end(), second.to_the_end()
    assert {k: v.given for k, v in first.given.items()} == {k: v.given for k, v in second.given.items()}
    assert (outcomes[0].output, outcomes[0].node_results) == (outcomes[1].output, outcomes[1].node_results)
    for visit in first.given.values():
        if visit.verdict is None:
            expected = [d for d in Reference(case).dependencies[visit.node] if d not in case.failing]
            given_by = [name for name in visit.given.outputs if name not in case.failing]
            assert given_by == expected


@settings(max_examples=80, deadline=None)
@given(cases(on_failure="stop"), orders)
def test_stop_ends_as_failed_just_when_a_failure_is_unhandled(case: Case, order: Order) -> None:
    outcome, expected = Drive(case, order).to_the_end(), Reference(case)
    assert outcome.status == ("failed" if expected.unhandled else "completed")
    assert set(outcome.node_history) <= expected.started


@settings(max_examples=80, deadline=None)
@given(cases(loops=True), orders, st.data())
def test_any_prefix_of_the_records_goes_on_to_the_same_end_and_nothing_recorded_runs_again(
    case: Case, order: Order, data: st.DataObject
) -> None:
    undisturbed = Drive(case, order)
    outcome = undisturbed.to_the_end()
    cut = data.draw(st.integers(0, len(undisturbed.records)))
    resumed = Drive(case, order, undisturbed.records[:cut])
    assert resumed.to_the_end() == outcome
    assert resumed.records == undisturbed.records
    recorded = {Settlement.from_json(loads(text)).visit for text in undisturbed.records[:cut]}
    assert not recorded & set(resumed.given)
    assert {key: undisturbed.given[key] for key in resumed.given} == resumed.given
    assert len(outcome.visits) <= 20


@settings(max_examples=40, deadline=None)
@given(cases(any_joins=False), orders)
def test_the_engine_runs_what_the_plan_says_whatever_ends_first(case: Case, order: Order) -> None:
    drive = Drive(case, order)

    async def run() -> tuple[PatternOutcome, Stage]:
        stage = Stage({name: case.result(name) for name in case.graph.nodes}, held=set(case.graph.nodes))
        running = asyncio.create_task(play(case.graph, stage))
        while drive.outstanding:
            await stage.until_started(*drive.outstanding)
            drive.step()
            stage.release(drive.ran[-1])
        return await running, stage

    outcome, stage = asyncio.run(asyncio.wait_for(run(), 30))
    assert outcome == drive.plan.outcome()
    assert {visit.key: visit for visit in stage.visits} == {k: v for k, v in drive.given.items() if v.verdict is None}
