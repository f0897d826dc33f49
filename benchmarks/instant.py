"""A model that answers at once: what a turn costs without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator

from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage


class Instant:
    """Answers ``ok``; with ``tool`` set, asks for that tool first. Importable, so it works on Ray too."""

    def __init__(self, tool: str = "") -> None:
        self._tool = tool

    @property
    def name(self) -> str:
        """For people."""
        return "instant"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        usage = Usage(10, 1)
        if self._tool and request.messages[-1].role == "user":
            call = ToolCall("c1", self._tool, {"text": "x"})
            yield ModelReply(Message("assistant", "", (call,)), usage, "tool_calls")
        else:
            yield Delta("ok")
            yield ModelReply(Message("assistant", "ok"), usage)


NO_TOOL = Instant()
ONE_TOOL = Instant("note")
