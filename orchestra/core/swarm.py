"""Definitions of swarms: agents that hand one task to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field, model_validator

from orchestra.core.agent import RESERVED_TOOLS, Agent, OnBusy, Persistence
from orchestra.core.document import nearest
from orchestra.core.durations import Seconds
from orchestra.core.errors import ConfigError
from orchestra.core.runnable import Member, Memory, Pattern, Runnable, member_named, name_of

Start: TypeAlias = Literal["entry", "last"]


class Swarm(Pattern):
    """A swarm: ``Swarm("desk", agents=[triage, billing], entry="triage")``.

    The limits count what they say: ``max_handoffs=1`` lets one handoff happen and its target run. Of the last
    ``repetitive_window`` visits at least ``repetitive_min_unique`` must be of different agents, else the run stops
    before the next one. ``knowledge_chars`` bounds, in characters, what the agents left for each other.

    Raises (inside pydantic's error, as :class:`ConfigError`): two agents of one name, an unknown entry or handoff, a
    tool of an agent with a reserved name; each names the culprit.
    """

    agents: tuple[Member, ...] = Field(min_length=1)
    """The names of its agents (or of swarms and graphs, which answer and never hand off)."""
    entry: str | None = None
    """The agent that gets the input; left out: the first."""
    start: Start = "entry"
    """entry: every input goes to the entry. last: to whom answered the session's last one."""
    memory: Memory = "run"
    """What an agent that is visited again remembers of itself: fresh nothing, run this run, session the session."""
    max_handoffs: int = Field(default=20, ge=0)
    """How many handoffs may happen."""
    max_iterations: int = Field(default=20, gt=0)
    """How many visits of agents there may be."""
    execution_timeout: Seconds | None = 900.0
    """How long a run may take."""
    node_timeout: Seconds | None = 300.0
    """How long one visit may take."""
    repetitive_window: int = Field(default=0, ge=0)
    """How many of the last visits are looked at for repetition; 0: none."""
    repetitive_min_unique: int = Field(default=0, ge=0)
    """How many different agents must be among them."""
    knowledge_chars: int = Field(default=16000, ge=500)
    """How many characters of what agents left for each other are shown; the oldest is shortened first."""

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            *,
            agents: Sequence[Runnable | str],
            entry: str | None = None,
            start: Start = "entry",
            memory: Memory = "run",
            max_handoffs: int = 20,
            max_iterations: int = 20,
            execution_timeout: float | str | None = 900.0,
            node_timeout: float | str | None = 300.0,
            repetitive_window: int = 0,
            repetitive_min_unique: int = 0,
            knowledge_chars: int = 16000,
            description: str = "",
            hooks: Sequence[object] = (),
            persistence: Persistence = "journal",
            on_busy: OnBusy = "queue",
        ) -> None: ...

    @model_validator(mode="after")
    def _checked(self) -> Swarm:
        names = self.names
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ConfigError(f"swarm {self.name!r} has two agents named {name!r}", field=f"agents[{i}]")
        if self.entry is not None and self.entry not in names:
            hint = nearest(self.entry, names) or f"There are: {', '.join(names)}"
            problem = f"swarm {self.name!r}: the entry {self.entry!r} is none of its agents"
            raise ConfigError(problem, field="entry", hint=hint)
        for i, member in enumerate(self.agents):
            if isinstance(member, Agent):
                check_reserved_tools(self.name, member, field=f"agents[{i}]")
                check_handoffs(self.name, member.name, member.handoffs, names, field=f"agents[{i}].handoffs")
        window, unique = self.repetitive_window, self.repetitive_min_unique
        if bool(window) != bool(unique) or unique > window:
            raise ConfigError(
                f"of {window} visits at least {unique} different agents cannot be asked for",
                field="repetitive_min_unique",
                hint="Set repetitive_window and, at most as large, repetitive_min_unique",
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its agents, in declared order."""
        return tuple(name_of(member) for member in self.agents)

    @property
    def first(self) -> str:
        """The agent that gets the input."""
        return self.entry or self.names[0]

    @property
    def members(self) -> Mapping[str, Runnable | str]:
        """The agents by name."""
        return {name_of(member): member for member in self.agents}

    def with_members(self, known: Mapping[str, Runnable]) -> Swarm:
        """The same swarm with runnables in place of their names, checked again. Raises :class:`UnknownName`."""
        agents = [member_named(member, known) if isinstance(member, str) else member for member in self.agents]
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Swarm.model_validate({**fields, "agents": agents})


def check_handoffs(
    swarm: str, agent: str, handoffs: Sequence[str] | None, names: Sequence[str], *, field: str = "agents"
) -> None:
    """Raise :class:`ConfigError` when ``agent`` may hand off to somebody who is not there."""
    for target in handoffs or ():
        if target not in names:
            hint = nearest(target, names) or f"There are: {', '.join(names)}"
            problem = f"swarm {swarm!r}: agent {agent!r} may hand off to {target!r}, which is none of its agents"
            raise ConfigError(problem, field=field, hint=hint)


def check_reserved_tools(swarm: str, agent: Agent, *, field: str = "agents") -> None:
    """Raise :class:`ConfigError` when a tool of ``agent`` has a name that swarms give to tools of their own."""
    for tool in agent.tools:
        name = tool.rpartition(":")[2] if isinstance(tool, str) else getattr(tool, "name", "")
        name = name or getattr(tool, "__name__", "")
        if name in RESERVED_TOOLS:
            problem = f"swarm {swarm!r}: agent {agent.name!r} has a tool named {name!r}, which swarms use themselves"
            raise ConfigError(problem, field=field, hint="Give it another name")
