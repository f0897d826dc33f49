"""Messages of this package as the client library wants them, and its responses as replies."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_ai import messages as library
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from orchestra.core.errors import ModelError
from orchestra.core.jsontext import Json, dumps, is_object, loads
from orchestra.core.messages import Message, Part, ToolCall
from orchestra.core.model import FinishReason, ModelReply, ModelRequest, Usage
from orchestra.models.playback import estimated_usage
from orchestra.models.surrogates import whole

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
    "error": "error",
}


# --- what is asked --------------------------------------------------------------------------------------------------


def request_messages(messages: Sequence[Message], *, system: str, apart: bool = False) -> list[library.ModelMessage]:
    """The messages in the library's form.

    ``system`` is the library's name of the provider: reasoning goes back only to the provider that made it. With
    ``apart`` the system message in front goes beside the input, as instructions for this call: a provider that keeps
    the conversation would keep it with the input, and have the blocks of all calls one after the other.
    """
    out: list[library.ModelMessage] = []
    instructions: str | None = None
    if apart and messages and messages[0].role == "system":
        instructions, messages = messages[0].text, messages[1:]
    names: dict[str, str] = {}
    asked: list[library.ModelRequestPart] = []
    for message in messages:
        if message.role == "assistant":
            if asked:
                out.append(library.ModelRequest(parts=asked))
                asked = []
            names.update((call.id, call.name) for call in message.tool_calls)
            if parts := _response_parts(message, system):
                # An answer that the caller wrote is input. Under the provider's name the library would take it for one
                # that the provider keeps, and go on from there.
                out.append(library.ModelResponse(parts=parts, provider_name=None if apart else system))
        elif message.role == "tool":
            call_id = message.tool_call_id or ""
            asked.append(
                library.ToolReturnPart(
                    tool_name=message.name or names.get(call_id, "tool"),
                    content=_content(message),
                    tool_call_id=call_id,
                    outcome="failed" if message.is_error else "success",
                )
            )
        elif message.role == "system":
            asked.append(library.SystemPromptPart(message.text))
        else:
            asked.append(library.UserPromptPart(_content(message)))
    if asked or instructions is not None:
        out.append(library.ModelRequest(parts=asked, instructions=instructions))
    return out


def request_parameters(request: ModelRequest, *, native_schema: bool) -> ModelRequestParameters:
    """Tools and output schema. Schemas of tools go out as they are given: "strict" mode would rewrite them."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters),
            strict=False,
        )
        for tool in request.tools
    ]
    if request.output_schema is None:
        return ModelRequestParameters(function_tools=tools)
    title = request.output_schema.get("title")
    schema = OutputObjectDefinition(
        json_schema=dict(request.output_schema), name=title if isinstance(title, str) else None
    )
    return ModelRequestParameters(
        function_tools=tools, output_mode="native" if native_schema else "prompted", output_object=schema
    )


def _content(message: Message) -> str | list[library.UserContent]:
    if isinstance(message.content, str):
        return message.content
    parts = [_user_part(part) for part in message.content if part.type != "reasoning"]
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return parts


def _user_part(part: Part) -> library.UserContent:
    if part.type == "text":
        return part.text
    if part.type == "data":
        return dumps(part.value) if part.data is None else part.data
    if part.data is not None:
        media_type = part.media_type or ("image/png" if part.type == "image" else "application/octet-stream")
        return library.BinaryContent(base64.b64decode(part.data), media_type=media_type)
    if part.url is None:
        return part.text
    if part.type == "image":
        return library.ImageUrl(part.url, media_type=part.media_type)
    return library.DocumentUrl(part.url, media_type=part.media_type)


def _response_parts(message: Message, system: str) -> list[library.ModelResponsePart]:
    parts: list[library.ModelResponsePart] = []
    content = message.content if not isinstance(message.content, str) else (Part("text", message.content),)
    for part in content:
        if part.type == "reasoning":
            if (thought := _thought(part, system)) is not None:
                parts.append(thought)
        elif part.text:
            parts.append(library.TextPart(part.text))
    parts.extend(
        library.ToolCallPart(call.name, dumps(dict(call.arguments)), tool_call_id=call.id)
        for call in message.tool_calls
    )
    return parts


def _thought(part: Part, system: str) -> library.ThinkingPart | None:
    """Reasoning that ``system`` itself gave and marked; words that stood in the text as tags are not sent back."""
    origin = part.value
    if not isinstance(origin, dict) or origin.get("provider") != system or origin.get("id") == "content":
        return None
    details = origin.get("details")
    return library.ThinkingPart(
        part.text,
        id=_text(origin.get("id")),
        signature=_text(origin.get("signature")),
        provider_name=system,
        provider_details=dict(details) if isinstance(details, dict) else None,
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


# --- what is answered -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Answer:
    """The content of a response while it is put together: neighbouring text is one part."""

    parts: list[Part] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    malformed: list[str] = field(default_factory=list)

    def text(self, text: str) -> None:
        if self.parts and self.parts[-1].type == "text":
            text = self.parts.pop().text + text
        if text:
            self.parts.append(Part("text", text))

    @property
    def content(self) -> str | tuple[Part, ...]:
        if all(part.type == "text" for part in self.parts):
            return whole("".join(part.text for part in self.parts))
        return tuple(Part(part.type, whole(part.text), value=part.value) for part in self.parts)


def model_reply(response: library.ModelResponse, request: ModelRequest, *, model: str, provider: str) -> ModelReply:
    """The reply that a complete ``response`` is.

    A tool call without a name, or whose arguments are no JSON object (they were cut off, say), is left out: it could
    neither be run nor stored. When nothing else is in the response, that is the failure of the call; always in a
    conversation that the provider keeps, since there the call would stand and wait for its result.

    Raises:
        ModelError: the response holds malformed tool calls and nothing else that could be gone on with.
    """
    answer = _Answer()
    taken = {call.id for message in request.messages for call in message.tool_calls}
    for part in response.parts:
        if isinstance(part, library.TextPart):
            answer.text(part.content)
        elif isinstance(part, library.ThinkingPart):
            answer.parts.append(Part("reasoning", part.content, value=_origin(part)))
        elif isinstance(part, library.ToolCallPart):
            arguments = _arguments(part.args)
            if arguments is None or not part.tool_name:
                answer.malformed.append(part.tool_name or "(no name)")
                continue
            # A journal and the store know a call by run and call id, and some servers number calls from 0 in every
            # reply: an id that was there before would make the second call look like a repetition of the first.
            call_id = part.tool_call_id
            if request.conversation is not None and call_id in taken:
                answer.malformed.append(part.tool_name)  # the provider would not know its result by an id of ours
                continue
            if not call_id or call_id in taken:
                call_id = f"call_{request.call_number}_{len(answer.calls)}"
            taken.add(call_id)
            answer.calls.append(ToolCall(call_id, whole(part.tool_name), arguments))
    finish: FinishReason = _FINISH.get(response.finish_reason or "stop", "stop")
    usable = request.conversation is None and (answer.calls or any(part.type == "text" for part in answer.parts))
    if answer.malformed and not usable:
        cut = " (the reply was cut off at the token limit)" if finish == "length" else ""
        only = "only " if request.conversation is None else ""
        raise ModelError(model, f"the reply holds {only}malformed tool calls: {', '.join(answer.malformed)}{cut}")
    if finish in ("stop", "tool_calls"):
        finish = "tool_calls" if answer.calls else "stop"
    message = Message("assistant", answer.content, tuple(answer.calls))
    answered_by = f"{provider}:{response.model_name}" if response.model_name else model
    usage = _usage(response, request, message)
    return ModelReply(message, usage, finish, answered_by, response.provider_response_id or "")


def _usage(response: library.ModelResponse, request: ModelRequest, message: Message) -> Usage:
    usage = response.usage
    if not usage.input_tokens and not usage.output_tokens:
        return estimated_usage(request, message)
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, model_calls=1)


def _arguments(value: object) -> dict[str, Json] | None:
    """The object that the arguments are, ``None`` when they are none. No arguments at all are an empty object."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    try:
        found = loads(value) if isinstance(value, str) else value
        if not isinstance(found, dict):
            return None
        found = loads(whole(dumps(found)))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if is_object(found) else None


def _origin(part: library.ThinkingPart) -> Json:
    """Who gave the reasoning, and the marks by which that provider knows it again."""
    origin: dict[str, Json] = {"provider": part.provider_name}
    if part.id is not None:
        origin["id"] = part.id
    if part.signature is not None:
        origin["signature"] = part.signature
    if part.provider_details and is_object(part.provider_details):
        origin["details"] = part.provider_details
    return origin if part.provider_name else None
