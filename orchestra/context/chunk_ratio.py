"""How much is summarised at once: the larger the messages, the smaller the share of the window."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orchestra.core.conversation import Compaction

LARGE_FROM = 0.1  # the share of the window from which on a mean message counts as large


def chunk_ratio(mean_tokens: float, window: int, *, settings: Compaction) -> float:
    """The share of ``window`` that one chunk takes.

    ``r = mean_tokens * safety / window``. Without messages (a mean of 0), or up to ``r = 0.1``, it is ``base_ratio``;
    above that it falls by ``2r`` down to ``min_ratio``.
    """
    if mean_tokens <= 0:
        return settings.base_ratio
    large = mean_tokens * settings.safety / window if window > 0 else math.inf
    if large <= LARGE_FROM:
        return settings.base_ratio
    spread = max(0.0, settings.base_ratio - settings.min_ratio)
    return max(settings.min_ratio, settings.base_ratio - min(2 * large, spread))


def chunk_tokens(tokens: Sequence[int], window: int, *, settings: Compaction) -> int:
    """Tokens of one chunk for messages of these sizes: at least 1."""
    mean = sum(tokens) / len(tokens) if tokens else 0.0
    return max(1, math.floor(window * chunk_ratio(mean, window, settings=settings)))


def oversized(tokens: int, window: int, *, safety: float = 1.2) -> bool:
    """Whether one message is too large to be summarised: with the margin it takes more than half of the window."""
    return tokens * safety > window / 2
