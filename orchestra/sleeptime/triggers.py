"""When a pass is due: pure rules on counters, the same for the runtime and for experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

#: Of a stretch as long as its interval should be: changed lines times the square of the turns. Found with the workloads
#: of ``configs/experiments/adaptive.yaml`` on other seeds (101-106, 201-206, 301-308).
_AIM = 55


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

    Of ``r`` new lines a turn, passes every ``n`` turns leave ``r * n / 2`` late on average. With one cost for each pass
    and one for each line that is late, the best ``n`` goes with ``r`` to the power of -1/2; with one for the share of
    memory that is late, and memory grows with ``r``, it does not go with ``r`` at all. What is best in dialogues lies
    between: the interval aims at ``n`` such that ``r * n**3`` is 55. It starts at ``min`` and goes half of the way to
    its aim after each pass; after one that changed nothing it gets a quarter longer, at least by one turn.
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
        aim = _cube_root(_AIM * counters.turns // changes)
        return self._clamped((now + aim + (aim > now)) // 2)

    def _clamped(self, interval: int) -> int:
        return max(self.min, min(self.max, interval))


def _cube_root(value: int) -> int:
    """The largest whole number whose cube is not greater."""
    root = round(math.cbrt(value))
    return root - (root**3 > value)
