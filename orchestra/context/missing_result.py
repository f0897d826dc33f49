"""The result that stands in for one that is missing."""

from __future__ import annotations

from collections.abc import Mapping

from orchestra.core.messages import Message, Meta, ToolCall

MISSING_RESULT = (
    "The result of this call is missing. The tool may or may not have run; check what it did before you call it again."
)


def missing_result(call: ToolCall, asked: Message) -> Message:
    """The error result for ``call``, which the message ``asked`` made: of the same turn, agent and run."""
    where = asked.meta
    meta = Meta(turn=where.turn, agent=where.agent, run=where.run, created_at=where.created_at, synthetic=True)
    return Message("tool", MISSING_RESULT, tool_call_id=call.id, name=call.name, is_error=True, meta=meta)


def is_malformed(call: ToolCall) -> bool:
    """Whether a call cannot be answered: no id, no name, or arguments that were never finished."""
    return not (call.id and call.name and isinstance(call.arguments, Mapping))


def without_malformed(message: Message) -> Message | None:
    """``message`` without its malformed calls: itself when it has none, ``None`` when nothing of it is left."""
    if not any(map(is_malformed, message.tool_calls)):
        return message
    calls = tuple(call for call in message.tool_calls if not is_malformed(call))
    if not calls and not message.content:
        return None
    return Message(
        message.role, message.content, calls, message.tool_call_id, message.name, message.is_error, message.meta
    )
