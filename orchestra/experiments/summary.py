"""The arms of a workload in one table, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestra.experiments.arms import Arm
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.intervals import Estimate, Floats, Resamples, estimate
from orchestra.experiments.measures import Value, mean
from orchestra.experiments.trial_record import TrialRecord


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over all cases of a workload. Tokens, passes and money are means over the cases.

    ``samples`` are the freshness of the sample and of each resample, for paired differences.
    """

    arm: Arm
    freshness: Estimate | None
    recall: Mapping[str, Estimate | None]
    staleness: Estimate | None
    staleness_p95: float | None
    never: Estimate | None
    updated: Estimate | None
    tokens_sleep: float
    tokens_primary: float
    passes: float
    idle_passes: float
    money_sleep: float
    money_primary: float
    samples: Floats

    def difference(self, other: ArmSummary) -> Estimate | None:
        """How much fresher this arm is than ``other``, over the same questions."""
        return estimate(self.samples - other.samples)


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """A workload: its arms in the order of the experiment, and what was wrong with its data."""

    name: str
    cases: int
    questions: int
    arms: tuple[ArmSummary, ...]
    defects: Mapping[str, int]

    @property
    def size(self) -> str:
        """How much it is, in words."""
        return f"{self.cases} conversation{'s' * (self.cases != 1)}, {self.questions} fact{'s' * (self.questions != 1)}"

    def of_kind(self, *kinds: str) -> list[ArmSummary]:
        """The arms of these kinds."""
        return [one for one in self.arms if one.arm.kind in kinds]


def summarise(
    experiment: Experiment,
    arms: Sequence[Arm],
    records: Sequence[TrialRecord],
    rows: Sequence[Mapping[str, Value]],
    defects: Mapping[str, Mapping[str, int]],
) -> tuple[WorkloadSummary, ...]:
    """One summary for each workload. Arms that not every case was played with (a cap was reached) are left out."""
    out = []
    for workload in experiment.workloads:
        mine = [record for record in records if record.workload == workload.label]
        if not mine:
            continue
        cases = len({record.case for record in mine})
        by_arm = {arm.name: [record for record in mine if record.arm == arm.name] for arm in arms}
        whole = [arm for arm in arms if len(by_arm[arm.name]) == cases]
        if not whole:
            continue
        resamples = Resamples(by_arm[whole[0].name], experiment.resamples)
        found = [
            _summary(
                arm,
                by_arm[arm.name],
                [row for row in rows if (row["workload"], row["arm"]) == (workload.label, arm.name)],
                resamples,
                experiment.lags,
            )
            for arm in whole
        ]
        questions = sum(trace.kind != "retraction" for record in by_arm[whole[0].name] for trace in record.traces)
        out.append(WorkloadSummary(workload.label, cases, questions, tuple(found), defects.get(workload.label, {})))
    return tuple(out)


def _summary(
    arm: Arm,
    records: Sequence[TrialRecord],
    rows: Sequence[Mapping[str, Value]],
    resamples: Resamples,
    lags: Sequence[int],
) -> ArmSummary:
    samples = resamples.freshness(records)
    recall = {f"lag {lag}": estimate(resamples.recall(records, lag)) for lag in lags}
    recall["end"] = estimate(resamples.recall(records, None))

    def average(*columns: str) -> float:
        return float(np.mean([sum(float(row[name] or 0) for name in columns) for row in rows]))

    return ArmSummary(
        arm=arm,
        freshness=estimate(samples),
        recall=recall,
        staleness=estimate(resamples.staleness(records)),
        staleness_p95=mean(float(row["staleness_p95"]) for row in rows if row["staleness_p95"] is not None),
        never=estimate(resamples.never(records)),
        updated=estimate(resamples.updated(records)),
        tokens_sleep=average("tokens_sleep_in", "tokens_sleep_out"),
        tokens_primary=average("tokens_primary_in", "tokens_primary_out", "tokens_search"),
        passes=average("passes"),
        idle_passes=average("passes_idle"),
        money_sleep=average("money_sleep"),
        money_primary=average("money_primary"),
        samples=samples,
    )
