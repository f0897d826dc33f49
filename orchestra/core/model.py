"""What the runtime asks of a model, and what it gets: one protocol for every provider, built-in and test double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.core.pickling import by_constructor


@by_constructor
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of model calls, as the provider reports them (or the estimate when it reports none)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum of both."""
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def to_json(self) -> dict[str, Json]:
        """All counters."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Usage:
        """The counters of ``value``; absent ones are 0."""
        return cls(**{name: int(value.get(name) or 0) for name in cls.__slots__})  # type: ignore[arg-type]


@by_constructor
@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@by_constructor
@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. ``messages`` starts with the system message (blocks and instructions), when there is one.

    ``call_number`` counts the model calls that were made before this one in this thread and run, from 0: a scripted
    model answers by it, so a second host gives the same reply. ``output_schema`` asks for JSON of that schema.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    output_schema: Mapping[str, Json] | None = None
    call_number: int = 0


FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error"]


@by_constructor
@dataclass(frozen=True, slots=True)
class ModelReply:
    """One complete reply: an assistant message, its usage, and why the model stopped."""

    message: Message
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    model: str = ""

    def to_json(self) -> dict[str, Json]:
        """As the journal keeps it."""
        return {
            "message": self.message.to_json(),
            "usage": self.usage.to_json(),
            "finish_reason": self.finish_reason,
            "model": self.model,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> ModelReply:
        """The inverse of :meth:`to_json`."""
        return cls(
            Message.from_json(value["message"]),
            Usage.from_json(value.get("usage") or {}),  # type: ignore[arg-type]
            value.get("finish_reason", "stop"),  # type: ignore[arg-type]
            str(value.get("model", "")),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text (or of reasoning) as it arrives."""

    text: str
    kind: Literal["text", "reasoning"] = "text"


@runtime_checkable
class Model(Protocol):
    """A model. One method: deltas as they come, then exactly one :class:`ModelReply`.

    Errors are of :class:`orchestra.core.errors.ModelError`; ``retryable`` ones may be tried again or on a fallback.
    """

    @property
    def name(self) -> str:
        """``provider:name``, as shown to people."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """Answer ``request``."""
