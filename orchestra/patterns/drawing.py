"""Drawings of a graph: Mermaid text and lines for a terminal, with what is wrong with it named."""

from __future__ import annotations

from collections.abc import Mapping

from orchestra.core.graph import GraphDraft, Node
from orchestra.core.graph_shape import Arc, GraphShape
from orchestra.core.runnable import Pattern
from orchestra.core.swarm import Swarm


def problems(graph: GraphDraft) -> tuple[str, ...]:
    """What is wrong with the shape of ``graph``, one sentence each: unknown ends, lost nodes, unbounded loops."""
    shape = graph.shape
    ends = ((shape.arcs[i], name) for i, name in shape.unknown)
    unknown = [f"edge {arc.source} -> {arc.target}: there is no node {name!r}" for arc, name in ends]
    entries = [f"the entry {name!r} is no node" for name in graph.entry if name not in graph.nodes]
    lost = [f"nothing leads to {name!r}" for name in shape.unreachable]
    endless = [f"nothing bounds the loop of {', '.join(map(repr, loop))}" for loop in shape.unbounded]
    return (*unknown, *entries, *lost, *endless)


def mermaid(graph: GraphDraft) -> str:
    """The graph as a Mermaid flowchart. Unreachable nodes are dashed, nodes of unbounded loops have a thick border."""
    shape = graph.shape
    ids = {name: f"n{i}" for i, name in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for name, node in graph.nodes.items():
        text = "<br/>".join(quoted(part) for part in _about(name, node))
        left, right = _BRACKETS[_kind(node)]
        lines.append(f'    {ids[name]}{left}"{text}"{right}')
    for arc in shape.known_arcs:
        arrow = "-->" if not arc.label else f'-->|"{quoted(arc.label)}"|'
        lines.append(f"    {ids[arc.source]} {arrow} {ids[arc.target]}")
    marked: Mapping[str, tuple[str, list[str]]] = {
        "start": ("stroke-width:2px", list(shape.starts)),
        "unreachable": ("stroke-dasharray:4 4", list(shape.unreachable)),
        "unbounded": ("stroke-width:4px", [name for loop in shape.unbounded for name in loop]),
    }
    for kind, (style, names) in marked.items():
        if names:
            lines += [f"    classDef {kind} {style}", f"    class {','.join(ids[name] for name in names)} {kind}"]
    return "\n".join([*lines, *(f"    %% {problem}" for problem in problems(graph))]) + "\n"


def terminal(graph: GraphDraft) -> str:
    """The graph as lines of text: layer by layer, each node with the edges from it, then what is wrong with it."""
    shape = graph.shape
    lines = [f"{graph.name}" + (f": {graph.description}" if graph.description else "")]
    place = {name: level for level, names in enumerate(shape.layers) for name in names}
    for level, names in enumerate(shape.layers):
        lines += ["", f"{level + 1}"]
        for name in names:
            lines += _node_lines(graph, shape, name, place)
    if shape.unreachable:
        lines += ["", "unreachable"]
        for name in shape.unreachable:
            lines += _node_lines(graph, shape, name, place)
    found = problems(graph)
    if found:
        lines += ["", *(f"! {problem}" for problem in found)]
    return "\n".join(lines) + "\n"


def _node_lines(graph: GraphDraft, shape: GraphShape, name: str, place: Mapping[str, int]) -> list[str]:
    mark = "*" if name in shape.starts else "-"
    lines = [f"  {mark} {'  '.join(_about(name, graph.nodes[name]))}"]
    lines += [f"      {_arrow(arc, place)} {arc.target}{_when(arc)}" for arc in shape.known_arcs if arc.source == name]
    return lines


def _arrow(arc: Arc, place: Mapping[str, int]) -> str:
    """``->`` forwards, ``^>`` back to where the way has been."""
    return "^>" if place.get(arc.target, 0) <= place.get(arc.source, -1) else "->"


def _when(arc: Arc) -> str:
    return f"  [{arc.label}]" if arc.label else ""


def _about(name: str, node: Node) -> list[str]:
    """The node's name and what is special about it."""
    parts = [name]
    if node.runs != name or _kind(node) != "agent":
        parts.append(f"({_kind(node)} {node.runs})")
    if node.join == "any":
        parts.append("join any")
    if node.map is not None:
        parts.append(f"map {node.map if isinstance(node.map, str) else getattr(node.map, '__name__', 'function')}")
    if node.needs_approval:
        parts.append("needs approval")
    return parts


def _kind(node: Node) -> str:
    if node.function is not None:
        return "function"
    if isinstance(node.run, Pattern):
        return "swarm" if isinstance(node.run, Swarm) else "graph"
    return "agent"


_BRACKETS = {"agent": ("[", "]"), "function": ("[/", "/]"), "swarm": ("([", "])"), "graph": ("[[", "]]")}


def quoted(text: str) -> str:
    """``text`` as a Mermaid label: the characters that would end it, or start a tag, as their numbers."""
    for character in '#&"<>|':
        text = text.replace(character, f"\0{ord(character)};")
    return " ".join(text.replace("\0", "#").split())
