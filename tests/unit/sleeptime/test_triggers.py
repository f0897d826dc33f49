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
    assert seen == [3, 4, 5, 4, 5, 6, 7, 8, 10, 12, 12, 12, 12, 8, 6, 3]


@pytest.mark.parametrize(("lines", "turns"), [(1, 10), (1, 4), (1, 2), (55, 64), (1, 1), (7, 1)])
def test_adaptive_settles_where_lines_times_turns_squared_are_its_aim(lines: int, turns: int) -> None:
    trigger, now, taken, told = Adaptive(1, 25), 0, 0, 0
    found = []
    for _ in range(200):
        length = now or trigger.min
        # As many lines as have come since the last pass, at an even rate.
        before, taken = told, taken + length
        told = taken * lines // turns
        now = trigger.interval_after(Counters(length, interval=now), told - before)
        found.append(now)
    middle = sorted(found[100:])[50]
    assert middle == pytest.approx((55 * turns / lines) ** (1 / 3), abs=1.25)


def test_only_adaptive_learns() -> None:
    assert EveryTurns(5).interval_after(Counters(5, interval=0), 0) == 0
