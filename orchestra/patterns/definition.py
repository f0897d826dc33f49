"""Definitions of swarms and graphs as JSON, and loaded again on a host.

What takes part is kept by name, with what the others must know of it: its description and its handoffs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from orchestra.core.agent import Agent, Limits
from orchestra.core.conversation import Compaction, Conversation
from orchestra.core.errors import ConfigError
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.jsontext import Json, digest, dumps
from orchestra.core.runnable import Pattern, name_of
from orchestra.core.swarm import Swarm, check_handoffs
from orchestra.models.registry import resolve
from orchestra.patterns.function_node import check_function
from orchestra.runtime.definition import Loaded, Packed
from orchestra.runtime.function_ref import FunctionTable, Ref, from_text, load, pack

Known = Mapping[str, Mapping[str, Json]]


def pack_swarm(swarm: Swarm, table: FunctionTable, known: Known) -> Packed:
    """The definition of a swarm. Raises :class:`ConfigError` for a handoff to somebody who is not in it."""
    fields = swarm.model_dump(mode="json", exclude={"agents", "hooks"})
    agents = [_member(name, known) for name in swarm.names]
    for one in agents:
        check_handoffs(swarm.name, str(one["name"]), cast("Sequence[str] | None", one["handoffs"]), swarm.names)
    return _packed(swarm, "swarm", cast("Json", {**fields, "agents": agents}), table)


def pack_graph(graph: Graph, table: FunctionTable, known: Known) -> Packed:
    """The definition of a graph.

    Raises:
        FunctionUnavailable: a function cannot be imported.
        ConfigError: a node cannot call its function.
    """
    fields = graph.model_dump(mode="json", exclude={"nodes", "edges", "hooks"})
    nodes: dict[str, Json] = {}
    for name, node in graph.nodes.items():
        plain = node.model_dump(mode="json", exclude={"run", "function", "inputs", "map"})
        run = None if node.run is None else _member(name_of(node.run), known)
        mapped = node.map if node.map is None or isinstance(node.map, str) else _reference(node.map, table)
        functions = {"function": _reference(node.function, table), "inputs": _reference(node.inputs, table)}
        nodes[name] = cast("Json", {**plain, "run": run, "map": mapped, **functions})
    edges = [
        {
            **edge.model_dump(mode="json", by_alias=True, exclude={"when"}),
            "when": edge.when if edge.when is None or isinstance(edge.when, str) else _reference(edge.when, table),
        }
        for edge in graph.edges
    ]
    packed = _packed(graph, "graph", cast("Json", {**fields, "nodes": nodes, "edges": edges}), table)
    for name, node in graph.nodes.items():
        if node.function is not None:
            try:
                check_function(_function(cast("Mapping[str, Json]", nodes[name])["function"], table))
            except ConfigError as error:
                raise ConfigError(f"node {name!r}: {error.problem}", field=f"nodes.{name}.function") from None
    return packed


def load_swarm(value: Mapping[str, Json], digest_: str, table: FunctionTable) -> Loaded:
    """The inverse of :func:`pack_swarm`."""
    fields = cast("dict[str, Json]", dict(cast("Mapping[str, Json]", value["swarm"])))
    agents = [_stub(one) for one in cast("Sequence[Mapping[str, Json]]", fields.pop("agents"))]
    return _loaded(Swarm.model_validate({**fields, "agents": agents}), value, digest_, table)


def load_graph(value: Mapping[str, Json], digest_: str, table: FunctionTable) -> Loaded:
    """The inverse of :func:`pack_graph`."""
    fields = cast("dict[str, Json]", dict(cast("Mapping[str, Json]", value["graph"])))
    nodes: dict[str, Node] = {}
    for name, item in cast("Mapping[str, Mapping[str, Json]]", fields.pop("nodes")).items():
        found: dict[str, object] = {key: _function(one, table) for key, one in item.items()}
        if (run := item["run"]) is not None:
            found["run"] = _stub(cast("Mapping[str, Json]", run))
        nodes[name] = Node.model_validate(found)
    edges = [
        Edge.model_validate({key: _function(one, table) for key, one in item.items()})
        for item in cast("Sequence[Mapping[str, Json]]", fields.pop("edges"))
    ]
    return _loaded(Graph.model_validate({**fields, "nodes": nodes, "edges": edges}), value, digest_, table)


def shape_of(pattern: Pattern) -> dict[str, Json]:
    """What a run that has begun depends on: who takes part, and what leads where. A line for each part, by its name."""
    if isinstance(pattern, Swarm):
        return {**{f"agent {name!r}": "" for name in pattern.names}, "entry": pattern.first}
    assert isinstance(pattern, Graph)
    shape: dict[str, Json] = {}
    for name, node in pattern.nodes.items():
        shape[f"node {name!r}"] = f"runs {node.runs}, join {node.join}" + (f", map {node.map}" if node.map else "")
    for edge in pattern.edges:
        when = edge.when if isinstance(edge.when, str) else getattr(edge.when, "__qualname__", "")
        shape[f"edge {edge.shown}"] = " ".join(part for part in (f"on {edge.on}", when and f"when {when}") if part)
    return shape | {"entry": ", ".join(pattern.shape.starts)}


def _packed(pattern: Pattern, kind: str, fields: Json, table: FunctionTable) -> Packed:
    hooks = [_reference(hook, table) for hook in pattern.hooks]
    for ref in hooks:
        _function(ref, table)
    value = {"kind": kind, "name": pattern.name, "description": pattern.description, "hooks": hooks, kind: fields}
    return Packed(pattern.name, dumps(value), digest(value))


def _loaded(pattern: Swarm | Graph, value: Mapping[str, Json], digest_: str, table: FunctionTable) -> Loaded:
    hooks = [_function(ref, table) for ref in cast("Sequence[Json]", value["hooks"])]
    # What of an agent a run on a thread needs: nothing that talks to a model.
    agent = Agent(
        name=pattern.name,
        description=pattern.description,
        model="extractive",
        persistence=pattern.persistence,
        on_busy=pattern.on_busy,
        limits=Limits(model_calls=None),
        memory_tools=False,
        recall=False,
        archive=False,
        conversation=Conversation(strategy="full", compaction=Compaction(enabled=False)),
    )
    return Loaded(
        agent,
        digest_,
        {},
        tuple(hook() if isinstance(hook, type) else hook for hook in hooks),
        resolve("extractive"),
        "auto",
        4096 + 8 * len(dumps(value)),
        kind=str(value["kind"]),
        pattern=pattern,
        shape=shape_of(pattern),
    )


def _member(name: str, known: Known) -> dict[str, Json]:
    said = known.get(name, {})
    return {"name": name, "description": said.get("description") or "", "handoffs": said.get("handoffs")}


def _stub(value: Mapping[str, Json]) -> Agent:
    """Whoever takes part, as far as the others know it."""
    return Agent.model_validate(value)


def _reference(value: object, table: FunctionTable) -> Json:
    if value is None:
        return None
    ref = from_text(value) if isinstance(value, str) else pack(value, table)
    return cast("Json", {"ref": ref})


def _function(value: Json, table: FunctionTable) -> Callable[..., object] | Json:
    if isinstance(value, dict) and "ref" in value:
        return cast("Callable[..., object]", load(cast("Ref", value["ref"]), table))
    return value
