"""A reply that is known beforehand, played as if a provider had streamed it: what all test doubles share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import replace

from orchestra.core.jsontext import dumps
from orchestra.core.messages import Message
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from orchestra.core.tokens import message_tokens, text_tokens

# A word with the space behind it; words longer than this (or scripts without spaces) are cut, so long text is always
# several deltas.
_PIECE = re.compile(r"\S{1,12}\s*|\s+")


def estimated_usage(request: ModelRequest, message: Message) -> Usage:
    """Usage of one model call by the estimate of :mod:`orchestra.core.tokens`, for models that report none."""
    tools = sum(text_tokens(tool.name + tool.description + dumps(dict(tool.parameters))) for tool in request.tools)
    return Usage(
        input_tokens=tools + sum(map(message_tokens, request.messages)),
        output_tokens=message_tokens(message),
        model_calls=1,
    )


def completed(reply: ModelReply, request: ModelRequest, *, model: str) -> ModelReply:
    """``reply`` with what its author may leave out.

    Call ids become ``call-<call number>-<position>``, the same on every host; usage that counts no tokens becomes the
    estimate; a reply with calls says so in its finish reason; ``model`` is filled in when the reply names none, and so
    is ``response_id`` in a conversation that is kept, as ``response-<call number>``.
    """
    calls = tuple(
        call if call.id else replace(call, id=f"call-{request.call_number}-{position}")
        for position, call in enumerate(reply.message.tool_calls)
    )
    message = replace(reply.message, tool_calls=calls)
    usage = reply.usage if reply.usage.total_tokens else estimated_usage(request, message)
    return ModelReply(
        message,
        usage if usage.model_calls else replace(usage, model_calls=1),
        "tool_calls" if calls and reply.finish_reason == "stop" else reply.finish_reason,
        reply.model or model,
        reply.response_id or (f"response-{request.call_number}" if request.conversation is not None else ""),
    )


def pieces(text: str) -> list[str]:
    """``text`` cut into the deltas in which it is played; joined they give ``text`` again."""
    return _PIECE.findall(text)


async def played(reply: ModelReply) -> AsyncGenerator[Delta | ModelReply, None]:
    """The deltas of ``reply``, then ``reply``. Gives way to other tasks between deltas, as a network would."""
    content = reply.message.content
    parts = [("text", content)] if isinstance(content, str) else [(part.type, part.text) for part in content]
    for kind, text in parts:
        if kind in ("text", "reasoning"):
            for piece in pieces(text):
                yield Delta(piece, "reasoning" if kind == "reasoning" else "text")
                await asyncio.sleep(0)
    yield reply
