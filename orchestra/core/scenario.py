"""The scenario file: agents, a conversation to play, and what is expected of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from orchestra.core.agent import Limits
from orchestra.core.cluster import ClusterConfig
from orchestra.core.graph import Graph
from orchestra.core.names import SESSION_CHARS
from orchestra.core.swarm import Swarm

PatternKind: TypeAlias = Literal["swarm", "graph"]
PATTERN_KINDS: tuple[PatternKind, ...] = ("swarm", "graph")


class Turn(BaseModel):
    """One line of a transcript. ``at`` is a date or a time that is shown, never computed with."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    content: str = Field(min_length=1)
    """What the user says."""
    role: Annotated[str, WithJsonSchema({"const": "user"})] = "user"
    """Always user: the agents' own answers are not part of a transcript."""
    at: str | None = None
    """When it was said. It is shown, never computed with."""

    @field_validator("role")
    @classmethod
    def _role(cls, role: str) -> str:
        if role != "user":
            raise ValueError(f"only what the user says is played, so the role must be user, not {role!r}")
        return role


class Expectation(BaseModel):
    """Checks after the play; a miss is exit code 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    passes_at: tuple[Annotated[int, Field(gt=0)], ...] | None = None
    """The turns after which a sleep-time pass must have been published, and no others."""
    outputs: tuple[str | None, ...] | None = None
    """For each turn a text that its answer must contain; null: any answer."""
    answers: tuple[str, ...] | None = None
    """For each question of follow_up, a text that its answer must contain."""
    blocks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """For a block's label, texts that it must hold at the end."""


def _listed(value: object) -> object:
    """One pattern as a list of one."""
    if isinstance(value, Mapping | Swarm | Graph):
        return (value,)
    if isinstance(value, list | tuple):
        return value
    raise ValueError("must be a mapping, or a list of them")


class Scenario(BaseModel):
    """A scenario. Paths are relative to the file.

    ``turns`` is a file of JSON lines or a list of texts. ``follow_up`` is what a second start plays. With ``drain`` the
    player waits for the passes that are due before it sends the next turn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    cluster: Path | ClusterConfig = ClusterConfig()
    """The cluster file, or what would stand in it; left out: this machine."""
    agents: tuple[Path, ...] = Field(min_length=1)
    """Agent files, relative to this file."""
    run: str
    """The name of the agent, swarm or graph that gets the turns."""
    swarm: Annotated[tuple[Swarm, ...], BeforeValidator(_listed, json_schema_input_type=Swarm | tuple[Swarm, ...])] = ()
    """A swarm, or a list of them: agents that hand one task to each other. Without a name it is what run names."""
    graph: Annotated[tuple[Graph, ...], BeforeValidator(_listed, json_schema_input_type=Graph | tuple[Graph, ...])] = ()
    """A graph, or a list of them: nodes and the edges between them. Without a name it is what run names."""
    session: str = Field(default="default", min_length=1, max_length=SESSION_CHARS)
    """The id of the session; {user} and {date} in it are filled in, and with {date} it is closed after its day."""
    user: str | None = Field(default=None, min_length=1)
    """The id of the user, for blocks of scope user."""
    invocation_state: dict[str, JsonValue] = Field(default_factory=dict)
    """Values for tools and hooks. They travel with the call, are never stored and never shown to a model."""
    turns: Path | tuple[str | Turn, ...]
    """A file of JSON lines with role, content and at, relative to this file; or a list of texts."""
    follow_up: tuple[str, ...] = ()
    """Questions that are asked afterwards, from memory."""
    drain: bool = True
    """Whether the player waits for the passes that are due before it sends the next turn."""
    limits: Limits | None = None
    """Limits of one run; they replace the agent's own."""
    expect: Expectation = Expectation()
    """What must hold after the play; a miss is exit code 1."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        found = {kind: named(value[kind], str(value.get("run"))) for kind in PATTERN_KINDS if kind in value}
        return {**value, **found}


def named(patterns: object, name: str) -> object:
    """What stands under ``swarm`` or ``graph``, in which a pattern without a name is called ``name``."""
    if isinstance(patterns, Mapping):
        return patterns if "name" in patterns else {"name": name, **patterns}
    return [named(one, name) for one in patterns] if isinstance(patterns, list) else patterns
