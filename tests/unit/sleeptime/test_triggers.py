"""When a pass is due."""

from __future__ import annotations

import pytest

from orchestra.sleeptime.triggers import (
    Adaptive,
    BeforeCompaction,
    Counters,
    EveryTokens,
    EveryTurns,
    Never,
    Trigger,
    WhenIdle,
)


@pytest.mark.parametrize(
    ("trigger", "due", "not_due"),
    [
        (EveryTurns(5), Counters(5), Counters(4, tokens=10**6, idle=1e9, compacting=True)),
        (EveryTokens(100), Counters(1, tokens=100), Counters(9, tokens=99)),
        (WhenIdle(60), Counters(1, idle=60), Counters(9, idle=59.9)),
        (BeforeCompaction(), Counters(1, compacting=True), Counters(99)),
        (Adaptive(2, 9), Counters(2), Counters(1)),
        (Adaptive(2, 9), Counters(6, interval=6), Counters(5, interval=6)),
    ],
)
def test_due(trigger: Trigger, due: Counters, not_due: Counters) -> None:
    assert trigger.due(due)
    assert not trigger.due(not_due)


@pytest.mark.parametrize("trigger", [EveryTokens(0), WhenIdle(0), BeforeCompaction(), EveryTurns(1), Adaptive(1, 2)])
def test_never_without_a_turn(trigger: Trigger) -> None:
    assert not trigger.due(Counters(0, tokens=10**6, idle=1e9, compacting=True))


def test_off_is_never() -> None:
    assert not Never().due(Counters(10**6, 10**6, 1e9, True))


def test_adaptive_backs_off_and_comes_closer() -> None:
    trigger = Adaptive(2, 12)
    interval = 0
    seen = []
    for changes in (0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 4, 99):
        turns = interval or trigger.min
        interval = trigger.interval_after(Counters(turns, interval=interval), changes)
        seen.append(interval)
    assert seen == [3, 4, 5, 4, 5, 6, 7, 8, 10, 12, 12, 12, 12, 4, 3, 2]


@pytest.mark.parametrize(("lines", "turns", "interval"), [(1, 3, 6), (1, 1, 3), (3, 1, 2), (12, 1, 1)])
def test_adaptive_settles_where_lines_times_turns_are_its_aim(lines: int, turns: int, interval: int) -> None:
    trigger, now = Adaptive(1, 25), 0
    for _ in range(20):
        taken = now or trigger.min
        now = trigger.interval_after(Counters(taken, interval=now), taken * lines // turns)
    assert now == interval


def test_only_adaptive_learns() -> None:
    assert EveryTurns(5).interval_after(Counters(5, interval=0), 0) == 0
