"""Blocks: named pieces of text that always stand in the prompt of the agents they are attached to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from orchestra.core.names import check_label

Scope: TypeAlias = Literal["agent", "user", "session", "shared"]
Access: TypeAlias = Literal["read", "append", "write"]
DEFAULT_LIMIT = 5000


class Block(BaseModel):
    """A block as it is declared. ``limit`` counts characters (Unicode code points).

    ``scope`` says who shares it: ``agent`` one per agent, ``user`` one per ``user_id``, ``session`` one per session,
    ``shared`` one for all agents of the namespace that name its label. ``access`` is this agent's permission.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    label: str
    """A letter, then letters, digits, '_' and '-', at most 64."""
    value: str = ""
    """What stands in it at first."""
    limit: int = Field(default=DEFAULT_LIMIT, gt=0)
    """How many characters it may hold."""
    description: str = ""
    """What belongs in it. The agent reads this."""
    read_only: bool = False
    """Whether only a developer can change it."""
    scope: Scope = "agent"
    """Who shares it: one per agent, per user, per session, or one for all agents that name its label."""
    access: Access = "write"
    """What this agent may do with it."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """For programs; agents do not see it."""
    tags: tuple[str, ...] = ()
    """For finding blocks."""

    @field_validator("label")
    @classmethod
    def _label(cls, label: str) -> str:
        return check_label(label)

    @field_validator("tags")
    @classmethod
    def _tags(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tags))


class BlockView(BaseModel):
    """A block as it is stored.

    ``updated_at`` is Unix seconds on the server's clock; ``owner`` is the agent, user or session that it belongs to;
    ``born`` is a number that no other block ever had.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    label: str
    value: str
    limit: int
    description: str = ""
    read_only: bool = False
    scope: Scope = "agent"
    owner: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    version: int = 1
    updated_at: float = 0.0
    access: Access = "write"
    born: str = Field(default="", repr=False)

    @property
    def stamp(self) -> str:
        """What tells this version from every other, also of a block that was deleted and made again."""
        return f"{self.version}@{self.born}"
