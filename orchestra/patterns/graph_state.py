"""What conditions and input functions of a graph look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestra.core.jsontext import Json, copied


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as of its last visit. ``status`` is ``pending`` before the first one has ended; ``visits`` that ended."""

    name: str
    status: str = "pending"
    output: Json = None
    text: str = ""
    reason: str = ""
    error: str = ""
    visits: int = 0


@dataclass(frozen=True, slots=True)
class GraphState(Mapping[str, NodeView]):
    """The nodes of a run by name. ``task`` is the run's input as text, ``item`` that of the ``map`` visit being made.

    What it gives is a copy: changing an output changes nothing for others.
    """

    views: Mapping[str, NodeView]
    task: str = ""
    item: Json = None

    def __getitem__(self, name: str) -> NodeView:
        view = self.views[name]
        return NodeView(view.name, view.status, copied(view.output), view.text, view.reason, view.error, view.visits)

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def names(self, invocation_state: Mapping[str, object]) -> dict[str, object]:
        """The names of an expression: each node with status, output, reason and visits, and ``invocation_state``."""
        nodes: dict[str, object] = {
            name: {"status": view.status, "output": view.output, "reason": view.reason, "visits": view.visits}
            for name, view in self.views.items()
        }
        return {**nodes, "nodes": nodes, "invocation_state": dict(invocation_state)}
