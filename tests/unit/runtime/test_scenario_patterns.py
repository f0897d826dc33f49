"""Swarms and graphs in scenario files: the same objects as in Python, and every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra.core.agent import Agent
from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.core.graph import Edge, Graph, GraphDraft, Node
from orchestra.core.swarm import Swarm
from orchestra.runtime.scenario_file import LoadedScenario, load_drawings, load_scenario

HEAD = "agents: [writer.md, reviewer.md]\nturns: [One.]\n"
GRAPH = """run: report
graph:
  nodes:
    draft: writer
    check: {run: reviewer, join: any, memory: run}
    send: {function: tools/mail.py:send, inputs: tools/mail.py:letter, needs_approval: true}
  edges:
    - [draft, check]
    - {from: check, to: draft, when: "check.output.score < 7"}
    - {from: check, to: send, when: "check.output.score >= 7", on: always}
  max_node_executions: 12
  node_timeout: 2m
"""
SWARM = """run: desk
swarm: {name: desk, agents: [writer, reviewer], entry: reviewer, max_handoffs: 3, start: last}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("writer", "reviewer"):
        (tmp_path / f"{name}.md").write_text(f"---\nname: {name}\n---\nWork.\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/mail.py").write_text("def send(letter): ...\ndef letter(state, invocation_state): ...\n")
    return tmp_path


def load(text: str, *overrides: str, head: str = HEAD) -> LoadedScenario:
    Path("s.yaml").write_text(head + text)
    return load_scenario("s.yaml", overrides=overrides, environment={})


def agent(name: str) -> Agent:
    return Agent(name=name, instructions="Work.")


def test_a_graph_in_a_file_is_the_one_in_python(here: Path) -> None:
    loaded = load(GRAPH)
    tools = here / "tools/mail.py"
    assert loaded.runnable == Graph(
        "report",
        nodes={
            "draft": agent("writer"),
            "check": Node(agent("reviewer"), join="any", memory="run"),
            "send": Node(function=f"{tools}:send", inputs=f"{tools}:letter", needs_approval=True),
        },
        edges=[
            ("draft", "check"),
            Edge("check", "draft", when="check.output.score < 7"),
            Edge("check", "send", when="check.output.score >= 7", on="always"),
        ],
        max_node_executions=12,
        node_timeout=120,
    )
    assert loaded.scenario.graph == loaded.patterns == (loaded.runnable,)
    assert [one.name for one in loaded.taking_part] == ["writer", "reviewer"]


def test_a_swarm_in_a_file_is_the_one_in_python() -> None:
    loaded = load(SWARM)
    members = [agent("writer"), agent("reviewer")]
    assert loaded.runnable == Swarm("desk", agents=members, entry="reviewer", max_handoffs=3, start="last")
    assert loaded.scenario.swarm == loaded.patterns


def test_patterns_nest_whatever_their_order() -> None:
    loaded = load(
        "run: outer\nswarm: {name: desk, agents: [writer, inner]}\n"
        "graph:\n  - {name: outer, nodes: {a: desk, b: writer}, edges: [[a, b]]}\n"
        "  - {name: inner, nodes: {c: reviewer}}\n"
    )
    inner = Graph("inner", nodes={"c": agent("reviewer")})
    desk = Swarm("desk", agents=[agent("writer"), inner])
    outer = Graph("outer", nodes={"a": desk, "b": agent("writer")}, edges=[("a", "b")])
    assert loaded.runnable == outer
    assert loaded.patterns == (desk, outer, inner)
    assert [one.name for one in loaded.taking_part] == ["writer", "reviewer"]


def test_a_pattern_without_a_name_is_what_is_run_unless_that_is_an_agent() -> None:
    nameless = "graph: {nodes: {a: writer}}\n"
    assert load("run: report\n" + nameless).runnable.name == "report"
    loaded = load("run: writer\n" + nameless)
    assert isinstance(loaded.runnable, Agent)
    assert [one.name for one in loaded.patterns] == ["graph"]


def test_the_command_line_reaches_into_patterns_and_all_agents() -> None:
    loaded = load(GRAPH, "graph.max_node_executions=5", "graph.nodes.draft=reviewer", "agents.*.model=extractive")
    assert isinstance(loaded.runnable, Graph)
    assert loaded.runnable.max_node_executions == 5
    assert loaded.runnable.nodes["draft"].run == loaded.agents[1]
    assert [one.model for one in loaded.agents] == ["extractive"] * 2
    assert [one.model for one in load(GRAPH, "agents.writer.model=x:y", "agents.*.model=auto").agents] == [
        "x:y",
        "auto",
    ]


G = "run: g\ngraph:\n  nodes: {a: writer, b: reviewer}\n"
FAULTS = [
    (G.replace("reviewer", "reviwer"), 5, "graph.nodes.b", "no agent, swarm or graph 'reviwer'", "'reviewer'?"),
    (G.replace("b: reviewer", "b: {run: w}"), 5, "graph.nodes.b.run", "no agent, swarm or graph 'w'", "There are:"),
    (G.replace("b: reviewer", "b: {}"), 5, "graph.nodes.b", "needs either run or function", ""),
    (G + "  edges: [[a, c]]\n", 6, "graph.edges[0].to", "names 'c', which is no node of it", "There are: a, b"),
    (G + "  edges: [[a, b, a]]\n", 6, "graph.edges[0]", "two names, from and to, not 3", ""),
    (G + "  entry: a\n", 5, "graph.nodes.b", "nothing leads to 'b'", "add an edge"),
    (G + "  edges: [[a, b], [b, a]]\n", 4, "graph.max_node_executions", "nothing bounds the loop of 'a', 'b'", "Set"),
    (G + "  edges:\n    - {from: a, to: b, when: 'a.output <'}\n", 7, "graph.edges[0].when", "is no expression", ""),
    (G + "  edges:\n    - {from: a, to: b, when: 'x.visits < 2'}\n", 7, "graph.edges[0].when", "names 'x'", "are"),
    (G + "  max_node_execution: 3\n", 6, "graph.max_node_execution", "there is no key", "'max_node_executions'?"),
    (G + "  nodes.b: 3\n", 6, "graph.nodes.b", "there is no key", ""),
    (G.replace("b: reviewer", "b: {function: tools/m.py:s}"), 5, "graph.nodes.b.function", "no such file", "beside"),
    (G.replace("b: reviewer", "b: {function: send}"), 5, "graph.nodes.b.function", "names no function", "tools/"),
    ("run: g\ngraph: 5\n", 4, "graph", "must be a mapping, or a list of them", ""),
    ("run: g\ngraph: [5]\n", 4, "graph[0]", "must be a mapping", ""),
    ("run: g\ngraph: {name: writer, nodes: {a: writer}}\n", 4, "graph.name", "an agent is named 'writer' too", ""),
    ("run: g\nswarm: {agents: []}\n", 4, "swarm.agents", "at least 1 entry", ""),
    ("run: g\nswarm: {agents: [writer, writr]}\n", 4, "swarm.agents[1]", "swarm or graph 'writr'", "'writer'?"),
    ("run: g\nswarm: {agents: [writer], entry: x}\n", 4, "swarm.entry", "the entry 'x' is none", "There are: writer"),
    ("run: g\nswarm: {agents: [g]}\n", 4, "swarm.agents[0]", "cannot be inside itself: 'g' in 'g'", ""),
    ("run: x\nswarm: {name: g, agents: [writer]}\n", 3, "run", "no agent, swarm or graph 'x'", "There are:"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "field", "problem", "hint"), FAULTS, ids=lambda value: str(value)[:40])
def test_each_fault_has_its_place(text: str, line: int, field: str, problem: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    error = caught.value
    assert not isinstance(error, ConfigErrors), str(error)
    assert (error.file, error.line, error.field) == ("s.yaml", line, field), str(error)
    assert problem in error.problem
    assert hint in error.hint


def test_a_tool_with_the_name_of_a_swarms_own_is_refused(here: Path) -> None:
    (here / "tools/mail.py").write_text("def handoff_to_agent(): ...\n")
    (here / "reviewer.md").write_text("---\nname: reviewer\ntools: [tools/mail.py:handoff_to_agent]\n---\n")
    with pytest.raises(ConfigError, match=r"s\.yaml:4: swarm\.agents\[1\]: .*'reviewer' has a tool named 'handoff_to"):
        load("run: g\nswarm: {agents: [writer, reviewer]}\n")


def test_patterns_inside_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"graph\.nodes\.a: a pattern cannot be inside itself: 's' in 'g' in 's'"):
        load("run: g\nswarm: {name: s, agents: [g]}\ngraph: {nodes: {a: s}}\n")


def test_the_faults_of_patterns_and_of_the_rest_are_told_together() -> None:
    with pytest.raises(ConfigErrors) as caught:
        load("run: g\nsesion: x\ngraph: {nodes: {a: writer}, entry: b}\nswarm: {name: s, agents: [writer], entry: c}\n")
    assert [error.field for error in caught.value.errors] == ["sesion", "graph.entry", "swarm.entry"]


def test_a_graph_of_a_wrong_shape_has_its_other_faults_told_as_well() -> None:
    text = G.replace("b: reviewer", "b: reviwer, c: {function: tools/gone.py:f}") + "  edges: [[a, b], [b, a]]\n"
    with pytest.raises(ConfigErrors) as caught:
        load(text + "  entry: a\n")
    assert [(error.line, error.field) for error in caught.value.errors] == [
        *((5, "graph.nodes.c"), (5, "graph.nodes.c.function"), (5, "graph.nodes.b")),
    ]


def test_a_faulty_graph_can_still_be_drawn() -> None:
    Path("s.yaml").write_text(HEAD + G + "  edges: [[a, b], [b, a], [a, gone]]\n")
    found, (fault,) = load_drawings("s.yaml", environment={})
    (drawn,) = found.runnables
    assert drawn.name == "g"
    assert (fault.line, fault.field) == (6, "graph.edges[2].to")
    inside = G.replace("b: reviewer", "b: s") + "  entry: a\nswarm: {name: s, agents: [writer]}\n"
    Path("s.yaml").write_text(HEAD + inside)
    swarm, graph = load_drawings("s.yaml", environment={})[0].runnables
    assert isinstance(graph, GraphDraft)
    assert graph.nodes["b"].run == swarm
    Path("s.yaml").write_text(HEAD + GRAPH)
    found, faults = load_drawings("s.yaml", environment={})
    loaded = load_scenario("s.yaml", environment={})
    assert (found.runnables, found.agents, faults) == (loaded.patterns, loaded.taking_part, ())


@pytest.mark.parametrize(
    ("expect", "problem"),
    [("{outputs: [a, b]}", "there are 2 outputs for 1 turns"), ("{blocks: {human: [x]}}", "have no block 'human'")],
)
def test_expectations_of_a_pattern_are_checked(expect: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load(GRAPH + f"expect: {expect}\n")
    assert load(GRAPH + "expect: {outputs: [null]}\n").scenario.expect.outputs == (None,)
