"""The scenario file: agents, a conversation to play, and what is expected of it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from orchestra.core.agent import Limits
from orchestra.core.cluster import ClusterConfig


class Turn(BaseModel):
    """One line of a transcript. ``at`` is a date or a time that is shown, never computed with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str
    role: str = "user"
    at: str | None = None


class Expectation(BaseModel):
    """Checks after the play; a miss is exit code 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    passes_at: tuple[int, ...] | None = None
    answers: tuple[str, ...] | None = None
    blocks: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class Scenario(BaseModel):
    """A scenario. Paths are relative to the file.

    ``turns`` is a file of JSON lines or a list of texts. ``follow_up`` is what a second start plays. With ``drain`` the
    player waits for the passes that are due before it sends the next turn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cluster: Path | ClusterConfig = ClusterConfig()
    agents: tuple[Path, ...] = Field(min_length=1)
    run: str
    session: str = "default"
    user: str | None = None
    invocation_state: dict[str, JsonValue] = Field(default_factory=dict)
    turns: Path | tuple[str | Turn, ...]
    follow_up: tuple[str, ...] = ()
    drain: bool = True
    limits: Limits | None = None
    expect: Expectation = Expectation()
