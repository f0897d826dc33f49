"""Who gets the input of a run first: its agent, or those with which a swarm or graph begins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestra.core.errors import UnknownName
from orchestra.core.graph import Graph
from orchestra.core.runnable import name_of
from orchestra.core.swarm import Swarm
from orchestra.runtime.agent_lookup import AgentLookup
from orchestra.runtime.definition import Loaded
from orchestra.runtime.guardrails import RunGuardrails

if TYPE_CHECKING:
    from orchestra.runtime.serving import Serving


async def input_guardrails(serving: Serving, loaded: Loaded) -> list[RunGuardrails]:
    """Those that look at the input of this run, as they are registered now."""
    request, found = serving.request, list[RunGuardrails]()
    open_, seen = [(request.agent, loaded)], {request.agent}
    while open_:
        name, one = open_.pop(0)
        if one.guardrails.input:
            found.append(RunGuardrails(one.guardrails, request, serving.invocation_state, agent=name))
        for inner in _first(one):
            if inner not in seen:
                seen.add(inner)
                if (member := await _current(serving, inner)) is not None:
                    open_.append((inner, member))
    return found


def _first(loaded: Loaded) -> list[str]:
    """By whom the run of a pattern may begin. Who answered last is known to the thread only: it may be anybody."""
    pattern = loaded.pattern
    if isinstance(pattern, Swarm):
        names = pattern.names if pattern.start == "last" else (pattern.first,)
        return [name_of(pattern.members[name]) for name in names]
    if isinstance(pattern, Graph):
        nodes = (pattern.nodes[name] for name in pattern.shape.starts)
        return [name_of(node.run) for node in nodes if node.run is not None]
    return []


async def _current(serving: Serving, name: str) -> Loaded | None:
    """A definition as the server has it; ``None`` when there is none: then nothing of that name can run either."""
    cached = serving.host.caches.agents.get(name)
    if cached is not None and serving.checked.get(name) is cached:
        return cached.loaded
    try:
        return await AgentLookup(serving.host, replace(serving.request, agent=name)).current()
    except UnknownName:
        return None
