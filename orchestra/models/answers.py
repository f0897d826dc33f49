"""One model call through the client library: from a request to deltas and the reply, or to one of our errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import cast

from pydantic_ai import messages as library
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.settings import ModelSettings

from orchestra.core.errors import ModelError, ModelUnavailable
from orchestra.core.jsontext import Json
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.connections import Access, LibraryModel, connections
from orchestra.models.conversion import model_reply, request_messages, request_parameters
from orchestra.models.failures import converted
from orchestra.models.surrogates import WholeText


async def context_window(access: Access, name: str) -> int | None:
    """The model's window in tokens, as the client library knows it.

    Raises:
        ModelError: the model cannot be made: its client library or something that it needs is missing.
    """
    failure: ModelError
    try:
        return (await connections().model(access, name)).context_window
    except Exception as error:
        failure = converted(error, model=f"{access.provider}:{name}", provider=access.provider)
    raise failure


async def close() -> None:
    """Close the connections of the running event loop."""
    await connections().close()


async def answer(
    access: Access, name: str, request: ModelRequest, settings: Mapping[str, Json], *, secrets: Sequence[str]
) -> AsyncGenerator[Delta | ModelReply, None]:
    """Deltas as they arrive, then the reply. Closing the generator closes the HTTP stream.

    Raises:
        ModelError: whatever went wrong; nothing of the client library gets out.
    """
    full_name = f"{access.provider}:{name}"
    failure: ModelError
    try:
        model = await connections().model(access, name)
        native = bool(model.profile.get("supports_json_schema_output", False))
        text, reasoning = WholeText(), WholeText()
        async with model_request_stream(
            model,
            request_messages(request.messages, system=model.system, apart=request.conversation is not None),
            model_settings=_settings(model, {**settings, **_conversation(request)}, access.provider),
            model_request_parameters=request_parameters(request, native_schema=native),
            instrument=False,
        ) as stream:
            async for event in stream:
                kind, piece = _piece(event)
                shown = (reasoning if kind == "reasoning" else text).add(piece)
                if shown:
                    yield Delta(shown, "reasoning" if kind == "reasoning" else "text")
            response = stream.get()
        if access.provider == "openai-responses" and not _ended(response):
            raise ModelUnavailable(full_name, "the stream ended before the reply was complete")
        yield model_reply(response, request, model=full_name, provider=access.provider)
        return
    except UnexpectedModelBehavior as error:
        failure = ModelError(full_name, f"the reply cannot be used: {error.message}")
    except Exception as error:
        failure = converted(error, model=full_name, provider=access.provider, secrets=secrets)
    # Raised out here, so that no exception of the library (with its requests, headers and keys) hangs on as context.
    raise failure


def _ended(response: library.ModelResponse) -> bool:
    """Whether the stream said why it ended. In the Responses protocol the library takes a silent end for a good one."""
    return bool(response.finish_reason or (response.provider_details or {}).get("finish_reason"))


def _piece(event: library.ModelResponseStreamEvent) -> tuple[str, str]:
    """(kind, text) that ``event`` adds to what the reader sees; nothing for other events."""
    if isinstance(event, library.PartStartEvent):
        if isinstance(event.part, library.TextPart):
            return "text", event.part.content
        if isinstance(event.part, library.ThinkingPart):
            return "reasoning", event.part.content
    elif isinstance(event, library.PartDeltaEvent):
        if isinstance(event.delta, library.TextPartDelta):
            return "text", event.delta.content_delta
        if isinstance(event.delta, library.ThinkingPartDelta):
            return "reasoning", event.delta.content_delta or ""
    return "text", ""


def _conversation(request: ModelRequest) -> dict[str, Json]:
    """The conversation as the library's settings; those of the Responses protocol, which alone has any."""
    kept = request.conversation
    names = {} if kept is None else kept.to_json()
    return {f"openai_{name}": value for name, value in names.items() if value is not None}


_KNOWN_SETTINGS = frozenset(ModelSettings.__annotations__)


def _settings(model: LibraryModel, settings: Mapping[str, Json], provider: str) -> ModelSettings:
    """The settings in the library's form; what it does not know goes into the body of the request as it is."""
    known: dict[str, object] = {}
    body: dict[str, object] = {}
    prefix = f"{provider.partition('-')[0]}_"
    for name, value in settings.items():
        if name in _KNOWN_SETTINGS or name.startswith(prefix):
            known[name] = value
        else:
            body[name] = value
    if body:
        given = known.get("extra_body")
        known["extra_body"] = {**body, **given} if isinstance(given, dict) else body
    if not provider.startswith("openai") and "max_retries" not in model.unsupported_settings:
        known.setdefault("max_retries", 0)  # retrying is done in one place: orchestra.models.retries
    return cast("ModelSettings", known)
