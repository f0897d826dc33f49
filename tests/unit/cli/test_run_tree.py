"""A run's tree over recorded events, and its lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from orchestra.cli.run_tree import RunTree
from orchestra.cli.tree_lines import tree_lines
from orchestra.core.events import (
    HandedOff,
    Interrupted,
    ModelReplied,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunEvent,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from orchestra.core.interrupts import InterruptView
from orchestra.core.model import Usage
from orchestra.core.result import RunResult


def tree(events: Iterable[RunEvent], *, agent: str = "lead") -> RunTree:
    now = iter(range(1000))
    made = RunTree("r", agent, clock=lambda: next(now) / 100)
    for event in events:
        made.add(event)
    return made


def drawn(made: RunTree, width: int = 80) -> list[str]:
    return [line.plain for line in tree_lines(made.root, width, seconds=lambda item: item.seconds or 0.5)]


def replied(run: str, agent: str, tokens: int, *path: str) -> ModelReplied:
    return ModelReplied(run_id=run, agent=agent, path=path, call_number=0, usage=Usage(input_tokens=tokens))


def started(run: str, agent: str, *path: str) -> RunStarted:
    return RunStarted(run_id=run, agent=agent, path=path, session_id="s", turn=1)


RESEARCH: list[RunEvent] = [
    started("r", "lead"),
    replied("r", "lead", 10),
    *(
        ToolStarted(run_id="r", agent="lead", call_id=f"c{i}", tool="reader", arguments={"input": f"part {i}"})
        for i in range(2)
    ),
    started("r.0.1", "reader", "reader"),  # the second call's agent starts first
    started("r.0.0", "reader", "reader"),
    replied("r.0.0", "reader", 5, "reader"),
    TextDelta(run_id="r.0.1", agent="reader", path=("reader",), text="Looking for it"),
    ToolStarted(run_id="r.0.0", agent="reader", path=("reader",), call_id="x", tool="look", arguments={"a": 1}),
    ToolEnded(run_id="r.0.0", agent="reader", path=("reader",), call_id="x", tool="look", content="found\n  it"),
    ToolEnded(run_id="r", agent="lead", call_id="c0", tool="reader", content="answer 0"),
]


def test_agents_as_tools_hang_below_the_call_that_they_answer() -> None:
    made = tree(RESEARCH)
    assert made.branched
    assert [line.split("  ")[0] for line in drawn(made)] == ["● lead", "├─ ✓ reader", "│", "└─ ● reader"]
    first, second = made.root.items
    assert (first.given, first.note, first.tokens) == ("input=part 0", "answer 0", 5)
    assert (second.given, second.said, second.status) == ("input=part 1", "Looking for it", "running")
    assert "│  └─ ✓ look(a=1)  found it" in drawn(made)
    assert made.root.tokens == 15


GRAPH: list[RunEvent] = [
    started("r", "report"),
    NodeStarted(run_id="r", agent="report", node="sales", runs="sum_up"),
    NodeStarted(run_id="r", agent="report", node="draft", runs="writer"),
    started("r.draft#1", "writer", "draft"),
    replied("r.draft#1", "writer", 1200, "draft"),
    NodeEnded(run_id="r", agent="report", node="sales", text="3 lines", seconds=0.25),
    NodeEnded(run_id="r", agent="report", node="draft", text="A draft.", seconds=1.5),
    NodeStarted(run_id="r", agent="report", node="draft", visit=2, runs="writer"),
    NodeEnded(run_id="r", agent="report", node="draft", visit=2, status="failed", error="too\nlong", seconds=2.0),
]


def test_nodes_are_lines_with_visits_times_and_tokens() -> None:
    assert drawn(tree(GRAPH, agent="report")) == [
        "● report  0.50 s, 1,200 tokens",
        "├─ ✓ sales (sum_up)  0.25 s  3 lines",
        "├─ ✓ draft (writer)  1.50 s, 1,200 tokens  A draft.",
        "└─ ✗ draft, visit 2 (writer)  2.00 s  too long",
    ]


def test_no_line_is_wider_than_the_screen() -> None:
    made = tree([*GRAPH, NodeEnded(run_id="r", agent="report", node="sales", text="x" * 500)], agent="report")
    assert max(len(line) for line in drawn(made, 40)) == 40
    assert any(line.endswith("x…") for line in drawn(made, 40))


def test_the_end_of_the_run_ends_what_was_still_running() -> None:
    result = RunResult(run_id="r", status="limit", reason="execution_timeout")
    made = tree([*GRAPH[:4], RunEnded(run_id="r", agent="report", result=result)], agent="report")
    assert [item.status for item in made.root.walk()] == ["limit", "cancelled", "cancelled"]
    assert "execution_timeout" in drawn(made)[0]


def test_what_waits_for_an_answer_is_marked() -> None:
    asked = InterruptView("i", "approval", "'send' needs an approval", node="send")
    made = tree([*GRAPH, Interrupted(run_id="r", agent="report", interrupt=asked)], agent="report")
    assert drawn(made)[-1].startswith("└─ ? send")
    assert "waits for an answer" in drawn(made)[-1]
    in_tool = InterruptView("i", "approval", tool="look")
    made = tree(
        [
            *RESEARCH[:8],
            ToolStarted(run_id="r.0.0", agent="reader", path=("reader",), call_id="x", tool="look"),
            Interrupted(run_id="r", agent="lead", interrupt=in_tool),  # as the outermost run tells it
            replied("r.0.0", "reader", 5, "reader"),  # told again when the run goes on
        ]
    )
    assert len(made.root.items) == 2
    (look,) = made.root.items[0].items
    assert made.root.items[0].tokens == 5
    assert (look.label, look.status) == ("look", "interrupted")


def test_what_goes_on_after_an_answer_is_the_same_line() -> None:
    asked = InterruptView("i", "approval", "it needs one", node="send")
    waits = RunResult(run_id="r", status="interrupted", interrupts=(asked,))
    made = tree(
        [
            *GRAPH[:7],
            Interrupted(run_id="r", agent="report", interrupt=asked),
            RunEnded(run_id="r", agent="report", result=waits),
            started("r", "report"),
            NodeEnded(run_id="r", agent="report", node="sales", text="3 lines", replayed=True),
            NodeStarted(run_id="r", agent="report", node="send", runs="mail"),
            NodeEnded(run_id="r", agent="report", node="send", text="sent", seconds=0.1),
        ],
        agent="report",
    )
    assert drawn(made) == [
        "● report  0.50 s, 1,200 tokens",
        "├─ ✓ sales (sum_up)  0.25 s  3 lines",
        "├─ ✓ draft (writer)  1.50 s, 1,200 tokens  A draft.",
        "└─ ✓ send (mail)  0.10 s  sent",
    ]


def test_a_swarm_is_its_visits_with_the_handoffs_between_them() -> None:
    made = tree(
        [
            NodeStarted(run_id="r", agent="desk", node="triage", runs="triage"),
            ToolStarted(run_id="r.triage#1", agent="triage", path=("triage",), call_id="c", tool="handoff_to_agent"),
            ToolEnded(
                run_id="r.triage#1",
                agent="triage",
                path=("triage",),
                call_id="c",
                tool="handoff_to_agent",
                content="ok",
            ),
            NodeEnded(run_id="r", agent="desk", node="triage", seconds=0.1),
            HandedOff(run_id="r", agent="desk", source="triage", target="billing", message="An invoice."),
            NodeStarted(run_id="r", agent="desk", node="billing", runs="billing"),
        ],
        agent="desk",
    )
    assert drawn(made)[1:] == [
        "├─ ✓ triage  0.10 s",
        "├─ → billing  An invoice.",
        "└─ ● billing  0.50 s",
    ]


def test_a_large_map_is_one_line_and_those_that_failed() -> None:
    events: list[RunEvent] = []
    for i in range(30):
        events.append(NodeStarted(run_id="r", agent="g", node="look", item=i, runs="finder"))
        end = NodeEnded(run_id="r", agent="g", node="look", item=i, seconds=2.0)
        if i < 20:
            events.append(replace(end, status="failed", error="gone") if i == 7 else end)
    made = tree(events, agent="g")
    assert drawn(made)[1:] == [
        "├─ ● look  30 items: 19 completed, 1 failed, 10 running",
        "└─ ✗ look [8] (finder)  2.00 s  gone",
    ]
    assert len(drawn(tree(events[:8], agent="g"))) == 5


def test_one_agent_with_its_tools_is_not_branched() -> None:
    assert not tree([started("r", "lead"), ToolStarted(run_id="r", agent="lead", call_id="c", tool="look")]).branched
