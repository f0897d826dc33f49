"""The runs that ``benchmarks.patterns`` measures, and what a candidate has to offer. The same for every framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["swarm", "graph", "chain", "child", "tools"]
TASK = "Find out who writes to the venue in Lisbon, and when. " * 2
DONE = "Ines writes to them on Monday."
MESSAGE = "You know the venue: go on from here."


@dataclass(frozen=True, slots=True)
class Shape:
    """What is run. ``count``: handoffs of a swarm, parallel nodes of a graph, nodes of a chain, tool turns."""

    kind: Kind
    count: int

    @property
    def title(self) -> str:
        """For people."""
        return {
            "swarm": f"swarm, {self.count} hops",
            "graph": f"graph, {self.count} parallel nodes and a join",
            "chain": f"chain of {self.count}",
            "child": "an agent as a tool",
            "tools": f"a run of {self.count} tool turns",
        }[self.kind]

    @property
    def nodes(self) -> int:
        """How many agents take part."""
        return {"swarm": self.count + 1, "graph": self.count + 1, "chain": self.count, "child": 2}.get(self.kind, 1)

    @property
    def calls(self) -> int:
        """How many tools are called, handoffs apart: each needs one more call of a model."""
        return {"child": 1, "tools": self.count}.get(self.kind, 0)


SHAPES = (
    *(Shape("swarm", count) for count in (2, 10)),
    Shape("graph", 10),
    Shape("chain", 20),
    Shape("child", 1),
    *(Shape("tools", count) for count in (50, 100, 200)),
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """One run, ready. ``run`` is what is timed; it gives (the answer, model calls). ``close`` is not timed."""

    run: Callable[[], Awaitable[tuple[str, int]]]
    close: Callable[[], None] = lambda: None


class Candidate(Protocol):
    """A framework with or without its persistence."""

    name: str

    def model_calls(self, shape: Shape) -> int:
        """How many a run has in this framework: what each run is checked for."""

    def prepare(self, shape: Shape, number: int) -> Prepared:
        """A run of its own, with a new session where there are sessions. Nothing of this is timed."""
