"""Intervals: a paired bootstrap over questions. All arms of a workload meet the same resamples."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from orchestra.experiments.measures import each_turn, recall_at, staleness
from orchestra.experiments.trial_record import Trace, TrialRecord

Floats: TypeAlias = NDArray[np.float64]
_Value: TypeAlias = Callable[[Trace, int], float | None]
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval at :data:`LEVEL`."""

    value: float
    low: float
    high: float


class Resamples:
    """The weights of all questions of a workload in each resample; made from its name, so always the same ones.

    ``records`` are those of one arm, one for each case: every other arm has the same questions.
    """

    def __init__(self, records: Sequence[TrialRecord], count: int) -> None:
        self._facts = {record.case: [one.id for one in record.traces if one.kind != "retraction"] for record in records}
        total = sum(map(len, self._facts.values()))
        rng = np.random.default_rng(zlib.crc32(records[0].workload.encode()))
        drawn = rng.integers(0, max(1, total), size=(count, total))
        weights = np.stack([np.bincount(one, minlength=total) for one in drawn]).astype(np.float64)
        # The first row is the sample as it is.
        self._weights: Floats = np.vstack([np.ones((1, total)), weights])

    def freshness(self, records: Sequence[TrialRecord]) -> Floats:
        """Freshness in the sample and in each resample: the mean over the cases.

        Each fact has a part in it: how often it was right, over the number of facts that were true at that turn. Of a
        resample the parts are summed and divided by what a perfect memory would have. To leave out the turns of which
        a resample has no fact would favour late turns.
        """
        right: list[float] = []
        whole: list[float] = []
        for record, _ in self._by_case(records):
            facts = [trace for trace in record.traces if trace.kind != "retraction"]
            states, true = np.zeros((len(facts), record.turns + 1)), np.zeros((len(facts), record.turns + 1))
            for i, trace in enumerate(facts):
                values = [0.0] * (record.turns + 1)
                each_turn(trace, record.turns, trace.right, values)
                states[i] = values
                true[i, trace.since : trace.until or record.turns + 1] = 1.0
            there = true.sum(axis=0)
            shares = np.divide(1.0, there, out=np.zeros(len(there)), where=there > 0) / max(1, int((there > 0).sum()))
            right.extend(states @ shares)
            whole.extend(true @ shares)
        return _divided(self._weights @ np.array(right), self._weights @ np.array(whole))

    def recall(self, records: Sequence[TrialRecord], lag: int | None) -> Floats:
        """Evidence recall at a lag, or at the end: over all questions of all cases."""
        return self._over_questions(records, lambda trace, turns: _recall(trace, lag, turns))

    def staleness(self, records: Sequence[TrialRecord]) -> Floats:
        """Mean turns until a line carries a fact, of those that were ever carried."""
        return self._over_questions(records, lambda trace, _: staleness(trace))

    def never(self, records: Sequence[TrialRecord]) -> Floats:
        """Share of the facts that no line ever carried."""
        return self._over_questions(records, lambda trace, _: float(staleness(trace) is None))

    def updated(self, records: Sequence[TrialRecord]) -> Floats:
        """Share of the updates of which the memory holds the new value only, after a last pass over the rest."""

        def state(trace: Trace, turns: int) -> float | None:
            if trace.kind != "update" or not trace.true_at(turns):
                return None
            point = trace.flushed or trace.at(turns)
            return float(point.new and not point.old)

        return self._over_questions(records, state)

    def _over_questions(self, records: Sequence[TrialRecord], value: _Value) -> Floats:
        columns: list[float] = []
        for record, _ in self._by_case(records):
            found = (value(trace, record.turns) for trace in record.traces if trace.kind != "retraction")
            columns.extend(np.nan if one is None else float(one) for one in found)
        values = np.array(columns)
        asked = ~np.isnan(values)
        weights = self._weights[:, asked]
        there = weights.sum(axis=1)
        return _divided(weights @ values[asked], there)

    def _by_case(self, records: Sequence[TrialRecord]) -> list[tuple[TrialRecord, Floats]]:
        known = {record.case: record for record in records}
        out, at = [], 0
        for case, facts in self._facts.items():
            out.append((known[case], self._weights[:, at : at + len(facts)]))
            at += len(facts)
        return out


def estimate(values: Floats) -> Estimate | None:
    """The sample's value with the interval of the resamples; ``None`` when there is none."""
    if np.isnan(values[0]):
        return None
    there = values[1:][~np.isnan(values[1:])]
    edge = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(there, [edge, 100 - edge]) if len(there) else (values[0], values[0])
    return Estimate(float(values[0]), float(low), float(high))


def _recall(trace: Trace, lag: int | None, turns: int) -> float | None:
    if lag is not None:
        return recall_at(trace, lag, turns)
    return trace.at(turns).recall if trace.true_at(turns) else None


def _divided(above: Floats, below: Floats | NDArray[np.int64]) -> Floats:
    """The quotients; not a number where ``below`` is 0."""
    out: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out
