"""Makes swarms and graphs known to the floor below: import it in a process that registers or serves any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from orchestra.core.graph import Graph
from orchestra.core.jsontext import Json
from orchestra.core.runnable import Pattern
from orchestra.core.swarm import Swarm
from orchestra.patterns.definition import load_graph, load_swarm, pack_graph, pack_swarm
from orchestra.patterns.pattern_run import PatternRun
from orchestra.runtime.definition import Loaded, Packed
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.kinds import add_kind

if TYPE_CHECKING:
    from orchestra.memory.state import StateValues
    from orchestra.runtime.journal import Journal
    from orchestra.runtime.serving import Serving
    from orchestra.runtime.turn_context import TurnContext


class SwarmKind:
    """Swarms."""

    name = "swarm"

    def fits(self, runnable: Pattern) -> bool:
        """Whether it is a swarm."""
        return isinstance(runnable, Swarm)

    def pack(self, runnable: Pattern, table: FunctionTable, known: Mapping[str, Mapping[str, Json]]) -> Packed:
        """The definition for the store."""
        return pack_swarm(cast("Swarm", runnable), table, known)

    def load(self, value: Mapping[str, Json], digest: str, table: FunctionTable) -> Loaded:
        """Ready to run."""
        return load_swarm(value, digest, table)

    def work(
        self, serving: Serving, context: TurnContext, journal: Journal, state: StateValues, resumed: bool
    ) -> PatternRun:
        """One run."""
        return PatternRun(serving, context, journal, state, resumed)


class GraphKind(SwarmKind):
    """Graphs."""

    name = "graph"

    def fits(self, runnable: Pattern) -> bool:
        """Whether it is a graph."""
        return isinstance(runnable, Graph)

    def pack(self, runnable: Pattern, table: FunctionTable, known: Mapping[str, Mapping[str, Json]]) -> Packed:
        """The definition for the store. Raises :class:`FunctionUnavailable`, which names the function."""
        return pack_graph(cast("Graph", runnable), table, known)

    def load(self, value: Mapping[str, Json], digest: str, table: FunctionTable) -> Loaded:
        """Ready to run."""
        return load_graph(value, digest, table)


add_kind(SwarmKind())
add_kind(GraphKind())
