"""When the agent gets its chance to save what matters, before a compaction."""

from __future__ import annotations

from orchestra.context.gate import Gate
from orchestra.core.conversation import Flush

RESERVE_FLOOR = 20_000
SOFT_THRESHOLD = 4_000


def reserve_floor_of(window: int, configured: int | None) -> int:
    """Tokens kept free for reply and tools: as configured, else min(20000, W/4).

    The fixed 20000 would leave nothing of a window of 24000.
    """
    return configured if configured is not None else min(RESERVE_FLOOR, window // 4)


def soft_threshold_of(window: int, configured: int | None) -> int:
    """So many tokens before the compaction the flush comes: as configured, else min(4000, W/20)."""
    return configured if configured is not None else min(SOFT_THRESHOLD, window // 20)


def flush_due(
    *,
    tokens: int,
    window: int,
    settings: Flush,
    reserve_floor: int | None,
    cycle: int,
    flushed: int | None,
    log_bytes: int,
) -> Gate:
    """Whether a flush is due.

    Args:
        tokens: the context's size now.
        window: the model's window, in tokens.
        settings: of the flush.
        reserve_floor: as configured for compaction; ``None``: its default for this window.
        cycle: the number of compactions so far.
        flushed: the cycle in which the last flush was, captured before it; ``None``: never. It is not 0, which is the
            first cycle.
        log_bytes: the size of the stored log; from ``settings.forced_bytes`` on a flush is due whatever the tokens.
    """
    if not settings.enabled:
        return Gate(False, "flush is off")
    if flushed is not None and flushed == cycle:
        return Gate(False, f"flushed already in cycle {cycle}")
    if settings.forced_bytes and log_bytes >= settings.forced_bytes:
        return Gate(True, f"the log has {log_bytes} bytes, a flush is forced from {settings.forced_bytes} on")
    if tokens <= 0:
        return Gate(False, "the context is empty")
    soft = soft_threshold_of(window, settings.soft_threshold)
    threshold = max(0, window - reserve_floor_of(window, reserve_floor) - soft)
    if threshold <= 0:
        return Gate(False, f"reserve_floor and soft_threshold leave nothing of the window of {window} tokens")
    if tokens < threshold:
        return Gate(False, f"{tokens} tokens, a flush is due from {threshold} on")
    return Gate(True, f"{tokens} tokens, a flush is due from {threshold} on")
