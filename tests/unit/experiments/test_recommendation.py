"""Which arm is recommended, and what is said about adapting."""

from __future__ import annotations

import numpy as np
import pytest

from orchestra.experiments.arms import Arm
from orchestra.experiments.intervals import Estimate
from orchestra.experiments.recommendation import recommend
from orchestra.experiments.summary import ArmSummary, WorkloadSummary
from orchestra.sleeptime.triggers import Adaptive, EveryTurns, Never, Trigger


def summary(trigger: Trigger, fresh: float, tokens: float, *, spread: float = 0.01) -> ArmSummary:
    every = trigger.turns if isinstance(trigger, EveryTurns) else None
    kind = "fixed" if every else "off" if isinstance(trigger, Never) else "trigger"
    samples = np.concatenate([[fresh], fresh + np.linspace(-spread, spread, 101)])
    arm = Arm(trigger.label, kind, trigger, "block", "extractive", 5000, 4, every)  # type: ignore[arg-type]
    found = Estimate(fresh, fresh - spread, fresh + spread)
    return ArmSummary(arm, found, {}, None, None, None, None, tokens, 10_000, 1, 0, tokens / 1e6, 0.01, samples)


FIXED = [
    summary(EveryTurns(1), 0.97, 10_000),
    summary(EveryTurns(5), 0.90, 2_000),
    summary(EveryTurns(25), 0.60, 500),
    summary(Never(), 0.0, 0),
]


def advice(*more: ArmSummary, worth: float = 0.2) -> tuple[str | None, str, list[bool], list[bool]]:
    found = recommend(WorkloadSummary("w", 3, 100, (*FIXED, *more), {}), worth=worth)
    return found.arm, found.text, [one.reaches for one in found.adaptive], [one.pays for one in found.adaptive]


@pytest.mark.parametrize(("worth", "arm"), [(0.01, "every 1"), (0.2, "every 5"), (5.0, "every 25"), (20.0, "off")])
def test_the_dearer_freshness_is_the_rarer_the_passes(worth: float, arm: str) -> None:
    assert advice(worth=worth)[0] == arm


def test_the_reason_is_told_in_words_with_the_neighbours_and_other_prices() -> None:
    _, text, _, _ = advice()
    assert text.startswith("Take every 5: freshness 0.900 (0.890 to 0.910) for 20%")
    assert "every 1, would change it by +0.070 for another 80%" in text
    assert "every 25, would save 15% and change it by -0.300" in text
    assert "every 1 at 0.1 to 0.25; every 5 at 0.5 to 4" in text


def test_adaptive_reaches_the_best_fixed_one_or_the_report_says_where_not() -> None:
    assert advice(summary(Adaptive(1, 25), 0.90, 2_100))[2:] == ([True], [True])
    arm, _, reaches, pays = advice(summary(Adaptive(1, 25), 0.93, 4_000))
    assert (arm, reaches, pays) == ("every 5", [False], [False])
    assert advice(summary(Adaptive(1, 25), 0.80, 1_900))[2:] == ([False], [False])


def test_an_adaptive_arm_is_told_with_the_interval_of_the_difference() -> None:
    dear = summary(Adaptive(1, 25), 0.93, 4_000, spread=0.05)
    (verdict,) = recommend(WorkloadSummary("w", 3, 100, (*FIXED, dear), {}), worth=0.2).adaptive
    # Resamples are paired: the difference spreads by 0.05 - 0.01, of which 95 % are kept.
    assert "does not reach every 5 within 10 % of its tokens: freshness +0.030 (-0.008 to +0.068)" in verdict.text
    assert "Against every 1, the rarest that may cost what it does (10,000 tokens to 4,000)" in verdict.text


def test_without_a_fixed_arm_nothing_is_recommended() -> None:
    found = recommend(WorkloadSummary("w", 3, 100, (summary(Adaptive(1, 9), 0.5, 1),), {}), worth=0.2)
    assert found.arm is None
