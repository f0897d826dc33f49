"""What arrived at the edges of a graph, and when a node has all that it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestra.core.graph import Join
from orchestra.core.graph_shape import GraphShape
from orchestra.core.jsontext import Json


@dataclass(frozen=True, slots=True)
class Arrival:
    """An edge was settled: satisfied, with what its node gave, or not. ``error`` is what its condition raised.

    ``silent``: the node was skipped, so there is nothing to tell.
    """

    satisfied: bool
    output: Json = None
    text: str = ""
    error: str = ""
    silent: bool = False

    @property
    def wakes(self) -> bool:
        """Whether the node behind the edge is to do something: to run, or to fail with the condition's error."""
        return self.satisfied or bool(self.error)


class Arrivals:
    """The queues of a graph's edges. Owner: the plan of one run.

    An edge without an arrival is *open* while something that is still to come can reach its source, and counts as
    settled and not satisfied from then on. This is what "pruned" means here, and it holds in loops too, where the edge
    that leads back has not been settled when a loop is entered.
    """

    def __init__(self, shape: GraphShape, joins: Mapping[str, Join]) -> None:
        self._shape, self._joins = shape, joins
        self._sources = [arc.source for arc in shape.arcs]
        self._queues: list[deque[Arrival]] = [deque() for _ in shape.arcs]
        self._late = [0] * len(shape.arcs)
        self._into: dict[str, list[int]] = {name: [] for name in shape.nodes}
        for i, arc in enumerate(shape.arcs):
            self._into[arc.target].append(i)
        self._place = {name: i for i, name in enumerate(shape.nodes)}
        self._noted: set[str] = set()

    def put(self, edge: int, arrival: Arrival) -> None:
        """``edge`` was settled."""
        self._noted.add(self._shape.arcs[edge].target)
        if self._late[edge]:
            self._late[edge] -= 1  # its node has run on an earlier arrival of the same round
        else:
            self._queues[edge].append(arrival)

    @property
    def waiting(self) -> Sequence[str]:
        """The nodes at which something arrived or is expected too late, in declared order."""
        self._noted = {name for name in self._noted if any(self._queues[i] or self._late[i] for i in self._into[name])}
        return sorted(self._noted, key=self._place.__getitem__)

    def take(self, node: str, live: Collection[str], done: Collection[str]) -> list[tuple[int, Arrival]] | None:
        """What ``node`` runs on, by edge in declared order, and taken from its edges; ``None``: it waits.

        ``live`` are the nodes that run or are about to, ``done`` those that will not run again. If nothing of what is
        given wakes the node, it is pruned: it does not run.
        """
        edges = self._into[node]
        there = [edge for edge in edges if self._queues[edge]]
        if not there:
            return None
        empty = [edge for edge in edges if not self._queues[edge]]
        if self._joins[node] == "all" and any(
            self._sources[edge] in live and self._sources[edge] != node for edge in empty
        ):
            return None  # what runs right before it: no need to look further
        reachable = self._reachable(node, live, done) if empty else set()
        open_ = [edge for edge in empty if self._sources[edge] in reachable]
        if open_ and (self._joins[node] == "all" or not any(self._queues[edge][0].wakes for edge in there)):
            return None
        for edge in open_:
            self._late[edge] += 1
        return [(edge, self._queues[edge].popleft()) for edge in there]

    def expire(self, node: str, live: Collection[str], done: Collection[str]) -> None:
        """Expect no late arrivals any more at those edges of ``node`` at which none can come."""
        late = [edge for edge in self._into[node] if self._late[edge]]
        reachable = self._reachable(node, live, done) if late else set()
        for edge in late:
            if self._sources[edge] not in reachable:
                self._late[edge] = 0

    def drop(self, node: str) -> None:
        """Forget what arrived at a node that will not run again."""
        for edge in self._into[node]:
            self._queues[edge].clear()
            self._late[edge] = 0

    def _reachable(self, node: str, live: Collection[str], done: Collection[str]) -> set[str]:
        """What may still run before ``node`` does: the live nodes and all that they lead to, not by way of ``node``."""
        there = {name for name in live if name != node}
        todo = list(there)
        while todo:
            for name in self._shape.following[todo.pop()]:
                if name not in there and name != node and name not in done:
                    there.add(name)
                    todo.append(name)
        return there
