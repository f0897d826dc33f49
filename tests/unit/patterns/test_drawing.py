"""Drawings of graphs, good and faulty ones."""

from __future__ import annotations

import re

from orchestra.core.agent import Agent
from orchestra.core.graph import Edge, Graph, GraphDraft, Node
from orchestra.core.swarm import Swarm
from orchestra.patterns.drawing import mermaid, problems, terminal


def send() -> None: ...


REPORT = Graph(
    "report",
    description="Writes and sends.",
    nodes={
        "plan": "planner",
        "part": Node("writer", map="plan.output"),
        "check": Node(Swarm("team", agents=[Agent(name="a")]), join="any"),
        "send": Node(send, needs_approval=True),
    },
    edges=[
        ("plan", "part"),
        ("part", "check"),
        Edge("check", "part", when='check.output == "a|b<c>#"'),
        Edge("check", "send", on="always"),
    ],
    max_node_executions=9,
)
FAULTY = GraphDraft.model_validate(
    {
        "name": "faulty",
        "nodes": dict.fromkeys("abxy", "w"),
        "edges": [["a", "b"], ["b", "a"], ["a", "nowhere"], ["x", "y"], ["y", "x"]],
        "entry": "a",
    }
)


def test_the_terminal_drawing_lists_layers_edges_and_what_is_special() -> None:
    assert terminal(REPORT) == (
        "report: Writes and sends.\n\n"
        "1\n  * plan  (agent planner)\n      -> part\n\n"
        "2\n  - part  (agent writer)  map plan.output\n      -> check\n\n"
        "3\n  - check  (swarm team)  join any\n"
        '      ^> part  [check.output == "a|b<c>#"]\n      -> send  [on always]\n\n'
        "4\n  - send  (function send)  needs approval\n"
    )


def test_mermaid_has_each_node_and_edge_once_and_nothing_that_breaks_out_of_a_label() -> None:
    drawn = mermaid(REPORT)
    assert drawn.startswith("flowchart TD\n")
    assert '    n0["plan<br/>(agent planner)"]\n' in drawn
    assert '    n2(["check<br/>(swarm team)<br/>join any"])\n' in drawn
    assert '    n3[/"send<br/>(function send)<br/>needs approval"/]\n' in drawn
    assert '    n2 -->|"check.output == #34;a#124;b#60;c#62;#35;#34;"| n1\n' in drawn
    assert len(re.findall(r"-->", drawn)) == 4
    assert "class n0 start" in drawn


def test_what_is_wrong_is_named_in_both_drawings() -> None:
    found = problems(FAULTY)
    assert found == (
        "edge a -> nowhere: there is no node 'nowhere'",
        "nothing leads to 'x'",
        "nothing leads to 'y'",
        "nothing bounds the loop of 'a', 'b'",
        "nothing bounds the loop of 'x', 'y'",
    )
    assert problems(REPORT) == ()
    assert all(f"! {problem}\n" in terminal(FAULTY) for problem in found)
    assert "unreachable\n  - x  (agent w)\n      -> y" in terminal(FAULTY)
    assert all(f"%% {problem}\n" in mermaid(FAULTY) for problem in found)
    assert "class n2,n3 unreachable" in mermaid(FAULTY)
    assert "class n0,n1,n2,n3 unbounded" in mermaid(FAULTY)
