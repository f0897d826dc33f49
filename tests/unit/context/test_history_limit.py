"""The last turns of a user."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.history_limit import limit
from orchestra.context.invariants import faults
from orchestra.context.repair import repair
from orchestra.context.summary_message import is_summary, is_user_turn, summary_message
from orchestra.core.conversation import HistoryLimit
from orchestra.core.messages import Message, Meta

from .logs import LOGS, answers, asks, says, shape, stored, user

SIX = stored(user("1"), says("2"), user("3"), answers("c", "4"), user("5"), says("6"))
SUMMARY = summary_message("what was said before")
NOTE = Message("user", "<memory_update>…</memory_update>", meta=Meta(synthetic=True))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [(1, "56"), (2, "3456"), (3, "123456"), (4, "123456"), (None, "123456"), (0, "123456"), (-1, "123456")],
)
def test_turns_are_counted_from_the_end(turns: int | None, expected: str) -> None:
    assert "".join(message.text for message in limit(SIX, turns)) == expected


@pytest.mark.parametrize("turns", [None, 0, -1, 3, 4])
def test_nothing_to_cut_returns_the_same_object(turns: int | None) -> None:
    assert limit(SIX, turns) is SIX
    assert limit(SIX, turns, hysteresis=True) is SIX


def test_a_head_summary_stays_in_front() -> None:
    made = limit([SUMMARY, *SIX], 1)
    assert made[0] is SUMMARY
    assert shape(made) == "sua"


def test_notes_are_no_turns() -> None:
    assert shape(limit([user(), says(), NOTE, user(), says(), NOTE], 1)) == "uas"


def test_a_user_who_types_the_tag_makes_no_summary() -> None:
    log = stored(user(SUMMARY.text), says(), user(), says())
    assert shape(limit(log, 1)) == "ua"


def test_the_number_of_a_user_beats_the_default() -> None:
    settings = HistoryLimit(default=10, users={"ana": 30, "bo": 0})
    assert [settings.of(name) for name in ("ana", "bo", "cy", None)] == [30, 0, 10, 10]


@given(LOGS, st.integers(-1, 6), st.booleans())
def test_after_repair_any_log_is_valid_and_keeps_its_newest_words(
    log: list[Message], turns: int, hysteresis: bool
) -> None:
    made = limit(log, turns, hysteresis=hysteresis)
    assert limit(made, turns, hysteresis=hysteresis) is made
    shown = repair(made)
    newest = next((m for m in reversed(log) if is_user_turn(m)), None)
    head = log[0] if log and is_summary(log[0]) else None
    assert faults(shown, newest=newest, summary=head) == []
    if turns > 0:
        count = sum(map(is_user_turn, made))
        most = math.ceil(1.5 * turns) if hysteresis else turns
        assert min(turns, sum(map(is_user_turn, log))) <= count <= most


def turns_shown(count: int, turns: int, *, numbered: bool, loaded: int | None = None) -> int:
    log = [m for turn in range(1, count + 1) for m in (user(turn=turn * numbered), says())]
    return sum(map(is_user_turn, limit(log[-2 * loaded :] if loaded else log, turns, hysteresis=True)))


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize(
    ("turns", "sizes"),
    [
        (1, [1, 2, 1, 2, 1, 2, 1, 2]),
        (2, [1, 2, 3, 2, 3, 2, 3, 2]),
        (4, [1, 2, 3, 4, 5, 6, 4, 5, 6, 4]),
        (10, [*range(1, 16), *range(10, 16), *range(10, 16), 10]),
    ],
)
def test_with_hysteresis_the_view_grows_by_half_before_it_is_cut_back(
    turns: int, sizes: list[int], numbered: bool
) -> None:
    assert [turns_shown(count, turns, numbered=numbered) for count in range(1, len(sizes) + 1)] == sizes


@given(st.integers(1, 20), st.integers(1, 120), st.integers(0, 60))
def test_a_host_that_loaded_only_the_end_cuts_at_the_same_place(turns: int, count: int, more: int) -> None:
    loaded = math.ceil(1.5 * turns) + more
    assert turns_shown(count, turns, numbered=True, loaded=loaded) == turns_shown(count, turns, numbered=True)


def test_gaps_in_the_turn_numbers_never_show_less_than_the_plain_limit() -> None:
    log = [m for turn in (1, 50, 100) for m in (user(turn=turn), asks("1"), answers("1"), says())]
    assert sum(map(is_user_turn, limit(log, 2, hysteresis=True))) >= 2
