"""Short words for asking a provider model in a test."""

from __future__ import annotations

import asyncio

from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, ToolSpec
from orchestra.models import ProviderModel

KEY = "sk-canary-4711"
FORECAST = ToolSpec(
    "forecast",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
)


def asked(*messages: Message, tools: tuple[ToolSpec, ...] = (), call_number: int = 0, **settings: Json) -> ModelRequest:
    return ModelRequest(messages or (Message("user", "Hello."),), tools, settings, call_number=call_number)


async def answered(model: Model, request: ModelRequest | None = None) -> tuple[list[Delta], ModelReply]:
    items = [item async for item in model.stream(request or asked())]
    deltas = [item for item in items if isinstance(item, Delta)]
    assert isinstance(items[-1], ModelReply)
    assert len(deltas) == len(items) - 1
    return deltas, items[-1]


def shown(deltas: list[Delta], kind: str = "text") -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


def model(name: str = "openai:test-model", **settings: Json) -> ProviderModel:
    return ProviderModel(name, settings)


async def at_once(seconds: float) -> None:
    """A wait that takes no time."""
    await asyncio.sleep(0)
