"""What a reader must know beside the numbers."""

from __future__ import annotations

import pytest

from orchestra.experiments.conversations import dialogues
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.notes import notes
from orchestra.experiments.running import plan

BASE = {"every": [9], "baselines": [], "workloads": [{"turns": 12}], "seeds": [1, 2, 3]}


def told(played: int | None = None, **more: object) -> list[str]:
    experiment = Experiment.model_validate({**BASE, **more})
    trials = plan(experiment, dialogues(experiment))
    records = [trial.play() for trial in trials]
    return notes(experiment, trials, records[:played])


def test_of_three_conversations_played_whole_there_is_nothing_to_say() -> None:
    assert told() == []


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"seeds": [1, 2]}, "Fewer than 3 conversations of generator"),
        ({"window": [4, 9]}, "In block and window together the arms look alike: a window of 9 turns"),
        ({"played": 1}, "2 of 3 trials were not played: the cap on spending was reached."),
    ],
)
def test_what_limits_the_numbers_is_said(more: dict[str, int], note: str) -> None:
    (found,) = told(**more)  # type: ignore[arg-type]
    assert found.startswith(note)
