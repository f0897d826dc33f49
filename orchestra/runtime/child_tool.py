"""A runnable as a tool on a host: what the model sees of it, and what its arguments mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestra.core.agent_tool import AgentTool, ChildMemory
from orchestra.core.errors import InputError, ToolError
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import ToolSpec
from orchestra.runtime.function_ref import FunctionTable, Ref, load
from orchestra.runtime.output_type import OutputType
from orchestra.runtime.tool import Tool, faults
from orchestra.runtime.tool_context import ToolContext


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: str = Field(description="What the agent is to do, with all that it needs to know.")


class ChildTool(Tool):
    """An agent, swarm or graph as a tool. It may be started again: its own run knows what of it was done."""

    def __init__(
        self, name: str, *, target: str, description: str, memory: ChildMemory, input_type: InputType | None = None
    ) -> None:
        super().__init__(_never, name=name, description=description, idempotent=True)
        self.target, self.memory, self._input = target, memory, input_type

    @cached_property
    def spec(self) -> ToolSpec:
        """One text goes in, or what the agent's ``input_type`` says."""
        if self._input is not None:
            return ToolSpec(self.name, self.description, self._input.schema)
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {"input": {"type": "string", "description": _Input.model_fields["input"].description}},
            "required": ["input"],
            "additionalProperties": False,
        }
        return ToolSpec(self.name, self.description, schema)

    def messages(self, arguments: Mapping[str, Json]) -> tuple[Message, ...]:
        """The child's input. Raises :class:`ToolError` for arguments that do not fit."""
        if self._input is not None:
            try:
                return (Message("user", dumps(self._input.parsed(dumps(dict(arguments))))),)
            except ValueError as error:
                raise ToolError(f"arguments of {self.name}: {error}") from None
        try:
            return (Message("user", _Input.model_validate(dict(arguments), strict=True).input),)
        except ValidationError as error:
            raise ToolError(f"arguments of {self.name}: {faults(error)}") from None

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> str:
        """Its run is made by the turn, which knows the run above it."""
        raise ToolError(f"{self.name} is an agent, which only a run can call")


class InputType(OutputType):
    """What callers fill in: a type whose schema is that of an object."""

    def __init__(self, agent: str, type_: object) -> None:
        """Raises :class:`InputError` when it is no such type."""
        super().__init__(agent, type_)
        if self.schema.get("type") != "object":
            raise InputError(f"agent {agent!r}: input_type {type_!r} must be a type with fields, such as a model")


def pack_child(tool: AgentTool, known: Mapping[str, Mapping[str, Json]]) -> Ref:
    """What a definition keeps of it. ``known`` says, by name, what other definitions tell of themselves."""
    said = known.get(tool.target, {})
    text, input_type = tool.description or str(said.get("description") or ""), said.get("input_type")
    more = {"input_type": dumps(input_type)} if input_type else {}
    return {"agent": tool.target, "tool": tool.name, "description": text, "memory": tool.memory, **more}


def child_from(ref: Ref, table: FunctionTable) -> ChildTool:
    """The inverse of :func:`pack_child`. Raises :class:`FunctionUnavailable` for the type of its input."""
    memory: ChildMemory = "session" if ref["memory"] == "session" else "fresh"
    wanted = ref.get("input_type")
    input_type = None if wanted is None else InputType(ref["agent"], load(loads(wanted), table))
    return ChildTool(
        ref["tool"], target=ref["agent"], description=ref["description"], memory=memory, input_type=input_type
    )


def _never() -> None:
    """Nobody calls it: its run is made by the turn."""
