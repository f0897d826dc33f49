"""The measures of one trial, as numbers: one row of ``results.csv``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from orchestra.experiments.experiment import Prices
from orchestra.experiments.trial_record import Point, Trace, TrialRecord

Value: TypeAlias = float | int | str | None
STATES = ("new", "old", "both", "neither")


def row(record: TrialRecord, *, lags: Sequence[int], k: int, prices: Prices) -> dict[str, Value]:
    """All measures by name; ``None`` where nothing could be measured. The same record gives the same row."""
    cost = record.cost
    facts = [trace for trace in record.traces if trace.kind != "retraction"]
    out: dict[str, Value] = {
        "workload": record.workload,
        "case": record.case,
        "arm": record.arm,
        "turns": record.turns,
        "questions": len(facts),
        "freshness": freshness(record),
    }
    for lag in lags:
        out[f"recall_lag_{lag}"] = mean(recall_at(trace, lag, record.turns) for trace in facts)
    at_end = [trace for trace in facts if trace.true_at(record.turns)]
    ends = [trace.at(record.turns) for trace in at_end]
    flushed = [trace.flushed for trace in at_end if trace.flushed is not None]
    out["recall_end"] = mean(point.recall for point in ends)
    out["recall_end_flushed"] = mean(point.recall for point in flushed)
    for place, lag in enumerate(lags):
        out[f"context_recall_lag_{lag}"] = mean(trace.context[place] for trace in facts)
    out["context_recall_end"] = mean(trace.context[-1] for trace in at_end)
    out["k"], out["units"] = k, record.units
    out["coverage_end"] = mean(point.coverage for point in ends)
    answered = [record.answers[trace.id] for trace in at_end if trace.id in record.answers]
    out["answer_f1"] = mean(f1 for f1, _ in answered)
    out["exact_match"] = mean(float(same) for _, same in answered)
    updates = [trace for trace in facts if trace.kind == "update"]
    places: tuple[int | None, ...] = (*lags, None)
    for when in places:
        points = [point for trace in updates if (point := _point_at(trace, when, record.turns)) is not None]
        for state in STATES:
            name = f"{state}_{'end' if when is None else f'lag_{when}'}"
            out[name] = mean(float(_state(point) == state) for point in points)
    last = [trace.flushed for trace in updates if trace.flushed is not None]
    for state in STATES:
        out[f"{state}_end_flushed"] = mean(float(_state(point) == state) for point in last)
    gone = [trace.at(record.turns) for trace in record.traces if trace.kind == "retraction"]
    out["retracted_left_end"] = mean(float(point.old) for point in gone)
    delays = [staleness(trace) for trace in facts]
    known = sorted(delay for delay in delays if delay is not None)
    out["staleness_mean"] = mean(known)
    out["staleness_p95"] = known[math.ceil(0.95 * len(known)) - 1] if known else None
    out["never_share"] = mean(float(delay is None) for delay in delays)
    out["tokens_sleep_in"], out["tokens_sleep_out"] = cost.sleep_in, cost.sleep_out
    out["tokens_primary_in"], out["tokens_primary_out"] = cost.primary_in, cost.primary_out
    out["tokens_search"] = cost.search_in
    out["passes"], out["passes_idle"] = cost.passes, cost.idle_passes
    out["money_sleep"] = prices.sleeptime.of(cost.sleep_in, cost.sleep_out)
    out["money_primary"] = prices.primary.of(cost.primary_in + cost.search_in, cost.primary_out)
    out["block_chars"] = record.block_chars
    return out


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what there is; ``None`` when there is nothing."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


def freshness(record: TrialRecord) -> float | None:
    """The mean over turns of the share of true facts that the memory states correctly."""
    right = [0.0] * (record.turns + 1)
    true = [0] * (record.turns + 1)
    for trace in record.traces:
        if trace.kind != "retraction":
            each_turn(trace, record.turns, trace.right, right)
            for turn in range(trace.since, trace.until or record.turns + 1):
                true[turn] += 1
    return mean(a / b for a, b in zip(right, true, strict=True) if b)


def score(fresh: float, *, sleep: float, primary: float, worth: float) -> float:
    """Freshness less what it costs: ``worth`` for each time that sleeping costs as much as the answers do, in money."""
    return fresh - worth * sleep / (primary or 1.0)


def each_turn(trace: Trace, turns: int, value: Callable[[Point], float], into: list[float]) -> None:
    """Add the value of a trace to each turn in which it is true."""
    last = (trace.until or turns + 1) - 1
    ends = [point.turn - 1 for point in trace.points[1:]] + [last]
    for point, end in zip(trace.points, ends, strict=True):
        now = value(point)
        for turn in range(point.turn, min(end, last) + 1):
            into[turn] += now


def recall_at(trace: Trace, lag: int, turns: int) -> float | None:
    """Evidence recall ``lag`` turns after it was last stated; ``None`` when it is not true any more, or not yet."""
    point = _point_at(trace, lag, turns)
    return None if point is None else point.recall


def staleness(trace: Trace) -> int | None:
    """Turns until a line carries the fact; ``None``: none did while it was true."""
    return next((point.turn - trace.since for point in trace.points if point.new), None)


def _point_at(trace: Trace, lag: int | None, turns: int) -> Point | None:
    turn = turns if lag is None else trace.since + lag
    return trace.at(turn) if turn <= turns and trace.true_at(turn) else None


def _state(point: Point) -> str:
    return ("both" if point.old else "new") if point.new else ("old" if point.old else "neither")


def names(rows: Sequence[Mapping[str, Value]]) -> list[str]:
    """The columns of a table of rows, in order."""
    return list(dict.fromkeys(name for one in rows for name in one))
