"""``orchestra graph``: what a scenario runs as a drawing, and what is wrong with it by file, line and field."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.orchestra_command import Command, write

AGENT = "---\nname: %s\n---\nWork.\n"
HEAD = "agents: [a.md, b.md]\nturns: [One.]\n"
GOOD = HEAD + (
    "run: g\ngraph:\n  nodes: {draft: a, check: {run: b, memory: run}}\n"
    "  edges: [[draft, check], {from: check, to: draft, when: 'check.visits < 3'}]\n"
)
FAULTY = (
    HEAD + "run: g\ngraph:\n  nodes: {a: a, b: b, c: a, d: b}\n  edges: [[a, b], [b, a], [c, d], [d, c]]\n  entry: a\n"
)


@pytest.fixture
def folder(orchestra: Command) -> Command:
    write(orchestra.folder, {"a.md": AGENT % "a", "b.md": AGENT % "b", "good.yaml": GOOD, "faulty.yaml": FAULTY})
    return orchestra


def test_a_graph_is_drawn_for_the_terminal_and_as_mermaid(folder: Command) -> None:
    done = folder("graph", "good.yaml")
    assert (done.code, done.err) == (0, "")
    drawn, mermaid = done.out.split("\nas Mermaid\n")
    assert drawn == (
        "g\n\n1\n  * draft  (agent a)\n      -> check\n\n2\n  - check  (agent b)\n      ^> draft  [check.visits < 3]\n"
    )
    assert mermaid.startswith('flowchart TD\n    n0["draft<br/>(agent a)"]\n')
    assert folder("graph", "good.yaml", "--mermaid").out == mermaid


def test_what_is_unreachable_or_unbounded_is_named_and_drawn(folder: Command) -> None:
    done = folder("graph", "faulty.yaml")
    assert done.code == 2
    for text in ("! nothing leads to 'c'", "! nothing bounds the loop of 'a', 'b'", "unreachable\n  - c"):
        assert text in done.out
    assert done.err.startswith("orchestra: faulty.yaml:5: graph.nodes.c: graph 'g': nothing leads to 'c', 'd'")
    told = folder("graph", "faulty.yaml", "--json")
    assert (told.code, told.json["ok"]) == (2, False)
    (drawing,) = told.json["drawings"]
    assert (drawing["unreachable"], drawing["unbounded"]) == (["c", "d"], [["a", "b"], ["c", "d"]])
    assert [(fault["line"], fault["field"]) for fault in told.json["faults"]] == [(5, "graph.nodes.c")]


def test_json_has_nodes_and_edges(folder: Command) -> None:
    (drawing,) = folder("graph", "good.yaml", "--json").json["drawings"]
    assert (drawing["kind"], drawing["nodes"], drawing["starts"]) == ("graph", ["draft", "check"], ["draft"])
    assert drawing["edges"][1] == {"from": "check", "to": "draft", "label": "check.visits < 3"}
    assert drawing["problems"] == []


def test_a_file_that_cannot_be_drawn_is_a_message(folder: Command) -> None:
    write(folder.folder, {"bad.yaml": HEAD + "run: g\ngraph: {nodes: {a: {rnu: a}}}\n"})
    done = folder("graph", "bad.yaml")
    assert (done.code, done.out) == (2, "")
    assert "bad.yaml:4: graph.nodes.a" in done.err
    assert folder("graph", "gone.yaml").code == 2


def test_a_shipped_scenario_is_drawn_by_its_name(folder: Command) -> None:
    assert folder("graph", "research").out.startswith("lead: ")
