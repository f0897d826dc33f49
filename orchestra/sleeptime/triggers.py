"""When a pass is due: pure rules on counters, the same for the runtime and for experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

#: Changed lines times the turns they waited for which a pass is worth its cost; found with the workloads of
#: ``configs/experiments/adaptive.yaml`` on other seeds (101-106, 201-206, 301-308).
_WAITED = 12


@dataclass(frozen=True, slots=True)
class Counters:
    """What has happened in a session since its last pass (or since its beginning).

    ``turns`` completed; ``tokens`` of new messages; ``idle`` seconds since the last message; ``compacting`` when a
    compaction is about to happen. ``interval`` is what the last pass's :meth:`Trigger.interval_after` gave, 0 before.
    """

    turns: int
    tokens: int = 0
    idle: float = 0.0
    compacting: bool = False
    interval: int = 0


class Trigger(Protocol):
    """Says when a pass is due. Keeps no state: what it must remember is one number, the interval."""

    @property
    def label(self) -> str:
        """For people and tables, such as ``every 5``."""

    def due(self, counters: Counters) -> bool:
        """Whether a pass is due. Never without a completed turn."""

    def interval_after(self, counters: Counters, changes: int) -> int:
        """The interval from now on, after a pass that took in ``counters`` and changed ``changes`` lines."""


class _Steady:
    """A trigger that learns nothing from its passes."""

    def interval_after(self, counters: Counters, changes: int) -> int:
        """Stays as it is."""
        return counters.interval


@dataclass(frozen=True, slots=True)
class Never(_Steady):
    """``off``."""

    @property
    def label(self) -> str:
        """``off``."""
        return "off"

    def due(self, counters: Counters) -> bool:
        """Never."""
        return False


@dataclass(frozen=True, slots=True)
class EveryTurns(_Steady):
    """After every ``turns`` completed turns."""

    turns: int

    @property
    def label(self) -> str:
        """``every 5``."""
        return f"every {self.turns}"

    def due(self, counters: Counters) -> bool:
        """At the ``turns``-th turn since the last pass."""
        return counters.turns >= self.turns


@dataclass(frozen=True, slots=True)
class EveryTokens(_Steady):
    """When the new messages have at least ``tokens`` tokens."""

    tokens: int

    @property
    def label(self) -> str:
        """``tokens 4000``."""
        return f"tokens {self.tokens}"

    def due(self, counters: Counters) -> bool:
        """Enough new tokens."""
        return counters.turns > 0 and counters.tokens >= self.tokens


@dataclass(frozen=True, slots=True)
class WhenIdle(_Steady):
    """When nothing has been said for ``seconds`` seconds and something is new."""

    seconds: float

    @property
    def label(self) -> str:
        """``idle 600s``."""
        return f"idle {self.seconds:g}s"

    def due(self, counters: Counters) -> bool:
        """Quiet for long enough."""
        return counters.turns > 0 and counters.idle >= self.seconds


@dataclass(frozen=True, slots=True)
class BeforeCompaction(_Steady):
    """Before messages leave the prompt."""

    @property
    def label(self) -> str:
        """``compaction``."""
        return "compaction"

    def due(self, counters: Counters) -> bool:
        """A compaction is about to happen."""
        return counters.turns > 0 and counters.compacting


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Every ``min`` to ``max`` turns, by what passes find.

    Facts that come at a rate ``r`` wait ``r * n * n / 2`` turns together when a pass comes every ``n`` turns. So what
    makes waiting and passes cost the same is not a number of lines, but one of lines times turns: the interval aims at
    the one at which that is 12, which goes with the square root of the turns for each line. It starts at ``min``.
    After a pass that changed nothing it is a quarter longer (at least one turn); towards a longer aim it goes by one
    turn, to a shorter one at once: an interval that swings costs more than one that is a little off.
    """

    min: int
    max: int

    @property
    def label(self) -> str:
        """``adaptive 1-25``."""
        return f"adaptive {self.min}-{self.max}"

    def due(self, counters: Counters) -> bool:
        """At the end of the interval."""
        return counters.turns >= self._clamped(counters.interval or self.min)

    def interval_after(self, counters: Counters, changes: int) -> int:
        """Longer, shorter or as it was."""
        now = self._clamped(counters.interval or self.min)
        if changes == 0:
            return self._clamped(max(now + 1, now * 5 // 4))
        aim = math.isqrt(_WAITED * counters.turns // changes)
        return self._clamped(min(aim, now + 1))

    def _clamped(self, interval: int) -> int:
        return max(self.min, min(self.max, interval))
