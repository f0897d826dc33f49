"""Definitions of graphs: nodes, the edges between them, and what bounds a run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from orchestra.core.agent import Agent, OnBusy, Persistence
from orchestra.core.document import nearest
from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError, InputError
from orchestra.core.expression import Expression
from orchestra.core.graph_shape import Arc, GraphShape
from orchestra.core.runnable import (
    Function,
    Member,
    Memory,
    Pattern,
    Positional,
    Runnable,
    is_function,
    member_named,
    name_of,
)

Join: TypeAlias = Literal["all", "any"]
On: TypeAlias = Literal["success", "failure", "always"]
OnFailure: TypeAlias = Literal["stop", "continue"]
RESERVED_NODES = frozenset({"invocation_state", "nodes", "item", "task"})


class Node(Positional):
    """A node: a runnable (or its name, or a function) and how it takes part. Exactly one of ``run`` and ``function``.

    ``inputs`` and a function as ``map`` are called with the graph's state and the invocation state; what ``inputs``
    returns (text, messages or a JSON value) is the node's input. ``map`` is the name of a node whose output is a list,
    or an expression such as ``plan.output.parts``: the node runs once per item, in parallel, and its output is the list
    of theirs. It ends when all items have ended, as failed when one has failed.
    """

    positional = ("runnable",)

    run: Member | None = None
    """The name of the agent, swarm or graph that works here."""
    function: str | SkipJsonSchema[Function] | None = None
    """Instead of run: a function such as tools/mail.py:send."""
    join: Join = "all"
    """all: it runs when every incoming edge is settled and one is satisfied. any: at the first satisfied one."""
    memory: Memory = "fresh"
    """What it remembers when visited again: fresh nothing, run this run, session the session's earlier runs too."""
    inputs: str | SkipJsonSchema[Function] | None = None
    """A function such as flow.py:question that makes its input, instead of the task and the outputs before it."""
    map: str | SkipJsonSchema[Function] | None = None
    """A node whose output is a list, or an expression for a list: it runs once per item."""
    needs_approval: bool = False
    """Whether somebody must approve before it runs."""

    if TYPE_CHECKING:

        def __init__(
            self,
            runnable: Runnable | Function | str | None = None,
            *,
            run: Runnable | str | None = None,
            function: Function | str | None = None,
            join: Join = "all",
            memory: Memory = "fresh",
            inputs: Function | str | None = None,
            map: Function | str | None = None,
            needs_approval: bool = False,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _runnable(cls, value: object) -> object:
        if isinstance(value, Mapping) and "runnable" in value:
            rest = {key: item for key, item in value.items() if key != "runnable"}
            return {**rest, "function" if is_function(value["runnable"]) else "run": value["runnable"]}
        return value

    @model_validator(mode="after")
    def _one(self) -> Node:
        if (self.run is None) == (self.function is None):
            raise ConfigError("a node needs either run or function", hint="Name an agent with run, or a function")
        return self

    @property
    def runs(self) -> str:
        """The name of what works here, for people."""
        if self.run is not None:
            return name_of(self.run)
        if isinstance(self.function, str):
            return self.function.rpartition(":")[2]
        return getattr(self.function, "__name__", "function")


class Edge(Positional):
    """An edge: ``Edge("draft", "check", when=…, on=…)``.

    It is satisfied when the node it comes from ended as ``on`` says and ``when`` holds. ``when`` is an expression over
    node names (``check.output.score < 7``, also ``.status``, ``.visits``) and ``invocation_state``, or a function of
    the graph's state and the invocation state.
    """

    positional = ("from", "to")

    from_: str = Field(alias="from")
    """The node that it comes from."""
    to: str
    """The node that it leads to."""
    when: str | SkipJsonSchema[Function] | None = None
    """An expression such as check.output.score < 7; left out: always."""
    on: On = "success"
    """How the node before must have ended."""

    if TYPE_CHECKING:

        def __init__(self, from_: str, to: str, *, when: str | Function | None = None, on: On = "success") -> None: ...

    @model_validator(mode="after")
    def _condition(self) -> Edge:
        if isinstance(self.when, str):
            try:
                _ = self.expression
            except InputError as error:
                raise ConfigError(f"edge {self.shown}: {error}", field="when") from None
        elif self.when is not None and inspect.iscoroutinefunction(self.when):
            raise ConfigError(f"edge {self.shown}: a condition is a plain function, not an async one", field="when")
        return self

    @cached_property
    def expression(self) -> Expression | None:
        """The compiled ``when``; ``None`` when it is a function or absent."""
        return Expression(self.when) if isinstance(self.when, str) else None

    @property
    def shown(self) -> str:
        """``a -> b``."""
        return f"{self.from_} -> {self.to}"

    @property
    def bounded(self) -> bool:
        """Whether the condition bounds how often the edge can be taken: by the visits of one of its two nodes."""
        return self.expression is not None and bool(self.expression.bounded_by & {self.from_, self.to})


def _as_node(value: object) -> object:
    if isinstance(value, str | Agent | Pattern):
        return {"run": value}
    return {"function": value} if is_function(value) else value


def _as_edge(value: object) -> object:
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError(f"an edge as a list has two names, from and to, not {len(value)}")
        return {"from": value[0], "to": value[1]}
    return value


def _as_names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class GraphDraft(Pattern):
    """The keys of a graph before its shape is checked: what a drawing of a faulty graph is made of."""

    nodes: dict[str, Annotated[Node, BeforeValidator(_as_node, json_schema_input_type=Node | str)]]
    """Nodes by name: an agent's name, or a mapping with run or function."""
    edges: tuple[Annotated[Edge, BeforeValidator(_as_edge, json_schema_input_type=Edge | tuple[str, str])], ...] = ()
    """Edges: [from, to], or a mapping with from, to, when, on."""
    entry: Annotated[tuple[str, ...], BeforeValidator(_as_names, json_schema_input_type=str | tuple[str, ...])] = ()
    """Where it starts, a node or several; left out: at every node without an incoming edge."""
    max_node_executions: int | None = Field(default=None, gt=0)
    """How many nodes may run, each visit counted; it bounds every loop."""
    execution_timeout: Seconds | None = None
    """How long a run may take."""
    node_timeout: Seconds | None = None
    """How long one visit of a node may take; longer is a failure with reason node_timeout."""
    max_concurrency: int | None = Field(default=None, gt=0)
    """How many nodes may run at a time."""
    on_failure: OnFailure = "stop"
    """stop: a failing node without an edge for it ends the run. continue: what does not depend on it goes on."""
    interrupt_before: tuple[str, ...] = ()
    """Nodes before which the run waits for an approval."""

    @cached_property
    def shape(self) -> GraphShape:
        """What leads where."""
        arcs = (Arc(edge.from_, edge.to, edge.bounded, _label(edge)) for edge in self.edges)
        return GraphShape(tuple(self.nodes), tuple(arcs), self.entry, self.max_node_executions is not None)


class Graph(GraphDraft):
    """A graph: ``Graph("report", nodes={"a": agent, "b": function}, edges=[("a", "b")])``.

    Raises (inside pydantic's error, as :class:`ConfigError`): an unknown entry, edge end or name in an expression, an
    unreachable node, a loop without a bound; each names the culprit.
    """

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            *,
            nodes: Mapping[str, Node | Runnable | Function | str],
            edges: Sequence[Edge | tuple[str, str]] = (),
            entry: str | Sequence[str] | None = None,
            max_node_executions: int | None = None,
            execution_timeout: float | str | None = None,
            node_timeout: float | str | None = None,
            max_concurrency: int | None = None,
            on_failure: OnFailure = "stop",
            interrupt_before: Sequence[str] = (),
            description: str = "",
            hooks: Sequence[object] = (),
            persistence: Persistence = "journal",
            on_busy: OnBusy = "queue",
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _no_entry(cls, value: object) -> object:
        if isinstance(value, Mapping) and "entry" in value and value["entry"] is None:
            return {key: item for key, item in value.items() if key != "entry"}
        return value

    @model_validator(mode="after")
    def _checked(self) -> Graph:
        shape, names = self.shape, tuple(self.nodes)
        if not names:
            raise ConfigError(f"graph {self.name!r} has no nodes", field="nodes")
        for name in names:
            if name in RESERVED_NODES or not name.strip() or not name.isprintable() or set(name) & set("|#[]"):
                reserved = ", ".join(sorted(RESERVED_NODES))
                hint = f"Not allowed are {reserved}, and names with | # [ ] or what cannot be printed"
                field = f"nodes.{name}" if name.isprintable() else "nodes"
                raise ConfigError(f"{name!r} cannot be a node's name", field=field, hint=hint)
        for i, end in shape.unknown:
            key = "from" if self.edges[i].from_ == end else "to"
            raise self._no_node(f"edges[{i}].{key}", end, f"edge {self.edges[i].shown} names")
        for field in ("entry", "interrupt_before"):
            for name in getattr(self, field):
                if name not in self.nodes:
                    raise self._no_node(field, name, f"{field} names")
        self._check_expressions()
        if shape.unreachable:
            problem = f"graph {self.name!r}: nothing leads to {', '.join(map(repr, shape.unreachable))}"
            hint = f"It starts at {', '.join(shape.starts)}: add an edge, or name it as an entry"
            raise ConfigError(problem, field=f"nodes.{shape.unreachable[0]}", hint=hint)
        if shape.unbounded:
            problem = f"graph {self.name!r}: nothing bounds the loop of {', '.join(map(repr, shape.unbounded[0]))}"
            hint = 'Set max_node_executions, or let an edge of the loop say when: "NODE.visits < 5" of one of its ends'
            raise ConfigError(problem, field="max_node_executions", hint=hint)
        return self

    def _no_node(self, field: str, name: str, what: str) -> ConfigError:
        hint = nearest(name, self.nodes) or f"There are: {', '.join(self.nodes)}"
        return ConfigError(f"graph {self.name!r}: {what} {name!r}, which is no node of it", field=field, hint=hint)

    def _check_expressions(self) -> None:
        known = {*self.nodes, "invocation_state", "nodes"}
        for i, edge in enumerate(self.edges):
            for name in edge.expression.names if edge.expression else ():
                if name not in known:
                    raise self._no_node(f"edges[{i}].when", name, f"the condition of edge {edge.shown} names")
        for name, node in self.nodes.items():
            if isinstance(node.map, str) and node.map not in self.nodes:
                try:
                    names = Expression(node.map).names
                except InputError as error:
                    raise ConfigError(f"node {name!r}: {error}", field=f"nodes.{name}.map") from None
                if unknown := [one for one in names if one not in known]:
                    raise self._no_node(f"nodes.{name}.map", unknown[0], f"map of {name!r} names")

    @property
    def members(self) -> Mapping[str, Runnable | str]:
        """The runnables by the names of their nodes, without the functions."""
        return {name: node.run for name, node in self.nodes.items() if node.run is not None}

    def with_members(self, known: Mapping[str, Runnable]) -> Graph:
        """The same graph with runnables in place of their names. Raises :class:`UnknownName`."""
        nodes: dict[str, Node] = {
            name: node.model_copy(update={"run": member_named(node.run, known)}) if isinstance(node.run, str) else node
            for name, node in self.nodes.items()
        }
        return self.model_copy(update={"nodes": nodes})


def _label(edge: Edge) -> str:
    when = edge.when if isinstance(edge.when, str) else getattr(edge.when, "__name__", "when") if edge.when else ""
    return ", ".join(part for part in ("" if edge.on == "success" else f"on {edge.on}", when) if part)
