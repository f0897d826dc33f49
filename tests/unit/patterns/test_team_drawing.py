"""Drawings of swarms and of agents that use others as tools."""

from __future__ import annotations

from orchestra.core.agent import Agent
from orchestra.core.graph import Graph
from orchestra.core.swarm import Swarm
from orchestra.patterns.team_drawing import swarm_lines, swarm_mermaid, team_lines, team_mermaid

INNER = Graph("inner", nodes={"x": "y"})
DESK = Swarm(
    "desk",
    agents=[Agent(name="triage", description="Asks."), Agent(name="billing"), INNER],
    entry="billing",
    max_handoffs=3,
    execution_timeout=None,
)


def test_a_swarm_in_a_terminal_names_who_may_hand_off_to_whom_and_what_bounds_it() -> None:
    assert swarm_lines(DESK) == (
        "desk\n\n"
        "  - triage  Asks.\n      -> everyone\n"
        "  * billing\n      -> everyone\n"
        "  - inner  (graph)\n\n"
        "at most 3 handoffs, 20 visits, 300 s a visit\n"
    )


def test_a_swarm_as_mermaid_has_one_arrow_for_each_pair() -> None:
    assert swarm_mermaid(DESK) == (
        'flowchart TD\n    n0["triage"]\n    n1["billing"]\n    n2["inner"]\n'
        "    n0 <--> n1\n    n0 --> n2\n    n1 --> n2\n"
        "    classDef start stroke-width:2px\n    class n1 start\n"
    )


LEAD = Agent(name="lead", description="Leads.", tools=["agent:reader", "tools.py:look", "agent:checker"])
READER = Agent(name="reader", description='Reads "all".', tools=["agent:lead"])


def test_an_agent_with_those_that_it_uses() -> None:
    agents = {"lead": LEAD, "reader": READER}
    assert team_lines(LEAD, agents) == ('lead: Leads.\n├─ reader: Reads "all".\n│  └─ lead: Leads.\n└─ checker\n')
    assert team_mermaid(LEAD, agents) == (
        'flowchart TD\n    n0["lead"]\n    n1["reader"]\n    n2["checker"]\n'
        "    n0 -->|uses| n1\n    n0 -->|uses| n2\n    n1 -->|uses| n0\n"
    )
