"""Memory pressure: the agent is told that its window fills; in the end about half of it is evicted."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.context.compaction import Cut, cut
from orchestra.context.gate import Gate
from orchestra.core.conversation import Pressure
from orchestra.core.messages import Message


def pressure_due(*, tokens: int, window: int, settings: Pressure | None, cycle: int, noticed: int | None) -> Gate:
    """Whether the agent is to be told.

    Args:
        tokens: the context's size now.
        window: the model's window, in tokens.
        settings: of memory pressure; ``None``: it is off.
        cycle: the number of compactions so far.
        noticed: the cycle of the last notice; ``None``: there was none.
    """
    if settings is None:
        return Gate(False, "pressure is off")
    if noticed is not None and noticed == cycle:
        return Gate(False, f"told already in cycle {cycle}")
    told = tokens > 0 and tokens >= settings.at * window
    return Gate(told, f"{tokens} tokens, the agent is told from {settings.at:.0%} of the window of {window} on")


def notice(tokens: int, window: int) -> str:
    """What the agent is told."""
    share = f"{100 * tokens // window} %" if window > 0 else "all"
    return (
        f"Memory pressure: {share} of the context window is in use ({tokens} of {window} tokens). Soon the oldest "
        "messages are replaced by a summary. Save now, with your memory tools, what you will need from them word for "
        "word. They stay searchable afterwards."
    )


def eviction_cut(
    messages: Sequence[Message], tokens: Sequence[int], *, window: int, settings: Pressure, protected: int | None = None
) -> Cut:
    """The cut in front of which at least ``settings.evict`` of the window lies, or the latest legal one.

    The evicted messages are summarised together with the summary before them; see
    :func:`orchestra.context.staged_summaries.summarise`. Arguments as for :func:`orchestra.context.compaction.cut`.
    """
    return cut(messages, tokens, max(0, sum(tokens) - int(settings.evict * window)), protected=protected)
