"""The shape of a graph: what leads where, what cannot be reached, and which loops have no bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge of a shape. ``bounded``: it cannot be taken for ever. ``label`` is for drawings."""

    source: str
    target: str
    bounded: bool = False
    label: str = ""


@dataclass(frozen=True)
class GraphShape:
    """Nodes and arcs in the order in which they were declared.

    ``entry`` is what was declared as such. ``limited``: the number of node executions is bounded, so every loop is.
    Arcs may name nodes that do not exist; these are in ``unknown`` and are left out of everything else.
    """

    nodes: tuple[str, ...]
    arcs: tuple[Arc, ...]
    entry: tuple[str, ...] = ()
    limited: bool = False

    @cached_property
    def unknown(self) -> tuple[tuple[int, str], ...]:
        """(index of the arc, name) of each end that is no node."""
        ends = ((i, end) for i, arc in enumerate(self.arcs) for end in (arc.source, arc.target))
        return tuple((i, end) for i, end in ends if end not in self.nodes)

    @cached_property
    def known_arcs(self) -> tuple[Arc, ...]:
        """The arcs between nodes that exist."""
        there = set(self.nodes)
        return tuple(arc for arc in self.arcs if arc.source in there and arc.target in there)

    @cached_property
    def following(self) -> Mapping[str, tuple[str, ...]]:
        """For each node, the nodes that its arcs lead to."""
        return _neighbours(self.nodes, ((arc.source, arc.target) for arc in self.known_arcs))

    @cached_property
    def starts(self) -> tuple[str, ...]:
        """The nodes that start: the declared entry, else all without an incoming arc, else the first one."""
        if self.entry:
            return tuple(name for name in self.nodes if name in self.entry)
        led_to = {arc.target for arc in self.known_arcs}
        return tuple(name for name in self.nodes if name not in led_to) or self.nodes[:1]

    @cached_property
    def unreachable(self) -> tuple[str, ...]:
        """The nodes that nothing leads to."""
        there = reached(self.starts, self.following)
        return tuple(name for name in self.nodes if name not in there)

    @cached_property
    def cyclic(self) -> frozenset[str]:
        """The nodes that lie on a loop."""
        return frozenset(name for part in self.loops for name in part)

    @cached_property
    def loops(self) -> tuple[tuple[str, ...], ...]:
        """Groups of nodes that lead to each other, in declared order; one node that leads to itself is a group too."""
        return _loops(self.nodes, self.following)

    @cached_property
    def repeatable(self) -> frozenset[str]:
        """The nodes that may run more than once: those on a loop, and those that a loop leads to."""
        return frozenset(reached(self.cyclic, self.following))

    @cached_property
    def unbounded(self) -> tuple[tuple[str, ...], ...]:
        """The loops that nothing bounds: no limit for the graph, and no bounded arc on the way round."""
        if self.limited:
            return ()
        free = ((arc.source, arc.target) for arc in self.known_arcs if not arc.bounded)
        return _loops(self.nodes, _neighbours(self.nodes, free))

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The nodes by their distance from a start, counted along the longest way that does not go round a loop."""
        depth: dict[str, int] = {}
        order: list[str] = []
        for start in self.starts:
            _visit(start, self.following, order)
        place = {name: i for i, name in enumerate(reversed(order))}
        for name in reversed(order):
            depth.setdefault(name, 0)
            for target in self.following[name]:
                if place[target] > place[name]:
                    depth[target] = max(depth.get(target, 0), depth[name] + 1)
        return tuple(
            tuple(name for name in self.nodes if depth.get(name) == level)
            for level in range(max(depth.values(), default=-1) + 1)
        )


def reached(starts: Iterable[str], following: Mapping[str, Iterable[str]]) -> set[str]:
    """All that can be reached from ``starts``, they themselves included."""
    there = set(starts)
    todo = list(there)
    while todo:
        for name in following[todo.pop()]:
            if name not in there:
                there.add(name)
                todo.append(name)
    return there


def _neighbours(nodes: Sequence[str], arcs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {name: {} for name in nodes}
    for source, target in arcs:
        found[source][target] = None
    return {name: tuple(targets) for name, targets in found.items()}


def _visit(start: str, following: Mapping[str, Sequence[str]], order: list[str]) -> None:
    """Append to ``order`` what is reachable from ``start`` and not in it yet, each after all that it leads to."""
    seen = set(order)
    if start in seen:
        return
    seen.add(start)
    todo = [(start, iter(following[start]))]
    while todo:
        name, targets = todo[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                todo.append((target, iter(following[target])))
                break
        else:
            order.append(name)
            todo.pop()


def _loops(nodes: Sequence[str], following: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Strongly connected groups that hold a loop (Kosaraju's two passes)."""
    order: list[str] = []
    for name in nodes:
        _visit(name, following, order)
    back = _neighbours(nodes, ((target, source) for source, targets in following.items() for target in targets))
    taken: set[str] = set()
    groups: list[set[str]] = []
    for name in reversed(order):
        if name in taken:
            continue
        open_ = {node: tuple(other for other in back[node] if other not in taken) for node in nodes}
        group = reached([name], open_)
        taken |= group
        if len(group) > 1 or name in following[name]:
            groups.append(group)
    return tuple(sorted((tuple(n for n in nodes if n in group) for group in groups), key=lambda g: nodes.index(g[0])))
