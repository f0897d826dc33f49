"""Experiment files: shipped ones load, wrong ones are told with line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError
from orchestra.experiments.arms import arms
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.experiment_file import load_experiment

SHIPPED = Path(__file__).parents[3] / "configs" / "experiments"


@pytest.mark.parametrize("name", ["quick", "frequency", "budget", "adaptive", "shared_writers"])
def test_shipped_files_load(name: str) -> None:
    experiment = load_experiment(SHIPPED / f"{name}.yaml")
    names = [arm.name for arm in arms(experiment)]
    assert len(set(names)) == len(names)
    assert (experiment.shared_writers is not None) == (name == "shared_writers")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("every: [1, 0]", 1, "every[1]: must be a whole number of turns greater than 0, or off"),
        ("name: x\nevry: [1]", 2, "evry: there is no key 'evry'. Did you mean 'every'?"),
        ("workloads:\n  - {dataset: locomo}", 2, "workloads[0].path: the data set locomo needs a path"),
        ("workloads:\n  - {dataset: locomo, path: nowhere.json}", 2, "there is no such file or folder"),
        ("workloads:\n  - {dataset: lokomo}", 2, "Did you mean 'locomo'?"),
        ("workloads:\n  - {turns: 20}\n  - {turns: 30}", 3, "two workloads are called 'generator'"),
        ("workloads: [{filler: 0.8, updates: 0.5}]", 1, "filler and updates are 1.3 together"),
        ("triggers: [{tokens: 5, idle: 3s}]", 1, "exactly one of tokens, idle, compaction, adaptive"),
        ("triggers: [{adaptive: {min: 9, max: 3}}]", 1, "min is 9 and max is 3"),
        ("workloads: [{name: a/b}]", 1, "workloads[0].name: must do as a part of a file's name"),
        ("workloads: [{name: ..}]", 1, "workloads[0].name: must do as a part of a file's name"),
        ("name: x\nseeds: [1, 2, 1]", 2, "seeds: the same seed twice would be one dialogue counted as two"),
        ("window: []", 1, "window: must have at least 1 entry"),
        ("every: []\nbaselines: []", 1, "there is no arm"),
        ("search: optuna\nrunner: local", 1, "a searcher needs Ray Tune"),
        ("consolidator: [magic]", 1, "must be one of extractive, append-only, replay, gold, llm"),
        ("shared_writers: {writers: [0]}", 1, "shared_writers.writers[0]"),
    ],
)
def test_faults_are_told_with_line_and_field(text: str, line: int, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    assert caught.value.line == line
    assert problem in str(caught.value)


def test_arms_are_named_by_what_tells_them_apart() -> None:
    experiment = Experiment.model_validate(
        {"every": [5, "off"], "triggers": ["compaction"], "baselines": ["gold"], "consolidator": ["extractive", "llm"]}
    )
    names = [arm.name for arm in arms(experiment)]
    assert names == ["every 5, extractive", "every 5, llm", "off", "compaction, extractive", "compaction, llm", "gold"]
