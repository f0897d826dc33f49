"""The plan of one run of a swarm: who is handed the task, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestra.core.errors import InputError
from orchestra.core.jsontext import copied
from orchestra.core.messages import Message
from orchestra.core.result import Status
from orchestra.core.runnable import name_of
from orchestra.core.swarm import Swarm
from orchestra.patterns.handoff import targets_of
from orchestra.patterns.node_input import task_text
from orchestra.patterns.outcome import PatternOutcome, VisitRecord
from orchestra.patterns.planning import Stop
from orchestra.patterns.shared_context import SharedContext
from orchestra.patterns.visits import NODE_TIMEOUT, NodeResult, Settlement, Visit, VisitInput, summed


class SwarmPlan:
    """The planner of one run of ``swarm`` on ``task``. See :class:`orchestra.patterns.planning.Planner`.

    ``first`` is who gets the input instead of the entry: with ``start="last"`` the agent that answered last.
    """

    def __init__(self, swarm: Swarm, task: Sequence[Message], *, first: str | None = None) -> None:
        self.swarm, self.task = swarm, tuple(task)
        self._shared = SharedContext(self.task, knowledge_chars=swarm.knowledge_chars)
        self._records: list[VisitRecord] = []
        self._stop: Stop | None = None
        self._open: Visit | None = None
        self._given = False
        known = first if first is not None and first in swarm.names else swarm.first
        self._begin(known, VisitInput(self.task, task_text(self.task)))

    @property
    def stop(self) -> Stop | None:
        """Why nothing more may start."""
        return self._stop

    def ready(self) -> Sequence[Visit]:
        """The one visit that may start now, when it was not given before."""
        if self._open is None or self._given:
            return []
        self._given = True
        return [self._open]

    def judge(self, visit: Visit, result: NodeResult) -> Settlement:
        """The result alone: in a swarm nothing else is decided."""
        return Settlement(visit.key, result)

    def settled(self, settlement: Settlement) -> None:
        """Go on with the agent that was handed the task; without a handoff the run has ended."""
        visit, result = self._open, settlement.result
        if visit is None or visit.key != settlement.visit:
            problem = f"swarm {self.swarm.name!r}: {settlement.visit!r} is not outstanding"
            raise InputError(f"{problem}, so what is recorded comes from another definition or another input")
        self._open = None
        self._records.append(VisitRecord(visit.node, visit.number, None, result))
        self._shared.visited(visit.node)
        if not result.succeeded:
            status: Status = "limit" if result.reason == NODE_TIMEOUT else "failed"
            error = f"agent {visit.node!r} failed: {result.error or result.reason}"
            self._stop = Stop(status, result.reason or "node_failed", error)
        elif result.handoff is not None:
            self._shared.left(visit.node, result.handoff.context)
            self._stop = self._limit()
            if self._stop is None:
                target = result.handoff.target
                if target not in self.swarm.names:
                    raise InputError(f"swarm {self.swarm.name!r}: {target!r}, to whom was handed off, is none of it")
                others = targets_of(self.swarm, target)
                self._begin(target, self._shared.input_for(result.handoff, visit.node, others))

    def outcome(self, unsettled: Sequence[tuple[Visit, NodeResult]] = (), stop: Stop | None = None) -> PatternOutcome:
        """The outcome as of now. The output is that of the last agent."""
        stop = stop or self._stop
        late = [VisitRecord(visit.node, visit.number, None, result) for visit, result in unsettled]
        records = (*self._records, *late)
        total, by_agent = summed([record.result for record in records])
        last = next((record for record in reversed(self._records) if record.result.status == "completed"), None)
        out = PatternOutcome("completed", usage=total, usage_by_agent=by_agent, visits=records)
        if stop is not None:
            interrupts = tuple(one for _, result in unsettled for one in result.interrupts)
            out = replace(out, status=stop.status, reason=stop.reason, error=stop.error, interrupts=interrupts)
        if last is None or (stop is not None and stop.status != "limit"):
            return out
        return replace(out, output=copied(last.result.output), text=last.result.text, last_node=last.node)

    def _begin(self, name: str, given: VisitInput) -> None:
        index = len(self._records)
        number = 1 + sum(record.node == name for record in self._records)
        self._open = Visit(name, number, index, name_of(self.swarm.members[name]), self.swarm.memory, given)
        self._given = False

    def _limit(self) -> Stop | None:
        """Which limit keeps the next agent from being visited."""
        swarm, visits = self.swarm, [record.node for record in self._records]
        recent = visits[-swarm.repetitive_window :] if swarm.repetitive_window else []
        if len(visits) > swarm.max_handoffs:
            return self._reached("max_handoffs", f"{swarm.max_handoffs} handoffs")
        if len(visits) >= swarm.max_iterations:
            return self._reached("max_iterations", f"{swarm.max_iterations} visits")
        if recent and len(recent) == swarm.repetitive_window and len(set(recent)) < swarm.repetitive_min_unique:
            what = f"{len(recent)} visits of only {len(set(recent))} agents ({', '.join(recent)})"
            return self._reached("repetitive_handoff", what)
        return None

    def _reached(self, reason: str, what: str) -> Stop:
        return Stop("limit", reason, f"swarm {self.swarm.name!r} stopped after {what} ({reason})")
