"""The model's window: how large it is, and whether a conversation fits into it at all."""

from __future__ import annotations

import math

from orchestra.core.conversation import WindowGuard
from orchestra.core.errors import ContextWindowTooSmall

DEFAULT_WINDOW = 200_000


def window_of(configured: float | None, metadata: float | None, agent_tokens: float | None) -> int:
    """The window in tokens: as configured for the model, else the model's own metadata, else 200000.

    ``agent_tokens`` (the agent's ``context_tokens``) can only lower it. A size that is no finite number is given as 0,
    which :func:`guard` refuses.
    """
    window = configured if configured is not None else metadata if metadata is not None else DEFAULT_WINDOW
    return min(_whole(window), _whole(agent_tokens)) if agent_tokens is not None else _whole(window)


def guard(window: float, *, settings: WindowGuard, provider: str, model: str, fixed: int = 0) -> str | None:
    """The warning for a small window; ``None``: it is large enough.

    ``fixed`` are the tokens of what is in every prompt: instructions, blocks, tools. No compaction makes them fewer.

    Raises:
        ContextWindowTooSmall: below the minimum, or zero, negative or not finite whatever the minimum, or not
            larger than ``fixed``.
    """
    tokens = _whole(window)
    if tokens < settings.minimum:
        raise ContextWindowTooSmall(provider, model, tokens, settings.minimum)
    if tokens <= fixed:
        raise ContextWindowTooSmall(provider, model, tokens, fixed + 1)
    if tokens < settings.warn_below:
        return (
            f"the window of {provider}:{model} has only {tokens} tokens (less than {settings.warn_below}): "
            "expect frequent compactions"
        )
    return None


def _whole(tokens: float) -> int:
    return int(tokens) if math.isfinite(tokens) else 0
