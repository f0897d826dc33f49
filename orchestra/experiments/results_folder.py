"""The folder of an experiment: what was found, trial by trial, so that a killed run goes on; and the tables."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.measures import Value, names
from orchestra.experiments.trial_record import TrialRecord

#: Counts up when the same experiment would give other numbers.
FORMAT = 1
_DIGITS = 6


class ResultsFolder:
    """Owner: the one run of an experiment that writes there. Files appear whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trials = path / "trials"

    def open(self, experiment: Experiment, *, resume: bool) -> None:
        """Make the folder, or take it up again.

        Raises:
            InputError: it holds results and ``resume`` is not asked for, or they are of another experiment.
        """
        mark = self.path / "experiment.json"
        told = dumps({"format": FORMAT, "experiment": _plain(experiment)})
        if mark.exists():
            if not resume:
                raise InputError(
                    f"{self.path} already holds an experiment; go on with --resume, or name another folder"
                )
            if mark.read_text(encoding="utf-8") != told:
                raise InputError(f"{self.path} holds another experiment or one of another version; name another folder")
        self._trials.mkdir(parents=True, exist_ok=True)
        self.write("experiment.json", told)

    def write(self, name: str, text: str | bytes) -> None:
        """Put a file there, at once."""
        whole = text.encode() if isinstance(text, str) else text
        part = self.path / f"{name}.part"
        part.write_bytes(whole)
        os.replace(part, self.path / name)

    def keep(self, record: TrialRecord) -> None:
        """Remember a finished trial."""
        name = trial_name(record.workload, record.case, record.arm)
        self.write(f"trials/{name}.json", dumps(record.to_json()))

    def found(self, workload: str, case: str, arm: str) -> TrialRecord | None:
        """A trial that was finished before."""
        path = self._trials / f"{trial_name(workload, case, arm)}.json"
        return TrialRecord.from_json(loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def table(self, name: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Write rows as CSV: the same rows give the same bytes."""
        columns = names(rows)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
        self.write(name, text.getvalue())


def trial_name(workload: str, case: str, arm: str) -> str:
    """A file name that tells what the trial is, and no other trial has."""
    whole = f"{workload}|{case}|{arm}"
    plain = re.sub(r"[^a-z0-9]+", "-", whole.lower()).strip("-")[:80]
    return f"{plain}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def _plain(experiment: Experiment) -> Json:
    """What decides the numbers: not who runs it, nor what it may spend."""
    value = experiment.model_dump(mode="json", exclude={"runner", "workers", "spending"})
    for workload in value["workloads"]:
        for name in ("path", "audit"):
            if workload[name] is not None:
                workload[name] = _digest(Path(workload[name]))
    return value


def _digest(path: Path) -> str:
    """The content of a data file or folder, so that a moved one is the same and a changed one is another."""
    whole = hashlib.sha256()
    for file in _files(path):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    return iter(sorted(one for one in path.rglob("*") if one.is_file())) if path.is_dir() else iter([path])


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}f}"
    return str(value)
