"""Definitions: what an agent is. The same fields in Python and in the front matter of ``agents/*.md``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator, model_validator

from orchestra.core.blocks import Block
from orchestra.core.model import Model
from orchestra.core.names import check_agent

OnBusy: TypeAlias = Literal["queue", "reject", "abandon"]
Persistence: TypeAlias = Literal["journal", "turn"]
RESERVED_TOOLS = frozenset({"handoff_to_agent"})


def _every(value: object) -> object:
    """``off`` means never; YAML reads it as false."""
    return None if value is False or value == "off" else value


def _seconds(value: object) -> object:
    """Seconds, or a number with ``s``, ``m``, ``h`` or ``d`` behind it."""
    if isinstance(value, str) and (found := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", value)):
        return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]
    return value


Seconds: TypeAlias = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]


class Limits(BaseModel):
    """Limits of one run, shared by its child calls. ``None`` means no limit. ``seconds`` is wall time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_calls: int | None = Field(default=100, gt=0)
    tool_calls: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    seconds: Seconds | None = None
    cost: float | None = Field(default=None, gt=0)


class Budget(BaseModel):
    """How many tokens the sleep-time agent may use; reaching it is a named skip."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens_per_session: int | None = Field(default=None, gt=0)
    tokens_per_day: int | None = Field(default=None, gt=0)


class Sleeptime(BaseModel):
    """How an agent's memory sleeps. A pass is due after every ``every`` completed turns of one session.

    ``blocks`` are the labels that the sleep-time agent tidies (default: all writable ones of the agent). A pass that
    works longer than ``timeout`` seconds loses its lease; after ``max_tries`` failures it is set aside with its error.
    ``max_tokens`` bounds the transcript of one pass; the rest follows in the next one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    every: Annotated[Annotated[int, Field(gt=0)] | None, BeforeValidator(_every)] = 5
    consolidator: Literal["auto", "llm", "extractive", "scripted"] = "auto"
    model: str | Model = "auto"
    blocks: tuple[str, ...] | None = None
    trigger: Literal["turns"] = "turns"
    persona: str = ""
    instructions: str = ""
    script: str | None = None
    max_steps: int = Field(default=20, gt=0)
    max_tokens: int = Field(default=16000, gt=0)
    max_tries: int = Field(default=3, gt=0)
    timeout: Seconds = 300.0
    budget: Budget = Budget()


class Conversation(BaseModel):
    """How the log becomes the prompt. ``safeguard`` keeps whole turns that fit; ``full`` warns that prompts grow."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategy: Literal["safeguard", "full"] = "safeguard"
    history_limit: int | None = Field(default=None, gt=0)


class Agent(BaseModel):
    """An agent.

    ``tools`` holds functions made by ``@tool``, plain functions, or references (``tools/weather.py:forecast``,
    ``package.module:function``). ``model`` is ``provider:name``, ``auto``, ``extractive``, ``scripted:FILE``, a list of
    these (the next one when one fails), or an object with the methods of :class:`orchestra.core.model.Model`.
    ``context_tokens`` may only lower the model's own window.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    name: str
    description: str = ""
    instructions: str = ""
    model: str | Model | tuple[str | Model, ...] = "auto"
    model_settings: dict[str, JsonValue] = Field(default_factory=dict)
    context_tokens: int | None = Field(default=None, gt=0)
    tools: tuple[str | Callable[..., object], ...] = ()
    memory_tools: bool = True
    blocks: tuple[Block, ...] = ()
    hooks: tuple[str | object, ...] = ()
    limits: Limits = Limits()
    persistence: Persistence = "journal"
    on_busy: OnBusy = "queue"
    conversation: Conversation = Conversation()
    sleeptime: Sleeptime | None = None

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        return check_agent(name)

    @model_validator(mode="after")
    def _labels(self) -> Agent:
        seen: set[str] = set()
        for block in self.blocks:
            if block.label in seen:
                raise ValueError(f"agent {self.name!r} declares two blocks labelled {block.label!r}")
            seen.add(block.label)
        for label in (self.sleeptime.blocks if self.sleeptime else None) or ():
            if label not in seen:
                raise ValueError(f"sleeptime.blocks names {label!r}, which agent {self.name!r} does not declare")
        return self
