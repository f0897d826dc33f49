"""The tool with which an agent of a swarm hands its task to another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestra.core.jsontext import Json, fault
from orchestra.core.model import ToolSpec
from orchestra.core.swarm import Swarm
from orchestra.patterns.visits import Handoff

HANDOFF_TOOL = "handoff_to_agent"


def targets_of(swarm: Swarm, agent: str) -> dict[str, str]:
    """Whom ``agent`` may hand off to, with their descriptions, in declared order: its ``handoffs``, else all others."""
    allowed = getattr(swarm.members[agent], "handoffs", None)
    return {
        name: "" if isinstance(member, str) else member.description
        for name, member in swarm.members.items()
        if name != agent and (allowed is None or name in allowed)
    }


def handoff_spec(targets: Mapping[str, str]) -> ToolSpec:
    """The tool as the model sees it. It is given only where there is somebody to hand off to."""
    others = "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in targets.items())
    context: dict[str, Json] = {
        "type": "object",
        "description": "What you found out and the others should know, by name. It is kept for all agents.",
        "additionalProperties": True,
    }
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {
            "agent_name": {"type": "string", "enum": list(targets), "description": "Who goes on."},
            "message": {"type": "string", "description": "What the other agent is to do, with all that it needs."},
            "context": context,
        },
        "required": ["agent_name", "message"],
        "additionalProperties": False,
    }
    text = f"Hand the task to another agent and end your turn. The agents are:\n{others}"
    return ToolSpec(HANDOFF_TOOL, text, parameters)


def read_handoff(arguments: Mapping[str, Json], *, agent: str, targets: Sequence[str]) -> Handoff | str:
    """The handoff that ``arguments`` ask for, or the text of the error result that the model gets."""
    others = ", ".join(targets) or "none"
    name, message = arguments.get("agent_name"), arguments.get("message")
    if name == agent:
        return f"You are {agent!r}: hand off to another agent ({others}), or answer yourself."
    if not isinstance(name, str) or name not in targets:
        return f"There is no agent {name!r} to hand off to. The agents are: {others}."
    if not isinstance(message, str) or not message.strip():
        return "message must be a text that tells the other agent what to do."
    if unknown := sorted(set(arguments) - {"agent_name", "message", "context"}):
        return f"There is no argument {unknown[0]!r}; there are agent_name, message and context."
    context = arguments.get("context")
    if (bad := fault(context, "context")) is not None:
        return f"{bad[0]}: {bad[1]}"
    return Handoff(name, message, context)


def second_handoff(first: Handoff) -> str:
    """The text of the error result for another handoff in the same turn."""
    return f"You already hand off to {first.target!r} in this turn; only the first handoff counts."
