"""Whether memory sleeps more often than is worth it, by what its passes have cost and changed."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.cluster.scenario.passes import PassReport
from orchestra.core.agent import Sleeptime

LOOKED_AT = 20
ENOUGH = 4


def too_frequent(passes: Sequence[PassReport], sleeptime: Sleeptime | None) -> str:
    """A warning with the measured cost; empty when there is none.

    At least half of the last (at most 20, at least 4) passes over dialogue changed nothing.
    """
    recent = [one for one in passes if one.messages][-LOOKED_AT:]
    idle = [one for one in recent if not one.changed]
    if sleeptime is None or len(recent) < ENOUGH or 2 * len(idle) < len(recent):
        return ""
    tokens, seconds = sum(one.usage.total_tokens for one in idle), sum(one.seconds for one in idle)
    rule = sleeptime.rule
    better = "raise its numbers" if rule.startswith("adaptive") else "let it sleep less often, or use trigger: adaptive"
    cost = f"{tokens:,} tokens and {seconds:.1f} s"
    return (
        f"{len(idle)} of the last {len(recent)} passes changed nothing; they took {cost}. "
        f"{rule or 'This setting'} is too frequent here: {better}"
    )
