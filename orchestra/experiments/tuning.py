"""An experiment from its file to its report: what ``orchestra tune`` does."""

from __future__ import annotations

import importlib.util
import io
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orchestra.core.errors import LimitReached
from orchestra.core.jsontext import Json, dumps
from orchestra.experiments.arms import Arm, arms
from orchestra.experiments.conversations import defects, dialogues
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.intervals import Estimate
from orchestra.experiments.measures import Value, row
from orchestra.experiments.notes import notes
from orchestra.experiments.plots import can_plot, plots
from orchestra.experiments.recommendation import Recommendation, recommend
from orchestra.experiments.report import report, shared_writers_report
from orchestra.experiments.results_folder import ResultsFolder
from orchestra.experiments.running import Tell, Trial, plan, run_trials
from orchestra.experiments.spending import estimate_spending
from orchestra.experiments.summary import ArmSummary, WorkloadSummary, summarise
from orchestra.experiments.trial_record import TrialRecord


@dataclass(frozen=True, slots=True)
class Tuned:
    """What an experiment came to. ``writers``: the rows of an experiment with shared writers."""

    experiment: Experiment
    workloads: tuple[WorkloadSummary, ...]
    advice: tuple[Recommendation, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    writers: tuple[Mapping[str, Value], ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The summary."""
        return _summary(self.experiment, self.workloads, self.advice, self.notes, self.writers)


def tune(
    experiment: Experiment,
    out: Path,
    *,
    resume: bool = False,
    tell: Tell = lambda done, all_, name: None,
    agree: Callable[[float], bool] = lambda money: True,
) -> Tuned:
    """Run the experiment and write its tables, plots and report into ``out``.

    ``agree`` is asked with an estimate of the money that a provider will get, when it is above
    ``spending.ask_above``. The same experiment and versions give the same ``results.csv``, byte for byte.

    Raises:
        ConfigError: a data file is malformed; names line and field.
        InputError: ``out`` holds another experiment, or another run writes there.
        OSError: a file cannot be written; names it.
        LimitReached: ``agree`` says no.
    """
    folder = ResultsFolder(out)
    if experiment.shared_writers is not None:
        with folder.open(experiment, resume=resume):
            return _shared_writers(experiment, folder, tell)
    found = dialogues(experiment)
    trials = plan(experiment, found)
    money = estimate_spending(experiment, found, arms(experiment))
    if money > experiment.spending.ask_above and not agree(money):
        raise LimitReached("cost", experiment.spending.ask_above)
    with folder.open(experiment, resume=resume):
        records = run_trials(experiment, trials, folder, tell)
        return _finish(experiment, folder, trials, records, defects(found))


def _finish(
    experiment: Experiment,
    folder: ResultsFolder,
    trials: Sequence[Trial],
    records: Sequence[TrialRecord],
    faults: Mapping[str, Mapping[str, int]],
) -> Tuned:
    all_arms = arms(experiment)
    rows = [_row(experiment, record, _arm(all_arms, record)) for record in records]
    folder.table("results.csv", rows)
    folder.table("timings.csv", [_timing(record) for record in records])
    if importlib.util.find_spec("pyarrow") is not None:
        folder.write("results.parquet", _parquet(rows))
    workloads = summarise(experiment, all_arms, records, rows, faults)
    advice = tuple(recommend(workload, worth=experiment.worth) for workload in workloads)
    told = notes(experiment, trials, records)
    images: dict[str, dict[str, bytes]] = {}
    if can_plot():
        for workload, one in zip(workloads, advice, strict=True):
            images[workload.name] = plots(workload, one)
            for name, image in images[workload.name].items():
                folder.write(f"{workload.name}-{name}.png" if len(workloads) > 1 else f"{name}.png", image)
    else:
        told.append("There are no plots: matplotlib is not installed (pip install 'orchestra-runtime[tune]').")
    tuned = Tuned(experiment, workloads, advice, tuple(told), _files(folder.path))
    folder.write("summary.json", dumps(tuned.to_json()))
    html = report(experiment, workloads, advice, images, versions=versions(), notes=told)
    folder.write("report.html", html)
    return Tuned(experiment, workloads, advice, tuple(told), _files(folder.path))


def _shared_writers(experiment: Experiment, folder: ResultsFolder, tell: Tell) -> Tuned:
    from orchestra.experiments.shared_writers import play_shared_writers

    assert experiment.shared_writers is not None
    counts = experiment.shared_writers.writers
    results, timings = [], []
    for number, writers in enumerate(counts):
        tell(number, len(counts), f"{writers} writers")
        found = play_shared_writers(experiment.shared_writers, writers)
        results.append(found.result)
        timings.append({"writers": writers, **found.timing})
    tell(len(counts), len(counts), "")
    folder.table("results.csv", results)
    folder.table("timings.csv", timings)
    rows = tuple({**one, **two} for one, two in zip(results, timings, strict=True))
    tuned = Tuned(experiment, (), (), (), _files(folder.path), rows)
    folder.write("summary.json", dumps(tuned.to_json()))
    folder.write("report.html", shared_writers_report(experiment, rows, versions()))
    return Tuned(experiment, (), (), (), _files(folder.path), rows)


def versions() -> dict[str, str]:
    """What the numbers depend on besides the experiment."""
    out = {"Python": platform.python_version()}
    for name, package in (("orchestra-runtime", "orchestra-runtime"), ("numpy", "numpy")):
        try:
            out[name] = version(package)
        except PackageNotFoundError:
            continue
    return out


def _arm(all_arms: Sequence[Arm], record: TrialRecord) -> Arm:
    return next(arm for arm in all_arms if arm.name == record.arm)


def _row(experiment: Experiment, record: TrialRecord, arm: Arm) -> dict[str, Value]:
    found = row(record, lags=experiment.lags, k=experiment.k, prices=experiment.prices)
    told: dict[str, Value] = {
        "kind": arm.kind,
        "trigger": arm.trigger.label,
        "every": arm.every,
        "consolidator": arm.consolidator if arm.kind in ("fixed", "trigger") else None,
        "block_limit": arm.block_limit,
        "window": arm.window,
    }
    first = ("workload", "case", "arm")
    return {**{name: found[name] for name in first}, **told, **{k: v for k, v in found.items() if k not in first}}


def _timing(record: TrialRecord) -> dict[str, Value]:
    return {"workload": record.workload, "case": record.case, "arm": record.arm, "seconds": record.seconds}


def _parquet(rows: Sequence[Mapping[str, Value]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    whole = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([dict(row) for row in rows]), whole)
    return whole.getvalue()


def _files(path: Path) -> tuple[Path, ...]:
    names = ("report.html", "results.csv", "results.parquet", "summary.json", "timings.csv")
    return tuple(path / name for name in names if (path / name).exists())


def _summary(
    experiment: Experiment,
    workloads: Sequence[WorkloadSummary],
    advice: Sequence[Recommendation],
    notes: Sequence[str],
    writers: Sequence[Mapping[str, Value]],
) -> dict[str, Json]:
    out: dict[str, Json] = {"experiment": experiment.name, "versions": dict(versions()), "notes": list(notes)}
    if writers:
        out["writers"] = [dict(one) for one in writers]
    out["workloads"] = [
        {
            "name": workload.name,
            "conversations": workload.cases,
            "facts": workload.questions,
            "defects": dict(workload.defects),
            "recommended": one.arm,
            "reason": one.text,
            "by_price_ratio": {f"{ratio:g}": name for ratio, name in one.by_ratio.items()},
            "adaptive": [
                {
                    "arm": v.arm,
                    "against": v.against,
                    "reaches": v.reaches,
                    "peer": v.peer,
                    "pays": v.pays,
                    "text": v.text,
                }
                for v in one.adaptive
            ],
            "arms": [_arm_json(arm) for arm in workload.arms],
        }
        for workload, one in zip(workloads, advice, strict=True)
    ]
    return out


def _arm_json(one: ArmSummary) -> dict[str, Json]:
    return {
        "arm": one.arm.name,
        "kind": one.arm.kind,
        "freshness": _interval(one.freshness),
        "recall": {place: _interval(found) for place, found in one.recall.items()},
        "staleness": _interval(one.staleness),
        "never": _interval(one.never),
        "updated": _interval(one.updated),
        "tokens_sleep": round(one.tokens_sleep, 3),
        "tokens_primary": round(one.tokens_primary, 3),
        "passes": round(one.passes, 3),
        "idle_passes": round(one.idle_passes, 3),
        "money_sleep": round(one.money_sleep, 6),
        "money_primary": round(one.money_primary, 6),
    }


def _interval(found: Estimate | None) -> Json:
    return None if found is None else [round(found.value, 6), round(found.low, 6), round(found.high, 6)]
