"""What a run of a swarm or a graph came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestra.core.jsontext import Json
from orchestra.core.model import Usage
from orchestra.core.pickling import by_constructor
from orchestra.core.result import Status
from orchestra.patterns.visits import NodeResult


@by_constructor
@dataclass(frozen=True, slots=True)
class VisitRecord:
    """A visit that took place, with its result."""

    node: str
    number: int
    item: int | None
    result: NodeResult

    def to_json(self) -> dict[str, Json]:
        """All fields; ``item`` only where there is one."""
        out: dict[str, Json] = {"node": self.node, "number": self.number, "result": self.result.to_json()}
        return out if self.item is None else {**out, "item": self.item}


@by_constructor
@dataclass(frozen=True, slots=True)
class PatternOutcome:
    """The outcome of a run, with everything that finished, whatever the status.

    ``visits`` stand in the order in which they became ready. ``usage`` is the sum over all of them. ``last_node`` is
    where the output comes from (``""``: from several, or from none).
    """

    status: Status
    reason: str = ""
    error: str = ""
    output: Json = None
    text: str = ""
    last_node: str = ""
    interrupts: tuple[Json, ...] = ()
    usage: Usage = field(default_factory=Usage)
    usage_by_agent: Mapping[str, Usage] = field(default_factory=dict)
    visits: tuple[VisitRecord, ...] = ()

    @property
    def node_history(self) -> tuple[str, ...]:
        """The nodes that were visited, in order, a node as often as it was visited."""
        return tuple(record.node for record in self.visits)

    @property
    def node_results(self) -> dict[str, tuple[NodeResult, ...]]:
        """For each visited node the results of all its visits, in order."""
        out: dict[str, tuple[NodeResult, ...]] = {}
        for record in self.visits:
            out[record.node] = (*out.get(record.node, ()), record.result)
        return out
