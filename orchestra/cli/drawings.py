"""What there is to draw of a scenario file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestra.core.agent import Agent
from orchestra.core.errors import ConfigError
from orchestra.core.graph import GraphDraft
from orchestra.core.jsontext import Json
from orchestra.core.swarm import Swarm
from orchestra.patterns.drawing import mermaid, problems, terminal
from orchestra.patterns.team_drawing import handoffs, swarm_lines, swarm_mermaid, team_lines, team_mermaid
from orchestra.runtime.scenario_file import load_drawings


@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing, for a terminal and as Mermaid text. ``problems`` are sentences, ``arrows`` (from, to, label)."""

    name: str
    kind: Literal["agent", "swarm", "graph"]
    nodes: tuple[str, ...]
    arrows: tuple[tuple[str, str, str], ...]
    starts: tuple[str, ...]
    unreachable: tuple[str, ...]
    unbounded: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...]
    terminal: str
    mermaid: str

    def to_json(self) -> dict[str, Json]:
        """All of it."""
        arrows: list[Json] = [{"from": one, "to": other, "label": label} for one, other, label in self.arrows]
        lists: dict[str, Json] = {
            name: list(getattr(self, name)) for name in ("nodes", "starts", "unreachable", "problems")
        }
        unbounded: list[Json] = [list(loop) for loop in self.unbounded]
        return {
            "name": self.name,
            "kind": self.kind,
            **lists,
            "edges": arrows,
            "unbounded": unbounded,
            "terminal": self.terminal,
            "mermaid": self.mermaid,
        }


def drawings(path: Path) -> tuple[tuple[Drawing, ...], Sequence[ConfigError]]:
    """The drawings of a scenario, what it runs first, and what is wrong with the file.

    Raises:
        ConfigError: the file cannot be read at all.
    """
    found, faults = load_drawings(path)
    return tuple(_drawing(one, found.agents) for one in found.runnables), faults


def _drawing(one: Agent | Swarm | GraphDraft, agents: Sequence[Agent]) -> Drawing:
    if isinstance(one, Swarm):
        arrows = tuple((name, to, "") for name, member in one.members.items() for to in handoffs(one, member))
        drawn = swarm_lines(one), swarm_mermaid(one)
        return Drawing(one.name, "swarm", one.names, arrows, (one.first,), (), (), (), *drawn)
    if isinstance(one, Agent):
        known = {agent.name: agent for agent in agents}
        drawn = team_lines(one, known), team_mermaid(one, known)
        return Drawing(one.name, "agent", tuple(known), (), (one.name,), (), (), (), *drawn)
    shape = one.shape
    arrows = tuple((arc.source, arc.target, arc.label) for arc in shape.arcs)
    drawn = terminal(one), mermaid(one)
    about = shape.starts, shape.unreachable, shape.unbounded, problems(one)
    return Drawing(one.name, "graph", tuple(one.nodes), arrows, *about, *drawn)
