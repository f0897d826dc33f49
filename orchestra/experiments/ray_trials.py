"""Trials on Ray Tune: spread over a cluster, or picked by a searcher."""

from __future__ import annotations

import os
import queue
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, TypeAlias

from orchestra.cluster.ray_connection import RayConnection
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.trial_record import TrialRecord
from orchestra.runtime.cluster_file import load_cluster

if TYPE_CHECKING:
    from orchestra.experiments.running import Trial
    from orchestra.experiments.spending import Purse

Found: TypeAlias = "tuple[int, TrialRecord]"
Told: TypeAlias = "queue.SimpleQueue[Found | BaseException | None]"

_PIECES = 60

#: Where the records of the run that is under way go. Tune pickles its callbacks, so theirs cannot hold it.
finished: Told | None = None


def play_on_ray(experiment: Experiment, left: Sequence[tuple[int, Trial]], purse: Purse) -> Iterator[Found]:
    """Each trial as it ends. Joins the Ray of ``ORCHESTRA_RAY_ADDRESS``, else starts a private one.

    With ``search: optuna`` a trial of Tune is one arm with all its dialogues, and Optuna picks the arms.
    """
    config = load_cluster()
    if experiment.workers is not None:
        config = config.model_copy(update={"ray": config.ray.model_copy(update={"num_cpus": experiment.workers})})
    connection = RayConnection.open(config)
    global finished
    done: Told = queue.SimpleQueue()
    finished = done

    def work() -> None:
        try:
            # Standard output is for the results: what Tune prints goes where progress goes.
            with redirect_stdout(sys.stderr):
                _fit(experiment, left, purse)
            done.put(None)
        except BaseException as error:
            done.put(error)

    thread = threading.Thread(target=work, name="ray tune", daemon=True)
    try:
        thread.start()
        while (one := done.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            yield one
        thread.join()
    finally:
        connection.close()
        finished = None


def _fit(experiment: Experiment, left: Sequence[tuple[int, Trial]], purse: Purse) -> None:
    # Read when ray.tune is imported: without it Tune draws tables of its own.
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    from ray import tune

    searching = experiment.search == "optuna"
    groups = _by_arm(left) if searching else _in_pieces(left)

    class Collect(tune.Callback):  # type: ignore[misc]
        """Takes the records out of the results as they come."""

        def on_trial_result(
            self, iteration: int, trials: list[object], trial: object, result: Mapping[str, Json], **info: object
        ) -> None:
            from orchestra.experiments import ray_trials

            for number, text in loads(str(result["records"])):
                assert ray_trials.finished is not None
                ray_trials.finished.put((number, TrialRecord.from_json(text)))

    space = tune.choice if searching else tune.grid_search
    options: dict[str, object] = {"reuse_actors": True}
    if searching:
        from ray.tune.search.optuna import OptunaSearch

        options |= {
            "search_alg": OptunaSearch(metric="score", mode="max", seed=experiment.seeds[0]),
            "num_samples": min(experiment.trials, len(groups)),
            "max_concurrent_trials": experiment.workers,
        }
    with tempfile.TemporaryDirectory(prefix="orchestra-tune-") as storage:
        tuner = tune.Tuner(
            tune.with_parameters(_trainable(experiment), groups=groups),
            param_space={"group": space(list(range(len(groups))))},
            tune_config=tune.TuneConfig(**options),
            run_config=tune.RunConfig(
                storage_path=storage, verbose=0, callbacks=[Collect()], stop=lambda *_: purse.empty
            ),
        )
        results = tuner.fit()
        for error in results.errors:
            raise error


def _trainable(experiment: Experiment) -> Callable[..., None]:
    worth, prices = experiment.worth, experiment.prices

    def trainable(config: Mapping[str, int], groups: Sequence[Sequence[tuple[int, Trial]]]) -> None:
        from ray import tune

        from orchestra.experiments.measures import freshness, score

        records = [(number, trial.play()) for number, trial in groups[config["group"]]]
        scores = []
        for _, record in records:
            cost = record.cost
            sleep = prices.sleeptime.of(cost.sleep_in, cost.sleep_out)
            primary = prices.primary.of(cost.primary_in + cost.search_in, cost.primary_out)
            scores.append(score(freshness(record) or 0.0, sleep=sleep, primary=primary, worth=worth))
        told = dumps([[number, record.to_json()] for number, record in records])
        tune.report({"records": told, "score": sum(scores) / len(scores)})

    return trainable


def _in_pieces(left: Sequence[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
    """Groups that a trial of Tune plays one after the other: one costs it about half a second of its own."""
    size = max(1, len(left) // _PIECES)
    return [list(left[i : i + size]) for i in range(0, len(left), size)]


def _by_arm(left: Sequence[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
    out: dict[str, list[tuple[int, Trial]]] = {}
    for number, trial in left:
        out.setdefault(trial.arm.name, []).append((number, trial))
    return list(out.values())
