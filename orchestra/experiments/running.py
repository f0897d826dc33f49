"""Running the trials of an experiment: what is to be played, on processes of this machine or on Ray Tune."""

from __future__ import annotations

import importlib.util
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeAlias

from orchestra.core.errors import InputError
from orchestra.experiments.arms import Arm, arms
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.results_folder import ResultsFolder
from orchestra.experiments.spending import Purse
from orchestra.experiments.trial import Options, play
from orchestra.experiments.trial_record import TrialRecord
from orchestra.experiments.workloads import Dialogue

#: Tells how many of how many trials are done, and which one has just ended.
Tell: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """One arm with one dialogue. Pickles, so that any process can play it."""

    dialogue: Dialogue
    arm: Arm
    options: Options

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.dialogue.workload}, {self.dialogue.case}: {self.arm.name}"

    def play(self) -> TrialRecord:
        """Play it here."""
        return play(self.dialogue, self.arm, self.options)


def plan(experiment: Experiment, found: Sequence[Dialogue]) -> list[Trial]:
    """All trials, in the order of the tables."""
    options = Options(experiment.lags, experiment.k, experiment.model, experiment.reader)
    return [Trial(dialogue, arm, options) for dialogue in found for arm in arms(experiment)]


def run_trials(experiment: Experiment, trials: Sequence[Trial], folder: ResultsFolder, tell: Tell) -> list[TrialRecord]:
    """Play what has not been played yet; records in the order of ``trials``.

    When the cap on spending is reached, what is left is not played.
    """
    records: dict[int, TrialRecord] = {}
    for number, trial in enumerate(trials):
        before = folder.found(trial.dialogue.workload, trial.dialogue.case, trial.arm.name)
        if before is not None:
            records[number] = before
    left = [(number, trial) for number, trial in enumerate(trials) if number not in records]
    tell(len(records), len(trials), "")
    purse = Purse(experiment, records.values())
    playing = _on_ray if uses_ray(experiment) else _on_processes
    for number, record in playing(experiment, left, purse) if left else ():
        folder.keep(record)
        purse.pay(record)
        records[number] = record
        tell(len(records), len(trials), trials[number].name)
    return [records[number] for number in sorted(records)]


def uses_ray(experiment: Experiment) -> bool:
    """Whether Ray Tune runs the trials."""
    there = importlib.util.find_spec("tensorboardX") is not None and importlib.util.find_spec("pyarrow") is not None
    if experiment.runner == "ray" and not there:
        raise InputError("Ray Tune is not installed: pip install 'orchestra-runtime[tune]', or set runner: local")
    return there and experiment.runner != "local"


def _on_processes(
    experiment: Experiment, left: Sequence[tuple[int, Trial]], purse: Purse
) -> Iterator[tuple[int, TrialRecord]]:
    workers = experiment.workers or os.cpu_count() or 1
    if workers == 1 or len(left) < 2:
        for number, trial in left:
            if purse.empty:
                return
            yield number, trial.play()
        return
    # Spawned, not forked: a fork would copy locks that some thread of this process holds.
    context = get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(left)), mp_context=context, initializer=_end_with_parent) as pool:
        waiting = iter(left)
        running: dict[Future[TrialRecord], int] = {}
        while True:
            while len(running) < 2 * workers and not purse.empty and (one := next(waiting, None)) is not None:
                running[pool.submit(one[1].play)] = one[0]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, however that died.

    A worker waits for work on a pipe that its siblings hold open too, so it would wait for ever after a SIGKILL.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def _on_ray(
    experiment: Experiment, left: Sequence[tuple[int, Trial]], purse: Purse
) -> Iterator[tuple[int, TrialRecord]]:
    from orchestra.experiments.ray_trials import play_on_ray

    return play_on_ray(experiment, left, purse)
