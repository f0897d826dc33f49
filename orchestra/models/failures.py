"""What the client library raises, turned into errors of this package: typed, picklable, without keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic_ai import exceptions

from orchestra.core.errors import ContextOverflow, ModelError, ModelNotConfigured, ModelUnavailable
from orchestra.models.catalog import PROVIDERS

MAX_CHARS = 500
_UNAVAILABLE = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
    exceptions.ModelRequestTimeout,
)
_BUSY_STATUS = frozenset({408, 409, 425, 429})
# Servers word it differently, and not every one gives a code.
_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|max(imum)?[ _]model[ _]len|prompt is too long|"
    r"too many (input )?tokens|input is too long",
    re.IGNORECASE,
)


def converted(error: Exception, *, model: str, provider: str, secrets: Iterable[str] = ()) -> ModelError:
    """The error of this package that says what ``error`` says, with every one of ``secrets`` taken out."""

    def clean(text: str) -> str:
        for secret in secrets:
            if secret:
                text = text.replace(secret, "***")
        text = " ".join(text.split())
        return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"

    needs = PROVIDERS[provider]
    if isinstance(error, ModelError):
        return error
    if isinstance(error, ImportError):
        return ModelNotConfigured(model, f"its client library is not installed: {needs.install}")
    if isinstance(error, exceptions.ModelAuthenticationError):
        # The server's own words often repeat part of the key, so they are left out.
        status = f" (HTTP {error.status_code})" if isinstance(error, exceptions.ModelHTTPError) else ""
        keys = [name for name in needs.variables if "URL" not in name]
        return ModelNotConfigured(model, f"the server refused the key{status}: check {' or '.join(keys)}")
    if isinstance(error, exceptions.UserError):
        return _usage_error(error, model, clean(str(error)), needs.variables)
    if not isinstance(error, exceptions.ModelAPIError):
        return ModelError(model, clean(f"{type(error).__name__}: {error}"))
    problem = clean(_problem(error))
    status_code = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return ContextOverflow(model, problem)
    if status_code in (0, 400, 413, 422) and _OVERFLOW.search(problem):
        return ContextOverflow(model, problem)
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return ModelError(model, problem)  # waiting does not fill an account
    if isinstance(error, _UNAVAILABLE) or status_code in _BUSY_STATUS or status_code >= 500:
        return ModelUnavailable(model, problem, error.retry_after)
    if type(error) is exceptions.ModelAPIError and "finish_reason" in problem:
        return ModelUnavailable(model, "the stream ended before the reply was complete")
    return ModelError(model, problem)


def _usage_error(error: exceptions.UserError, model: str, text: str, variables: tuple[str, ...]) -> ModelError:
    """The library uses one class for a missing key and for a request that it cannot express."""
    if re.search(r"[A-Z]+_(API_)?(KEY|TOKEN|URL|ENDPOINT)|credential|region", text):
        return ModelNotConfigured(model, f"not configured: set {' or '.join(variables)}")
    return ModelError(model, text)


def _problem(error: exceptions.ModelAPIError) -> str:
    """One line: the status, and the words of the server when there are some."""
    words = _words(error.body)
    if isinstance(error, exceptions.ModelHTTPError):
        hint = f"; did you mean {error.suggested_model_id!r}?" if error.suggested_model_id else ""
        return f"HTTP {error.status_code}: {words or error.provider_error_code or 'no explanation'}{hint}"
    cause = error.__cause__
    behind = cause.__cause__ if cause is not None and cause.__cause__ is not None else cause
    detail = f" ({type(behind).__name__}: {behind})" if behind is not None and str(behind) not in error.message else ""
    return f"{words or error.message}{detail}"


def _words(body: object) -> str:
    """The message in an error's body, in the shapes that servers use."""
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        for name in ("message", "error", "detail"):
            if words := _words(body.get(name)):
                return words
    if isinstance(body, list) and body:
        return _words(body[0])
    return ""
