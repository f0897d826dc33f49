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

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    value: str = ""
    limit: int = Field(default=DEFAULT_LIMIT, gt=0)
    description: str = ""
    read_only: bool = False
    scope: Scope = "agent"
    access: Access = "write"
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()

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

    ``updated_at`` is Unix seconds on the server's clock; ``owner`` is the agent, user or session that it belongs to.
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
