"""A runnable as a tool on a host: what the model sees of it, and what its arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestra.core.agent_tool import AgentTool, ChildMemory
from orchestra.core.errors import ToolError
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.core.model import ToolSpec
from orchestra.runtime.function_ref import Ref
from orchestra.runtime.tool import Tool, faults
from orchestra.runtime.tool_context import ToolContext


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: str = Field(description="What the agent is to do, with all that it needs to know.")


class ChildTool(Tool):
    """An agent, swarm or graph as a tool. It may be started again: its own run knows what of it was done."""

    def __init__(self, name: str, *, target: str, description: str, memory: ChildMemory) -> None:
        super().__init__(_never, name=name, description=description, idempotent=True)
        self.target, self.memory = target, memory

    @cached_property
    def spec(self) -> ToolSpec:
        """One text goes in."""
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {"input": {"type": "string", "description": _Input.model_fields["input"].description}},
            "required": ["input"],
            "additionalProperties": False,
        }
        return ToolSpec(self.name, self.description, schema)

    def messages(self, arguments: Mapping[str, Json]) -> tuple[Message, ...]:
        """The child's input. Raises :class:`ToolError` for arguments that do not fit."""
        try:
            return (Message("user", _Input.model_validate(dict(arguments), strict=True).input),)
        except ValidationError as error:
            raise ToolError(f"arguments of {self.name}: {faults(error)}") from None

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> str:
        """Its run is made by the turn, which knows the run above it."""
        raise ToolError(f"{self.name} is an agent, which only a run can call")


def pack_child(tool: AgentTool, descriptions: Mapping[str, str]) -> Ref:
    """What a definition keeps of it."""
    text = tool.description or descriptions.get(tool.target, "")
    return {"agent": tool.target, "tool": tool.name, "description": text, "memory": tool.memory}


def child_from(ref: Ref) -> ChildTool:
    """The inverse of :func:`pack_child`."""
    memory: ChildMemory = "session" if ref["memory"] == "session" else "fresh"
    return ChildTool(ref["tool"], target=ref["agent"], description=ref["description"], memory=memory)


def _never() -> None:
    """Nobody calls it: its run is made by the turn."""
