"""What the extractive model saves when it is told that old messages will be summarised: sentences that users said."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.extractive_summary import ExtractiveSummary
from orchestra.models.playback import completed, played

INSERT = "archival_memory_insert"
APPEND = "core_memory_append"
MOST_TOKENS = 300
MOST_MESSAGES = 200
NOTHING_MORE = "NO_REPLY"


class ExtractiveSaver:
    """Calls one tool that saves, once, and makes nothing up: it has no language model.

    The archive gets what it picks, where there is one; else the block ``label``.
    """

    name = "extractive"

    def __init__(self, label: str | None = None) -> None:
        self._label = label

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The call, or that nothing is left to save."""
        call = self._call(request)
        message = Message("assistant", NOTHING_MORE) if call is None else Message("assistant", "", (call,))
        reply = completed(ModelReply(message), request, model=self.name)
        async with aclosing(played(reply)) as items:
            async for item in items:
                yield item

    def _call(self, request: ModelRequest) -> ToolCall | None:
        tools = {tool.name for tool in request.tools}
        if request.messages[-1].role == "tool":
            return None
        said = [message for message in request.messages if message.role == "user" and not message.meta.synthetic]
        picked = ExtractiveSummary()
        for message in said[-MOST_MESSAGES:]:
            picked.add(message)
        text = picked.text(MOST_TOKENS)
        if not text:
            return None
        lines = "\n".join(line.removeprefix("- user: ") for line in text.split("\n"))
        arguments: dict[str, Json] = {"content": lines}
        if INSERT in tools:
            return ToolCall("save", INSERT, arguments)
        if APPEND in tools and self._label is not None:
            return ToolCall("save", APPEND, {"label": self._label, **arguments})
        return None
