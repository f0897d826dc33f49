"""Memory pressure: one notice in a cycle, then about half of the window goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.compaction import kept_after
from orchestra.context.invariants import faults
from orchestra.context.pressure import eviction_cut, notice, pressure_due
from orchestra.context.repair import repair
from orchestra.context.splitting import legal_places
from orchestra.core.conversation import Pressure
from orchestra.core.messages import Message
from tests.unit.context.logs import LOGS, answers, asks, says, user


@pytest.mark.parametrize(
    ("tokens", "settings", "cycle", "noticed", "yes"),
    [
        (140_000, Pressure(), 0, None, True),
        (139_999, Pressure(), 0, None, False),
        (140_000, Pressure(), 0, 0, False),
        (140_000, Pressure(), 1, 0, True),
        (140_000, None, 0, None, False),
        (100_000, Pressure(at=0.5), 3, 2, True),
        (99_999, Pressure(at=0.5), 3, 2, False),
        (0, Pressure(), 0, None, False),
    ],
)
def test_one_notice_in_a_cycle(
    tokens: int, settings: Pressure | None, cycle: int, noticed: int | None, yes: bool
) -> None:
    gate = pressure_due(tokens=tokens, window=200_000, settings=settings, cycle=cycle, noticed=noticed)
    assert gate.yes is yes
    assert gate.reason


def test_the_notice_gives_the_numbers() -> None:
    text = notice(17_000, 24_000)
    assert "70 %" in text
    assert "17000 of 24000" in text


def test_about_half_of_the_window_goes() -> None:
    log = [message for _ in range(50) for message in (user(), says())]
    made = eviction_cut(log, [10] * 100, window=1_000, settings=Pressure())
    assert made.index == 50
    assert eviction_cut(log, [10] * 100, window=1_000, settings=Pressure(evict=0.3)).index == 30
    assert eviction_cut(log, [10] * 100, window=1_000, settings=Pressure(), protected=20).index == 20


def test_the_whole_of_a_call_and_its_results_goes() -> None:
    log = [user(), asks("c1", "c2"), answers("c1"), answers("c2"), says(), user(), says()]
    assert eviction_cut(log, [10] * 7, window=40, settings=Pressure()).index == 4


@given(LOGS, st.lists(st.integers(0, 300), min_size=60, max_size=60), st.integers(0, 6_000))
def test_what_stays_is_valid_and_enough_goes_where_it_can(log: list[Message], sizes: list[int], window: int) -> None:
    messages = list(repair(log))
    tokens = sizes[: len(messages)]
    made = eviction_cut(messages, tokens, window=window, settings=Pressure())
    assert faults(kept_after(messages, made)) == []
    if made.index:
        latest = next(legal_places(messages))
        assert sum(tokens[: made.index]) >= min(int(window * 0.5), sum(tokens[:latest]))
