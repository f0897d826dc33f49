"""The folder of an experiment: one run at a time, of one experiment, whatever happens to its files."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from orchestra.core.errors import InputError
from orchestra.experiments.arms import arms
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.results_folder import ResultsFolder, trial_name
from orchestra.experiments.trial import Options, play
from orchestra.experiments.workloads import Recipe, generate

SMALL = Experiment.model_validate({"every": [4], "baselines": [], "workloads": [{"turns": 12}]})


def taken(path: Path, experiment: Experiment = SMALL) -> None:
    with ResultsFolder(path).open(experiment, resume=True):
        pass


def test_two_runs_do_not_write_at_the_same_time(tmp_path: Path) -> None:
    with (
        ResultsFolder(tmp_path).open(SMALL, resume=False),
        pytest.raises(InputError, match="another run writes to"),
        ResultsFolder(tmp_path).open(SMALL, resume=True),
    ):
        pass
    taken(tmp_path)


def test_results_are_taken_up_only_when_asked_for_and_only_of_this_experiment(tmp_path: Path) -> None:
    taken(tmp_path)
    with pytest.raises(InputError, match="go on with --resume"), ResultsFolder(tmp_path).open(SMALL, resume=False):
        pass
    taken(tmp_path, SMALL.model_copy(update={"workers": 7, "runner": "local"}))  # who plays does not matter
    with pytest.raises(InputError, match="another experiment"):
        taken(tmp_path, SMALL.model_copy(update={"k": 9}))
    (tmp_path / "experiment.json").write_bytes(b"\xff{")
    with pytest.raises(InputError, match="another experiment"):
        taken(tmp_path)


@pytest.mark.parametrize("dataset", ["transcript", "beam"])
def test_a_folder_of_data_is_what_is_read_of_it(dataset: str, tmp_path: Path) -> None:
    data = tmp_path / ("a.jsonl" if dataset == "transcript" else "chat.json")
    data.write_text("one", encoding="utf-8")
    workload = {"dataset": dataset, "path": str(tmp_path)}
    experiment = Experiment.model_validate({"workloads": [workload]})
    out = tmp_path / "out"  # as people do who keep all in one place
    taken(out, experiment)
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    taken(out, experiment)
    data.write_text("two", encoding="utf-8")
    with pytest.raises(InputError, match="another experiment"):
        taken(out, experiment)


def test_a_damaged_trial_is_played_again(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    (arm,) = arms(SMALL)
    record = play(generate(Recipe(turns=12), 1), arm, Options((0,), 5, "extractive", "none"))
    with folder.open(SMALL, resume=False):
        folder.keep(record)
        assert folder.found(record.workload, record.case, record.arm) == record
        path = tmp_path / "trials" / f"{trial_name(record.workload, record.case, record.arm)}.json"
        whole = path.read_text(encoding="utf-8")
        for damaged in ("", whole[: len(whole) // 2], "[]", "{}", '{"workload": 1, "cost": 3}'):
            path.write_text(damaged, encoding="utf-8")
            assert folder.found(record.workload, record.case, record.arm) is None


def test_a_full_disk_is_told_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "trials").mkdir()
    (tmp_path / "experiment.json.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        taken(tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "experiment.json"))
    assert not (tmp_path / "experiment.json").exists()
