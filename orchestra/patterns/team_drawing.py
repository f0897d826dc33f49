"""Drawings of swarms, and of agents with the agents that they use as tools: Mermaid text and lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestra.core.agent import Agent
from orchestra.core.agent_tool import AgentTool
from orchestra.core.runnable import Pattern, Runnable, name_of
from orchestra.core.swarm import Swarm
from orchestra.patterns.drawing import quoted


def swarm_lines(swarm: Swarm) -> str:
    """A swarm as lines of text: its agents, whom each may hand off to, and what bounds a run."""
    lines = [swarm.name + (f": {swarm.description}" if swarm.description else ""), ""]
    for member in swarm.agents:
        mark = "*" if name_of(member) == swarm.first else "-"
        lines.append(f"  {mark} {'  '.join(part for part in (name_of(member), _kind(member), _about(member)) if part)}")
        targets = handoffs(swarm, member)
        if targets:
            everyone = len(targets) == len(swarm.agents) - 1 and len(targets) > 1
            lines.append(f"      -> {'everyone' if everyone else ', '.join(targets)}")
    bounds = [f"{swarm.max_handoffs} handoffs", f"{swarm.max_iterations} visits"]
    if swarm.execution_timeout is not None:
        bounds.append(f"{swarm.execution_timeout:g} s")
    if swarm.node_timeout is not None:
        bounds.append(f"{swarm.node_timeout:g} s a visit")
    return "\n".join([*lines, "", f"at most {', '.join(bounds)}"]) + "\n"


def swarm_mermaid(swarm: Swarm) -> str:
    """A swarm as a Mermaid flowchart, with an arrow for every handoff that may happen."""
    ids = {name: f"n{i}" for i, name in enumerate(swarm.names)}
    lines = ["flowchart TD", *(f'    {ids[name]}["{quoted(name)}"]' for name in swarm.names)]
    reach = {name_of(member): handoffs(swarm, member) for member in swarm.agents}
    for i, source in enumerate(swarm.names):
        for target in reach[source]:
            if source not in reach[target]:
                lines.append(f"    {ids[source]} --> {ids[target]}")
            elif target in swarm.names[i:]:
                lines.append(f"    {ids[source]} <--> {ids[target]}")
    return "\n".join([*lines, "    classDef start stroke-width:2px", f"    class {ids[swarm.first]} start"]) + "\n"


def handoffs(swarm: Swarm, member: Runnable | str) -> tuple[str, ...]:
    """To whom a member of a swarm may hand off; a swarm or graph inside it never does."""
    if isinstance(member, Pattern):
        return ()
    allowed: Sequence[str] | None = getattr(member, "handoffs", None)
    others = (name for name in swarm.names if name != name_of(member))
    return tuple(name for name in others if allowed is None or name in allowed)


def team_lines(agent: Agent, agents: Mapping[str, Agent]) -> str:
    """An agent and, below it, those of ``agents`` that it uses as tools."""
    head = agent.name + (f": {agent.description}" if agent.description else "")
    return "\n".join([head, *_below(agent, agents, "", (agent.name,))]) + "\n"


def team_mermaid(agent: Agent, agents: Mapping[str, Agent]) -> str:
    """The same as a Mermaid flowchart."""
    arrows: dict[tuple[str, str], None] = {}
    todo, seen = [agent], {agent.name: "n0"}
    while todo:
        one = todo.pop(0)
        for name in _used(one):
            arrows[one.name, name] = None
            if name not in seen:
                seen[name] = f"n{len(seen)}"
                todo += [agents[name]] if name in agents else []
    lines = ["flowchart TD", *(f'    {key}["{quoted(name)}"]' for name, key in seen.items())]
    return "\n".join([*lines, *(f"    {seen[a]} -->|uses| {seen[b]}" for a, b in arrows)]) + "\n"


def _below(agent: Agent, agents: Mapping[str, Agent], before: str, way: tuple[str, ...]) -> list[str]:
    used = _used(agent)
    out: list[str] = []
    for i, name in enumerate(used):
        last = i == len(used) - 1
        one = agents.get(name)
        about = f": {one.description}" if one is not None and one.description else ""
        out.append(f"{before}{'└─ ' if last else '├─ '}{name}{about}")
        if one is not None and name not in way:
            out += _below(one, agents, before + ("   " if last else "│  "), (*way, name))
    return out


def _used(agent: Agent) -> list[str]:
    tools = (AgentTool.of(tool) if isinstance(tool, str) else tool for tool in agent.tools)
    return [tool.target for tool in tools if isinstance(tool, AgentTool)]


def _kind(member: Runnable | str) -> str:
    if not isinstance(member, Pattern):
        return ""
    return "(swarm)" if isinstance(member, Swarm) else "(graph)"


def _about(member: Runnable | str) -> str:
    return "" if isinstance(member, str) else member.description
