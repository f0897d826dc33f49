"""What swarms and graphs have in common as definitions, and what may stand inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, InstanceOf, field_validator
from pydantic.json_schema import SkipJsonSchema

from orchestra.core.agent import Agent, OnBusy, Persistence
from orchestra.core.agent_tool import AgentTool, ChildMemory
from orchestra.core.errors import UnknownName
from orchestra.core.names import check_agent

Memory: TypeAlias = Literal["fresh", "run", "session"]


class Positional(BaseModel):
    """A definition whose first fields, named by ``positional``, may also be given by position."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, use_attribute_docstrings=True)

    positional: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # each subclass tells type checkers its own parameters

        def __init__(self, *values, **fields):
            names = self.positional[: len(values)]
            if len(values) > len(self.positional):
                raise TypeError(f"{type(self).__name__} takes {len(self.positional)} values by position")
            if twice := [name for name in names if name in fields]:
                raise TypeError(f"{type(self).__name__} got {twice[0]!r} twice")
            super().__init__(**dict(zip(names, values, strict=False)), **fields)


def _name_left_out(schema: dict[str, Any]) -> None:
    """The schema is that of a scenario file, where a pattern without a name gets the one that the scenario runs."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "name"]


class Pattern(Positional):
    """A swarm or a graph: several runnables that work together on one input, on a thread of the pattern's own."""

    model_config = ConfigDict(json_schema_extra=_name_left_out)

    positional = ("name",)

    name: str
    """The pattern's name: 1 to 128 characters without '|' and line breaks."""
    description: str = ""
    """What it is for, in one sentence: what others read when they choose it."""
    hooks: tuple[str | SkipJsonSchema[object], ...] = ()
    """References such as hooks.py:audit; they see the pattern's run, its nodes and its handoffs."""
    persistence: Persistence = "journal"
    """journal: each finished node is kept, a killed run goes on after it. turn: the run starts again."""
    on_busy: OnBusy = "queue"
    """What happens to a new input while the session is busy."""

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return check_agent(name)

    def as_tool(
        self, name: str | None = None, description: str | None = None, *, memory: ChildMemory = "fresh"
    ) -> AgentTool:
        """This pattern as a tool of an agent; see :meth:`orchestra.core.agent.Agent.as_tool`."""
        return AgentTool(self, name or "", description or "", memory)


Runnable: TypeAlias = Agent | Pattern
Member: TypeAlias = str | SkipJsonSchema[InstanceOf[Agent]] | SkipJsonSchema[InstanceOf[Pattern]]
P = TypeVar("P", bound=Pattern)


def name_of(member: Agent | Pattern | str) -> str:
    """The name of a runnable, which may be given as that name."""
    return member if isinstance(member, str) else member.name


def member_named(name: str, known: Mapping[str, Runnable]) -> Runnable:
    """The runnable of that name. Raises :class:`UnknownName`, which lists those that there are."""
    if name not in known:
        raise UnknownName("runnable", name, tuple(known))
    return known[name]


def is_function(value: object) -> bool:
    """Whether ``value`` is a function for a node, and no definition."""
    return callable(value) and not isinstance(value, BaseModel | type)


Function: TypeAlias = Callable[..., object]
