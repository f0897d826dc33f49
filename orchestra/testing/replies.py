"""Short words for the replies of test doubles."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, Usage


def call(name: str, /, **arguments: Json) -> ToolCall:
    """A tool call for :func:`reply`. Its id is made by the model: ``call-<call number>-<position>``."""
    return ToolCall("", name, arguments)


def reply(
    text: str = "", *, calls: Sequence[ToolCall] = (), usage: Usage | None = None, response_id: str = ""
) -> ModelReply:
    """A reply for a scripted or a function model. Without ``usage`` the model counts tokens by the estimate."""
    return ModelReply(
        Message("assistant", text, tuple(calls)),
        usage or Usage(),
        finish_reason="tool_calls" if calls else "stop",
        response_id=response_id,
    )
