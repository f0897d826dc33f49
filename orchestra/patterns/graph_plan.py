"""The plan of one run of a graph: which node may run now, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from orchestra.core.errors import InputError
from orchestra.core.expression import Expression
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.jsontext import Json, copied, fault
from orchestra.core.messages import Message
from orchestra.patterns.arrivals import Arrival, Arrivals
from orchestra.patterns.graph_state import GraphState, NodeView
from orchestra.patterns.node_input import as_text, node_input, own_input, task_text
from orchestra.patterns.outcome import PatternOutcome, VisitRecord
from orchestra.patterns.planning import Stop
from orchestra.patterns.visits import ABORTED, NodeResult, Settlement, Visit, VisitInput, split_key, summed, visit_key

NO_INPUT = VisitInput((), "")
NO_STATE = GraphState({})


@dataclass(slots=True)
class _Round:
    """One round of a node: its visit, or with ``map`` one visit per item; and the state it was made in."""

    number: int
    outputs: Mapping[str, tuple[Json, str]]
    state: GraphState
    items: Sequence[Json] | None
    verdict: NodeResult | None = None
    open: dict[int | None, int] = field(default_factory=dict)  # item → index of the visit
    results: dict[int | None, NodeResult] = field(default_factory=dict)


@dataclass(slots=True)
class _Known:
    """What is known of a node. ``led``: its last visit satisfied an edge."""

    rounds: int = 0
    result: NodeResult | None = None
    led: bool = False
    unhandled: bool = False


class GraphPlan:
    """The planner of one run of ``graph`` on ``task``. See :class:`orchestra.patterns.planning.Planner`.

    ``functions`` loads what the definition names in text (``flow.py:question``). Conditions and functions for inputs
    and items each get what ``invocation_state`` gives: a copy, so that none sees what another one did to it.
    """

    def __init__(
        self,
        graph: Graph,
        task: Sequence[Message],
        *,
        invocation_state: Callable[[], Mapping[str, object]] = dict,
        functions: Callable[[str], object] | None = None,
    ) -> None:
        self.graph, self.task = graph, tuple(task)
        self._invocation_state = invocation_state
        self._functions = functions
        self._shape = graph.shape
        self._arrivals = Arrivals(graph.shape, {name: node.join for name, node in graph.nodes.items()})
        self._out: dict[str, list[int]] = {name: [] for name in graph.nodes}
        for i, edge in enumerate(graph.edges):
            self._out[edge.from_].append(i)
        self._known = {name: _Known() for name in graph.nodes}
        self._views = {name: NodeView(name) for name in graph.nodes}
        self._rounds: dict[str, _Round] = {}
        self._fresh: list[str] = []  # keys of visits
        self._records: list[tuple[int, VisitRecord]] = []
        self._done: set[str] = set()  # the nodes that will not run again: they have ended, and no loop leads to them
        self._count = 0
        self._stop: Stop | None = None
        self._last = ""
        for name in self._shape.starts:
            self._begin(name, [])
        self._advance()

    @property
    def stop(self) -> Stop | None:
        """Why nothing more may start."""
        return self._stop

    def ready(self) -> Sequence[Visit]:
        """The visits that may start now and were not given before."""
        fresh, self._fresh = self._fresh, []
        return [self._visit(key) for key in fresh if self._outstanding(key)]

    def judge(self, visit: Visit, result: NodeResult) -> Settlement:
        """The result with the edges that it satisfies; of a ``map`` only its last item settles the edges."""
        round_ = self._rounds[visit.node]
        if set(round_.open) != {visit.item}:
            return Settlement(visit.key, result)
        whole = _whole(round_, visit.item, result)
        out = self._out[visit.node]
        state = NO_STATE
        if any(self.graph.edges[i].when is not None for i in out):
            views = {**self._views, visit.node: self._view(visit.node, whole)}
            state = GraphState(views, task_text(self.task))
        taken = {i: self._satisfied(self.graph.edges[i], whole, state) for i in out}
        return Settlement(visit.key, result, taken)

    def settled(self, settlement: Settlement) -> None:
        """Go on from a settlement."""
        if not self._outstanding(settlement.visit):
            problem = f"graph {self.graph.name!r}: {settlement.visit!r} is not outstanding"
            raise InputError(f"{problem}, so what is recorded comes from another definition or another input")
        name, _, item = split_key(settlement.visit)
        round_ = self._rounds[name]
        whole = _whole(round_, item, settlement.result)
        self._records.append((round_.open.pop(item), VisitRecord(name, round_.number, item, settlement.result)))
        round_.results[item] = settlement.result
        if settlement.result.reason == ABORTED:
            self._end(self._failed(name, settlement.result))
        if not round_.open:
            del self._rounds[name]
            self._close(name, whole, settlement.edges)
        self._advance()

    def outcome(self, unsettled: Sequence[tuple[Visit, NodeResult]] = (), stop: Stop | None = None) -> PatternOutcome:
        """The outcome as of now."""
        stop = stop or self._stop
        late = [(visit.index, VisitRecord(visit.node, visit.number, visit.item, result)) for visit, result in unsettled]
        records = tuple(record for _, record in sorted([*self._records, *late], key=lambda pair: pair[0]))
        total, by_agent = summed([record.result for record in records])
        interrupts = tuple(one for _, result in unsettled for one in result.interrupts)
        plain = PatternOutcome("completed", usage=total, usage_by_agent=by_agent, visits=records)
        if stop is not None and stop.status != "limit":
            return replace(plain, status=stop.status, reason=stop.reason, error=stop.error, interrupts=interrupts)
        if stop is not None:
            known = self._known[self._last].result if self._last else None
            done = replace(plain, status="limit", reason=stop.reason, error=stop.error, last_node=self._last)
            return replace(done, output=copied(known.output), text=known.text) if known else done
        unhandled = [name for name, known in self._known.items() if known.unhandled]
        if unhandled:
            failed = self._failed(unhandled[0], cast("NodeResult", self._known[unhandled[0]].result))
            return replace(plain, status="failed", reason=failed.reason, error=failed.error)
        ends = {
            name: known.result
            for name, known in self._known.items()
            if known.result is not None and known.result.status == "completed" and not known.led
        }
        if len(ends) == 1:
            (name, result), *_ = ends.items()
            return replace(plain, output=copied(result.output), text=result.text, last_node=name)
        output: Json = {name: copied(result.output) for name, result in ends.items()} or None
        return replace(plain, output=output, text="\n\n".join(f"## {n}\n\n{r.text}" for n, r in ends.items()))

    def _begin(self, name: str, arrived: Sequence[tuple[int, Arrival]]) -> None:
        """A round of ``name`` becomes ready, on what arrived by its edges."""
        node, known = self.graph.nodes[name], self._known[name]
        outputs: dict[str, tuple[Json, str]] = {}
        for i, arrival in arrived:
            if arrival.satisfied and not arrival.silent:
                outputs.setdefault(self.graph.edges[i].from_, (arrival.output, arrival.text))
        errors = [arrival.error for _, arrival in arrived if arrival.error]
        verdict = NodeResult("failed", "condition", "; ".join(errors)) if errors else None
        items: Sequence[Json] | None = None
        state = NO_STATE
        if node.map is not None or node.inputs is not None:
            state = GraphState(dict(self._views), task_text(self.task))
        if node.map is not None and verdict is None:
            try:
                items = self._items(name, node, state)
            except Exception as error:
                verdict = NodeResult("failed", "map", _raised(f"map of node {name!r}", error))
            if items is not None and not items:
                items, verdict = None, NodeResult("completed", output=[], text="[]")
        round_ = _Round(known.rounds + 1, outputs, state, items, verdict)
        for item in (None,) if items is None else range(len(items)):
            limit = self.graph.max_node_executions
            if limit is not None and self._count >= limit:
                reached = f"graph {self.graph.name!r} has run {limit} nodes, which is its max_node_executions"
                self._end(Stop("limit", "max_node_executions", reached, "finish"))
                break
            round_.open[item] = self._count
            self._count += 1
            self._fresh.append(visit_key(name, round_.number, item))
        if round_.open:
            known.rounds += 1
            self._rounds[name] = round_

    def _visit(self, key: str) -> Visit:
        """The visit, with its input. Made when it is to start: of what ended in an earlier process none is made."""
        name, _, item = split_key(key)
        node, round_ = self.graph.nodes[name], self._rounds[name]
        verdict, given = round_.verdict, NO_INPUT
        if verdict is None:
            try:
                given = self._input(node, round_, item)
            except Exception as error:
                verdict = NodeResult("failed", "inputs", _raised(f"inputs of node {name!r}", error))
        gated = verdict is None and (node.needs_approval or name in self.graph.interrupt_before)
        return Visit(name, round_.number, round_.open[item], node.runs, node.memory, given, item, verdict, gated)

    def _input(self, node: Node, round_: _Round, item: int | None) -> VisitInput:
        value = None if item is None or round_.items is None else copied(round_.items[item])
        if node.inputs is None:
            outputs = {name: (copied(data), text) for name, (data, text) in round_.outputs.items()}
            many = None if item is None or round_.items is None else (item, len(round_.items), value)
            return node_input(self.task, outputs, many)
        state = replace(round_.state, item=value)
        made = self._function(node.inputs)(state, self._invocation_state())
        return own_input(made, {name: copied(data) for name, (data, _) in round_.outputs.items()}, value)

    def _items(self, name: str, node: Node, state: GraphState) -> Sequence[Json]:
        if not isinstance(node.map, str):
            found = self._function(node.map)(state, self._invocation_state())
        elif node.map in self.graph.nodes:
            found = state[node.map].output
        else:
            found = Expression(node.map).evaluate(state.names(self._invocation_state()))
        if not isinstance(found, list | tuple):
            raise InputError(f"{type(found).__name__} is no list")
        if (bad := fault(list(found), "items")) is not None:
            raise InputError(f"{bad[0]}: {bad[1]}")
        return cast("Sequence[Json]", found)

    def _satisfied(self, edge: Edge, result: NodeResult, state: GraphState) -> bool | str:
        """Whether ``edge`` is satisfied; the text of the error when its condition raised."""
        if edge.on != "always" and result.succeeded != (edge.on == "success"):
            return False
        if edge.when is None:
            return True
        try:
            if edge.expression is None:
                return bool(self._function(edge.when)(state, self._invocation_state()))
            value = edge.expression.evaluate(state.names(self._invocation_state()))
            if not isinstance(value, bool):
                raise InputError(f"{edge.when!r} gives {type(value).__name__}, not true or false")
            return value
        except Exception as error:
            return _raised(f"the condition of edge {edge.shown}", error)

    def _close(self, name: str, result: NodeResult, edges: Mapping[int, bool | str]) -> None:
        """A round of ``name`` ended: its edges settle."""
        known = self._known[name]
        known.result, known.led = result, any(edges.values())
        if name not in self._shape.repeatable:
            self._done.add(name)
        self._views[name] = self._view(name, result)
        if result.succeeded:
            self._last = name if result.status == "completed" else self._last
        around = any(taken and self.graph.edges[i].on != "success" for i, taken in edges.items())
        known.unhandled = not result.succeeded and not around
        if known.unhandled and self.graph.on_failure == "stop":
            self._end(self._failed(name, result))
        told = result.text if result.succeeded or result.text else f"failed: {result.error or result.reason}"
        for i in self._out[name]:
            taken = edges.get(i, False)
            error = taken if isinstance(taken, str) else ""
            self._arrivals.put(i, Arrival(taken is True, result.output, told, error, result.status == "skipped"))

    def _advance(self) -> None:
        """Begin every round that has what it waits for, in declared order: one that begins may make others wait."""
        moved = True
        while moved:
            moved = False
            for name in self._arrivals.waiting:
                self._arrivals.expire(name, self._rounds, self._done)
                once = name not in self._shape.repeatable
                if once and self._known[name].rounds:
                    self._arrivals.drop(name)
                elif name not in self._rounds:
                    arrived = self._arrivals.take(name, self._rounds, self._done)
                    moved = moved or arrived is not None
                    if any(arrival.wakes for _, arrival in arrived or ()):
                        self._begin(name, arrived or ())

    def _outstanding(self, key: str) -> bool:
        name, number, item = split_key(key)
        round_ = self._rounds.get(name)
        return round_ is not None and round_.number == number and item in round_.open

    def _view(self, name: str, result: NodeResult) -> NodeView:
        visits = self._known[name].rounds
        return NodeView(name, result.status, result.output, result.text, result.reason, result.error, visits)

    def _failed(self, name: str, result: NodeResult) -> Stop:
        return Stop("failed", result.reason or "node_failed", f"node {name!r} failed: {result.error or result.reason}")

    def _end(self, stop: Stop) -> None:
        if self._stop is None or (self._stop.running == "finish" and stop.running == "cancel"):
            self._stop = stop

    def _function(self, value: object) -> Callable[..., object]:
        found = self._functions(value) if isinstance(value, str) and self._functions is not None else value
        if not callable(found):
            raise InputError(f"{value!r} is not loaded")
        return found


def _whole(round_: _Round, item: int | None, result: NodeResult) -> NodeResult:
    """The node's result when ``item`` ends with ``result``: of a ``map`` all items' outputs, in their order."""
    if item is None:
        return result
    by_item = cast("dict[int, NodeResult]", {**round_.results, item: result})
    all_ = [by_item[one] for one in sorted(by_item)]
    output: Json = [one.output for one in all_]
    usage, by_agent = summed(all_)
    failed = next((one for one in all_ if not one.succeeded), None)
    status, reason, error = (failed.status, failed.reason, failed.error) if failed else ("completed", "", "")
    return NodeResult(status, reason, error, output, as_text(output), None, usage, by_agent)


def _raised(what: str, error: Exception) -> str:
    """``what`` with the error that it raised, as text."""
    return f"{what}: {error}" if isinstance(error, InputError) else f"{what} raised {type(error).__name__}: {error}"
