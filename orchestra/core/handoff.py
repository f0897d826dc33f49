"""A handoff: the wish of a swarm's agent that another one goes on, and the tool with which it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestra.core.jsontext import Json, fault
from orchestra.core.messages import Message
from orchestra.core.model import ToolSpec
from orchestra.core.pickling import by_constructor

HANDOFF_TOOL = "handoff_to_agent"


@by_constructor
@dataclass(frozen=True, slots=True)
class Handoff:
    """An agent's wish that ``target`` goes on. ``context`` is what it leaves for the others, any JSON value."""

    target: str
    message: str
    context: Json = None

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return {"target": self.target, "message": self.message, "context": self.context}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Handoff:
        """The inverse of :meth:`to_json`."""
        return cls(str(value["target"]), str(value["message"]), value.get("context"))


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


def handoff_in(messages: Sequence[Message], *, agent: str, targets: Sequence[str]) -> Handoff | None:
    """The handoff with which a turn of ``agent`` ended, or ``None``: the first that was not refused."""
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].tool_calls), None)
    if last is None:
        return None
    taken = {message.tool_call_id for message in messages[last + 1 :] if not message.is_error}
    for call in messages[last].tool_calls:
        if call.name == HANDOFF_TOOL and call.id in taken:
            found = read_handoff(call.arguments, agent=agent, targets=targets)
            return found if isinstance(found, Handoff) else None
    return None
