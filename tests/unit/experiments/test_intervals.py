"""Intervals and the table of arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestra.experiments.arms import Arm
from orchestra.experiments.intervals import Resamples, estimate
from orchestra.experiments.measures import freshness, mean
from orchestra.experiments.trial import Options, play
from orchestra.experiments.trial_record import TrialRecord
from orchestra.experiments.workloads import Recipe, generate
from orchestra.sleeptime.triggers import EveryTurns

DIALOGUES = [generate(Recipe(turns=60), seed) for seed in (1, 2, 3)]


def records(every: int) -> list[TrialRecord]:
    one = Arm(f"every {every}", "fixed", EveryTurns(every), "block", "extractive", 5000, 4)
    return [play(dialogue, one, Options((0,), 5, "extractive", "none")) for dialogue in DIALOGUES]


OFTEN, SELDOM = records(2), records(6)


def test_the_value_is_that_of_the_sample_and_stands_in_its_interval() -> None:
    found = estimate(Resamples(OFTEN, 500).freshness(OFTEN))
    assert found is not None
    assert found.value == pytest.approx(mean(freshness(record) for record in OFTEN))
    assert found.low < found.value < found.high


def test_differences_are_paired() -> None:
    resamples = Resamples(OFTEN, 500)
    often, seldom = resamples.freshness(OFTEN), resamples.freshness(SELDOM)
    gap, one = estimate(often - seldom), estimate(often)
    assert gap is not None
    assert one is not None
    assert gap.low > 0
    assert np.all(estimate(often - often) == estimate(np.zeros(501)))
    shuffled = estimate(often - np.concatenate([seldom[:1], np.random.default_rng(1).permutation(seldom[1:])]))
    assert shuffled is not None
    assert gap.high - gap.low < shuffled.high - shuffled.low


def test_the_same_resamples_every_time_and_for_every_order() -> None:
    again = Resamples(OFTEN, 500).freshness(list(reversed(OFTEN)))
    assert np.array_equal(Resamples(OFTEN, 500).freshness(OFTEN), again)


def test_what_was_never_asked_has_no_estimate() -> None:
    assert estimate(np.full(10, np.nan)) is None


def test_many_small_conversations_have_no_bias() -> None:
    small = [generate(Recipe(turns=12, filler=0.2), seed) for seed in range(30)]
    one = Arm("every 3", "fixed", EveryTurns(3), "block", "extractive", 5000, 4)
    played = [play(dialogue, one, Options((0,), 5, "extractive", "none")) for dialogue in small]
    played = [replace(record, case=str(number)) for number, record in enumerate(played)]
    found = Resamples(played, 1000).freshness(played)
    assert found[0] == pytest.approx(mean(freshness(record) for record in played))
    assert found[1:].mean() == pytest.approx(found[0], abs=0.005)
