"""What the runtime asks of a model, and what it gets: one protocol for every provider, built-in and test double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
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
        return Usage(  # written out: it is called several times in a node
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.model_calls + other.model_calls,
            self.tool_calls + other.tool_calls,
        )

    def __sub__(self, other: Usage) -> Usage:
        """What is left without ``other``."""
        return Usage(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))

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
class ServerConversation:
    """A conversation that the provider keeps: what was said before is there, under one of two names.

    ``conversation_id`` names the conversation for ever; ``previous_response_id`` names the reply to go on from. With
    neither, a conversation begins that the id of its first reply will name. Never both.
    """

    conversation_id: str | None = None
    previous_response_id: str | None = None

    @property
    def chained(self) -> bool:
        """Whether each call names the reply before it."""
        return self.conversation_id is None

    def after(self, response_id: str) -> ServerConversation:
        """The conversation after that reply."""
        return replace(self, previous_response_id=response_id) if self.chained else self

    def to_json(self) -> dict[str, Json]:
        """Both names."""
        return {"conversation_id": self.conversation_id, "previous_response_id": self.previous_response_id}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> ServerConversation:
        """The inverse of :meth:`to_json`."""
        return cls(value.get("conversation_id"), value.get("previous_response_id"))  # type: ignore[arg-type]


@by_constructor
@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. ``messages`` starts with the system message (blocks and instructions), when there is one.

    ``call_number`` counts the model calls that were made before this one in this thread and run, from 0: a scripted
    model answers by it, so a second host gives the same reply. ``output_schema`` asks for JSON of that schema. With a
    ``conversation``, which only a model that :func:`keeps_conversations` gets, ``messages`` are the system message and
    what the provider does not have yet: the new input, or the results of the calls of the reply before.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    output_schema: Mapping[str, Json] | None = None
    call_number: int = 0
    conversation: ServerConversation | None = None


FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error"]


@by_constructor
@dataclass(frozen=True, slots=True)
class ModelReply:
    """One complete reply: an assistant message, its usage, and why the model stopped.

    ``response_id`` is the provider's name of the reply, where it gives one: a conversation can go on from it.
    """

    message: Message
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    model: str = ""
    response_id: str = ""

    def to_json(self) -> dict[str, Json]:
        """As the journal keeps it."""
        return {
            "message": self.message.to_json(),
            "usage": self.usage.to_json(),
            "finish_reason": self.finish_reason,
            "model": self.model,
            "response_id": self.response_id,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> ModelReply:
        """The inverse of :meth:`to_json`; a journal of an earlier version has no ``response_id``."""
        return cls(
            Message.from_json(value["message"]),
            Usage.from_json(value.get("usage") or {}),  # type: ignore[arg-type]
            value.get("finish_reason", "stop"),  # type: ignore[arg-type]
            str(value.get("model", "")),
            str(value.get("response_id", "")),
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
    One whose provider keeps conversations says so by an attribute ``keeps_conversations = True``: it then heeds
    ``request.conversation`` and gives every reply a ``response_id``.
    """

    @property
    def name(self) -> str:
        """``provider:name``, as shown to people."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """Answer ``request``."""


def keeps_conversations(model: Model) -> bool:
    """Whether ``model`` can go on with a conversation that its provider keeps; only those that say so."""
    return bool(getattr(model, "keeps_conversations", False))
