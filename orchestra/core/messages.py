"""Messages: what a log holds and what a model is sent.

As JSON a message has the shape of the chat-completions protocol plus ``meta``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.pickling import by_constructor

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
PartType: TypeAlias = Literal["text", "reasoning", "image", "file", "data"]
ROLES = ("system", "user", "assistant", "tool")


@by_constructor
@dataclass(frozen=True, slots=True)
class Part:
    """One part of a content: ``text`` for text and reasoning, ``url`` or base64 ``data`` for the others."""

    type: PartType
    text: str = ""
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    value: Json = None

    def to_json(self) -> dict[str, Json]:
        """The part without its empty fields."""
        out: dict[str, Json] = {"type": self.type}
        for name in ("text", "url", "data", "media_type", "value"):
            if (item := getattr(self, name)) not in (None, ""):
                out[name] = item
        return out


@by_constructor
@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool. ``arguments`` is an object."""

    id: str
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The chat-completions shape, in which the arguments are JSON text."""
        function: dict[str, Json] = {"name": self.name, "arguments": dumps(dict(self.arguments))}
        return {"id": self.id, "type": "function", "function": function}


@by_constructor
@dataclass(frozen=True, slots=True)
class Meta:
    """Where a message comes from. ``seq`` counts the messages of a thread from 1; ``created_at`` is Unix seconds."""

    seq: int = 0
    turn: int = 0
    agent: str = ""
    run: str = ""
    created_at: float = 0.0
    synthetic: bool = False
    aborted: bool = False

    def to_json(self) -> dict[str, Json]:
        """The fields that say something."""
        return {name: item for name in self.__slots__ if (item := getattr(self, name))}


@by_constructor
@dataclass(frozen=True, slots=True)
class Message:
    """One message. Frozen: change it with :func:`dataclasses.replace`."""

    role: Role
    content: str | tuple[Part, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    meta: Meta = Meta()

    @property
    def text(self) -> str:
        """The words of the content, without reasoning."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")

    def with_meta(self, meta: Meta) -> Message:
        """The same message with another ``meta``."""
        return Message(self.role, self.content, self.tool_calls, self.tool_call_id, self.name, self.is_error, meta)

    def to_json(self, *, meta: bool = True) -> dict[str, Json]:
        """The chat-completions shape; ``meta=False`` leaves out where it comes from."""
        content: Json = self.content if isinstance(self.content, str) else [part.to_json() for part in self.content]
        out: dict[str, Json] = {"role": self.role, "content": content}
        if self.tool_calls:
            out["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            out["name"] = self.name
        if self.is_error:
            out["is_error"] = True
        if meta and (where := self.meta.to_json()):
            out["meta"] = where
        return out

    @classmethod
    def from_json(cls, value: object) -> Message:
        """A message from its JSON object; :class:`InputError` names what is wrong with it."""
        if not isinstance(value, Mapping):
            raise InputError(f"a message is an object with role and content, not {type(value).__name__}")
        role = value.get("role")
        if role not in ROLES:
            raise InputError(f"message role {role!r} is not one of {', '.join(ROLES)}")
        content = value.get("content")
        calls = value.get("tool_calls") or ()
        meta = value.get("meta") or {}
        known = {name: meta[name] for name in Meta.__slots__ if name in meta}
        return cls(
            role=cast("Role", role),
            content=_content(content),
            tool_calls=tuple(_call(call) for call in calls),
            tool_call_id=value.get("tool_call_id"),
            name=value.get("name"),
            is_error=bool(value.get("is_error", False)),
            meta=Meta(**known),
        )


def _content(content: object) -> str | tuple[Part, ...]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise InputError(f"message content is text or a list of parts, not {type(content).__name__}")
    return tuple(_part(part) for part in content)


def _part(part: object) -> Part:
    if isinstance(part, Part):
        return part
    if not isinstance(part, Mapping) or part.get("type") not in ("text", "reasoning", "image", "file", "data"):
        raise InputError("a content part is an object with type text, reasoning, image, file or data")
    return Part(**{name: part[name] for name in Part.__slots__ if name in part})


def _call(call: object) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping):
        raise InputError("a tool call is an object with id, name and arguments")
    inner = call.get("function", call)
    arguments = inner.get("arguments", {})
    if isinstance(arguments, str):
        arguments = loads(arguments) if arguments.strip() else {}
    if not isinstance(arguments, Mapping) or not inner.get("name") or not call.get("id"):
        raise InputError("a tool call needs an id, a name and an object of arguments")
    return ToolCall(str(call["id"]), str(inner["name"]), dict(arguments))


Input: TypeAlias = "str | Message | Mapping[str, object] | Sequence[Message | Mapping[str, object]]"


def as_messages(value: object) -> tuple[Message, ...]:
    """The messages of a run's input: text, a message, or a list of messages (or the same as dicts)."""
    if isinstance(value, str):
        return (Message("user", value),)
    if isinstance(value, Message):
        return (value,)
    if isinstance(value, Mapping):
        return (Message.from_json(value),)
    if isinstance(value, Sequence) and value:
        return tuple(item if isinstance(item, Message) else Message.from_json(item) for item in value)
    raise InputError("the input of a run is text, a message, or a non-empty list of messages")
