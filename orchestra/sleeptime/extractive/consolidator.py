"""The extractive consolidator: from a block's lines and a stretch of the conversation to the block's new lines."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.terms import Weights, content
from orchestra.sleeptime.extractive.fitting import fitted
from orchestra.sleeptime.extractive.hearing import Hearing
from orchestra.sleeptime.extractive.ledger import Ledger
from orchestra.sleeptime.extractive.line import Line, Said


def consolidate(
    lines: Sequence[Line], said: Sequence[Said], *, limit: int, purpose: str = "", supersede: bool = True
) -> tuple[Line, ...]:
    """The block's new lines after ``said``, a stretch of the conversation in order.

    Statements of lasting facts are kept with the numbers of their messages, a line whose slot gets another value is
    replaced, one that is withdrawn goes, repetitions are merged. A retracted message counts for nothing: its number
    leaves the sources, and a line that had no other goes.

    The lines joined by line breaks have at most ``limit`` characters. When they do not fit, the least salient go first,
    of equals the oldest, lines that people typed (without sources) last. ``purpose`` is the block's description: what
    shares words with it stays longer. ``supersede=False`` only appends and merges, for comparison. Deterministic.
    """
    gone = {message.seq for message in said if message.retracted}
    heard = [message for message in said if not message.retracted and message.role != "tool" and message.text.strip()]
    weights = Weights([*(content(line.text) for line in lines), *(content(message.text) for message in heard)])
    work = Hearing(Ledger(weights), supersede=supersede)
    for line in lines:
        sources = [seq for seq in line.sources if seq not in gone]
        if line.text.strip() and (sources or not line.sources):
            work.ledger.add(line.text, sources, typed=not line.sources)
    if heard:
        work.mind.begin(heard[0].seq)
    for message in heard:
        work.hear(message)
    return fitted(work.ledger.entries.values(), limit, frozenset(content(purpose)))
