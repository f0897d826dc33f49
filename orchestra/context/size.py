"""How large the context is now, in tokens."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.model import Usage


def current_tokens(last_usage: Usage | None, after: Sequence[int] | int, everything: int) -> int:
    """The provider's own count where there is one, estimates for the rest.

    Args:
        last_usage: of the last successful model call alone. A sum over the calls of a run would count the same prompt
            several times and compact far too early.
        after: the estimates of the messages that came after that call, or their sum.
        everything: the estimate of the whole prompt, taken when the provider reported nothing, or zero tokens.
    """
    if last_usage is None or last_usage.input_tokens <= 0:
        return everything
    return last_usage.total_tokens + (after if isinstance(after, int) else sum(after))
