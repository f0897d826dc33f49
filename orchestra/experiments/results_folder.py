"""The folder of an experiment: what was found, trial by trial, so that a killed run goes on; and the tables."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.experiments.experiment import Dataset, Experiment
from orchestra.experiments.measures import Value, names
from orchestra.experiments.trial_record import TrialRecord

#: Counts up when the same experiment would give other numbers.
FORMAT = 1
_DIGITS = 6
#: The files that a data set which may be a folder is read from. Others in the folder may come and go.
_READ: Mapping[Dataset, Sequence[str]] = {
    "transcript": ("*.jsonl",),
    "beam": tuple(f"{below}{name}" for below in ("", "*/") for name in ("chat.json", "probing_questions/*.json")),
}


class ResultsFolder:
    """Owner: the one run of an experiment that writes there. Files appear whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trials = path / "trials"

    @contextmanager
    def open(self, experiment: Experiment, *, resume: bool) -> Iterator[None]:
        """Make the folder, or take it up again; it is this run's while the context lasts.

        Raises:
            InputError: it holds results and ``resume`` is not asked for, they are of another experiment or version, or
                another run writes there now.
        """
        self._trials.mkdir(parents=True, exist_ok=True)
        # Without it two runs put the same `.part` in place: the second finds it gone, after an hour perhaps.
        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise InputError(f"another run writes to {self.path} now; wait for it, or name another folder") from None
        except OSError:
            pass  # a file system without locks: people must not start two runs there
        try:
            self._take(experiment, resume=resume)
            yield
        finally:
            os.close(lock)

    def _take(self, experiment: Experiment, *, resume: bool) -> None:
        mark = self.path / "experiment.json"
        told = dumps({"format": FORMAT, "version": _version(), "experiment": _plain(experiment)})
        if mark.exists():
            if not resume:
                raise InputError(
                    f"{self.path} already holds an experiment; go on with --resume, or name another folder"
                )
            if mark.read_text(encoding="utf-8", errors="replace") != told:
                raise InputError(f"{self.path} holds another experiment or one of another version; name another folder")
        self.write("experiment.json", told)

    def write(self, name: str, text: str | bytes) -> None:
        """Put a file there, at once. Raises :class:`OSError` with the file's name when that does not work."""
        whole = text.encode(errors="replace") if isinstance(text, str) else text
        part = self.path / f"{name}.part"
        try:
            part.write_bytes(whole)
            os.replace(part, self.path / name)
        except OSError as error:
            # A full disk is found out while writing, and such an error does not say where.
            raise OSError(error.errno, error.strerror, str(self.path / name)) from error

    def keep(self, record: TrialRecord) -> None:
        """Remember a finished trial."""
        name = trial_name(record.workload, record.case, record.arm)
        self.write(f"trials/{name}.json", dumps(record.to_json()))

    def found(self, workload: str, case: str, arm: str) -> TrialRecord | None:
        """A trial that was finished before; one whose file is damaged (a machine that went down) was not."""
        path = self._trials / f"{trial_name(workload, case, arm)}.json"
        if not path.exists():
            return None
        try:
            return TrialRecord.from_json(loads(path.read_text(encoding="utf-8")))
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

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
                workload[name] = _digest(Path(workload[name]), _READ.get(workload["dataset"], ()))
    return value


def _version() -> str:
    try:
        return version("orchestra-runtime")
    except PackageNotFoundError:
        return ""


def _digest(path: Path, patterns: Sequence[str]) -> str:
    """The content of a data file or folder, so that a moved one is the same and a changed one is another."""
    whole = hashlib.sha256()
    for file in sorted({one for pattern in patterns for one in path.glob(pattern)}) if path.is_dir() else [path]:
        content = file.read_bytes()
        whole.update(f"{file.relative_to(path)} {len(content)}\n".encode(errors="replace"))
        whole.update(content)
    return whole.hexdigest()


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}f}"
    return str(value)
