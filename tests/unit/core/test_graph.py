"""Definitions of graphs: the same from Python and from data, and what is refused when built (P10, P21)."""

from __future__ import annotations

import pickle

import pytest
from pydantic import ValidationError

from orchestra.core.agent import Agent
from orchestra.core.errors import ConfigError, UnknownName
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.swarm import Swarm
from orchestra.core.validation import validated
from orchestra.core.yamltext import parse

WRITER, REVIEWER = Agent(name="writer"), Agent(name="reviewer")
YAML = """
name: report
nodes: {draft: writer, check: {run: reviewer, join: any, memory: run}, send: {function: tools/mail.py:send, needs_approval: true}}
edges: [[draft, check], {from: check, to: draft, when: "check.output.score < 7"}, {from: check, to: send, when: "check.output.score >= 7"}]
max_node_executions: 12
node_timeout: 5m
"""  # noqa: E501


def test_yaml_and_python_give_the_same_object() -> None:
    from_yaml = validated(Graph, parse(YAML)).with_members({"writer": WRITER, "reviewer": REVIEWER})
    in_python = Graph(
        "report",
        nodes={
            "draft": WRITER,
            "check": Node(REVIEWER, join="any", memory="run"),
            "send": Node(function="tools/mail.py:send", needs_approval=True),
        },
        edges=[
            ("draft", "check"),
            Edge("check", "draft", when="check.output.score < 7"),
            Edge("check", "send", when="check.output.score >= 7"),
        ],
        max_node_executions=12,
        node_timeout=300,
    )
    assert from_yaml == in_python
    assert pickle.loads(pickle.dumps(from_yaml)) == in_python
    assert from_yaml.shape.starts == ("draft",)


def test_functions_swarms_and_graphs_are_nodes() -> None:
    def double(x: object) -> object: ...

    inner = Graph("inner", nodes={"x": WRITER})
    outer = Graph("outer", nodes={"f": double, "s": Swarm("s", agents=[WRITER]), "g": inner})
    assert outer.nodes["f"] == Node(function=double)
    assert outer.members == {"s": Swarm("s", agents=[WRITER]), "g": inner}


def test_a_name_that_leads_nowhere_is_named() -> None:
    with pytest.raises(UnknownName, match="no runnable named 'writer'"):
        Graph("g", nodes={"a": "writer"}).with_members({"reviewer": REVIEWER})


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"edges": [("a", "c")]}, "edges[0].to: graph 'g': edge a -> c names 'c', which is no node of it"),
    ({"edges": [("c", "a")]}, "edges[0].from: graph 'g': edge c -> a names 'c', which is no node of it"),
    ({"entry": "z"}, "entry: graph 'g': entry names 'z', which is no node of it. There are: a, b"),
    ({"interrupt_before": ["z"]}, "interrupt_before: graph 'g': interrupt_before names 'z', which is no node of it"),
    ({"entry": "a"}, "nodes.b: graph 'g': nothing leads to 'b'. It starts at a"),
    ({"edges": [("a", "b"), ("b", "a")]}, "max_node_executions: graph 'g': nothing bounds the loop of 'a', 'b'"),
    ({"edges": [("a", "a"), ("a", "b")]}, "nothing bounds the loop of 'a'"),
    (
        {"edges": [("a", "b"), Edge("b", "a", when="b.visits < 3 || true")]},
        "nothing bounds the loop of 'a', 'b'",
    ),
    ({"edges": [Edge("a", "b", when="x.output")]}, "edges[0].when: graph 'g': the condition of edge a -> b names 'x'"),
    ({"nodes": {}}, "nodes: graph 'g' has no nodes"),
    ({"nodes": {"nodes": "w"}}, "nodes.nodes: 'nodes' cannot be a node's name"),
    ({"nodes": {"a#1": "w"}}, "'a#1' cannot be a node's name"),
    ({"nodes": {"\x1b[2J": "w"}}, "'\\x1b[2J' cannot be a node's name"),
    ({"nodes": {"\ud800": "w"}}, "'\\ud800' cannot be a node's name"),
    ({"nodes": {"a": Node("w", map="a <")}}, "nodes.a.map: node 'a': 'a <' is no expression"),
    ({"nodes": {"a": {"join": "any"}}}, "a node needs either run or function"),
    ({"nodes": {"a": {"run": "w", "function": "f.py:f"}}}, "a node needs either run or function"),
    ({"name": "a|b"}, "agent name 'a|b'"),
    ({"on_failure": "retry"}, "'stop' or 'continue'"),
    ({"edges": [("a", "b", "c")]}, "an edge as a list has two names, from and to, not 3"),
    ({"max_nodes": 3}, "max_nodes"),
]


@pytest.mark.parametrize(("options", "error"), REFUSED)
def test_what_is_wrong_is_refused_when_built_and_named(options: dict[str, object], error: str) -> None:
    fields = {"name": "g", "nodes": {"a": WRITER, "b": WRITER}, **options}
    with pytest.raises(ValidationError) as raised:
        Graph(**fields)  # type: ignore[arg-type]
    assert error in str(raised.value)


def test_an_expression_that_is_none_names_its_edge() -> None:
    with pytest.raises(ValidationError, match=r"when: edge a -> b: 'a <' is no expression, at character 4"):
        Edge("a", "b", when="a <")


def test_an_async_condition_is_refused() -> None:
    async def when(state: object, invocation_state: object) -> bool: ...  # type: ignore[empty-body]

    with pytest.raises(ValidationError, match="edge a -> b: a condition is a plain function"):
        Edge("a", "b", when=when)


def test_a_fault_in_a_file_has_its_line() -> None:
    text = "name: g\nnodes: {a: w, b: w}\nedges:\n  - [a, b]\n  - {from: b, to: a}\n  - {from: b, to: z}\n"
    with pytest.raises(ConfigError) as raised:
        validated(Graph, parse(text, file="g.yaml"))
    assert str(raised.value).startswith("g.yaml:6: edges[2].to: graph 'g': edge b -> z names 'z'")


@pytest.mark.parametrize(
    "edge",
    [
        Edge("b", "a", when="b.visits < 3"),
        Edge("b", "a", when="b.output.again && b.visits <= 3"),
        Edge("b", "a", when="3 > a.visits"),
    ],
)
def test_a_condition_on_visits_bounds_a_loop(edge: Edge) -> None:
    assert Graph("g", nodes={"a": WRITER, "b": WRITER}, edges=[("a", "b"), edge]).shape.unbounded == ()


def test_two_values_for_one_key_and_too_many_by_position_are_type_errors() -> None:
    with pytest.raises(TypeError, match="'name' twice"):
        Graph("a", **{"name": "b", "nodes": {}})  # type: ignore[misc]
    with pytest.raises(TypeError, match="takes 2 values by position"):
        Edge("a", "b", "c")  # type: ignore[misc]


def test_a_graph_cannot_be_changed() -> None:
    graph = Graph("g", nodes={"a": WRITER})
    with pytest.raises(ValidationError):
        graph.name = "other"


@pytest.mark.parametrize(
    ("edge", "error"),
    [
        ("{from: a, too: b}", "g.yaml:3: edges[0].too: there is no key 'too'. Did you mean 'to'?"),
        ("{frm: a, to: b}", "edges[0].from: is missing. The node that it comes from"),
        ("{from: [a], to: b}", "g.yaml:3: edges[0].from: must be text, not a list"),
        ("{from: a, to: b, on: fail}", "edges[0].on: must be one of success, failure, always; it is 'fail'"),
        ("a -> b", "edges[0]: must be a mapping"),
    ],
)
def test_faults_of_an_edge_in_a_file_are_told_by_its_keys(edge: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validated(Graph, parse(f"name: g\nnodes: {{a: w, b: w}}\nedges: [{edge}]\n", file="g.yaml"))
    assert error in str(raised.value)


def test_faults_of_a_node_in_a_file() -> None:
    text = "name: g\nnodes:\n  a: {run: w, joins: any}\n  b: 3\n"
    with pytest.raises(ConfigError) as raised:
        validated(Graph, parse(text, file="g.yaml"))
    assert "g.yaml:3: nodes.a.joins: there is no key 'joins'. Did you mean 'join'?" in str(raised.value)
