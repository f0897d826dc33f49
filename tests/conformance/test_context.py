"""The context, cases C1 to C15 of the conformance list."""

from __future__ import annotations

import pytest

from orchestra.context.history_limit import limit
from orchestra.context.invariants import faults
from orchestra.context.missing_result import MISSING_RESULT
from orchestra.context.pending_calls import PendingCalls
from orchestra.context.pruning import prune
from orchestra.context.repair import repair
from orchestra.context.summary_message import summary_message
from orchestra.core.conversation import Pruning
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens
from tests.unit.context.logs import answers, asks, says, shape, stored, user


def test_c01_unanswered_stale_and_orphan_results_in_a_row() -> None:
    log = stored(
        answers("0", "of a turn that was cut off"),
        user("first"),
        asks("1", "2", text="I look twice"),
        answers("2", "two"),
        answers("9", "of nobody"),
        answers("2", "two again"),
        user("second"),
        asks("3", text="and once more"),
        says("done"),
    )
    made = repair(log)
    assert shape(made) == "uaetuaea"
    assert faults(made) == []
    assert [m.text for m in made if m.role != "tool"] == ["first", "I look twice", "second", "and once more", "done"]
    assert [m.text for m in made if m.role == "tool"] == [MISSING_RESULT, "two", MISSING_RESULT]


def test_c02_ids_that_later_turns_reuse_keep_their_results() -> None:
    turns = [m for number in range(5) for m in (user(), asks("1"), answers("1", f"result {number}"), says())]
    assert repair(turns) is turns
    del turns[2]  # the first turn loses its result; the others keep theirs
    assert [m.text for m in repair(turns) if m.role == "tool"] == [
        MISSING_RESULT,
        "result 1",
        "result 2",
        "result 3",
        "result 4",
    ]


def test_c03_a_late_real_result_beats_the_made_up_one() -> None:
    guard = PendingCalls()
    log = [made for m in (user(), asks("1"), user("meanwhile"), answers("1", "real")) for made in guard.add(m)]
    assert shape(log) == "uaeut"
    made = repair([*log, says()])
    assert shape(made) == "uatua"
    assert made[2].text == "real"


def test_c04_a_call_that_was_broken_off_gets_no_result() -> None:
    guard = PendingCalls()
    log = [made for m in (user(), asks("1", aborted=True), user("again")) for made in guard.add(m)]
    assert guard.flush() == []
    assert shape(log) == "uau"
    assert shape(repair(log)) == "uu"


@pytest.mark.parametrize("turns", range(1, 8))
@pytest.mark.parametrize("hysteresis", [False, True])
def test_c05_after_limit_and_repair_there_is_no_half_pair(turns: int, hysteresis: bool) -> None:
    # A message of the user between calls and results: a cut there parts them.
    turn = (user("u"), asks("1", "2"), user("and"), answers("1"), answers("2"), says())
    log = stored(*turn * 3)
    cut = limit(log, turns, hysteresis=hysteresis)
    assert faults(repair(cut), newest=log[-4]) == []


def test_c07_a_head_summary_survives_the_limit() -> None:
    summary = summary_message("Ana plans three nights in Kyoto.")
    log = [summary, *stored(*[user(), asks("1"), answers("1"), says()] * 20)]
    for turns in (1, 3, 19):
        made = repair(limit(log, turns))
        assert faults(made, summary=summary, newest=log[-4]) == []
        assert shape(made) == "s" + "uata" * turns


def test_c12_cjk_counts_one_token_a_character_in_pruning() -> None:
    def reason(letter: str, window: int) -> str:
        log = stored(user(), *[asks("1"), answers("1", letter * 3_000)] * 20, *[says()] * 3)
        made = prune(log, settings=Pruning(), window=window, now=0.0, last_call=None, pruned={})
        return made.reason

    calls = 20 * message_tokens(asks("1"))
    for letter, tokens in (("x", 15_000), ("字", 60_000), ("한", 60_000), ("ア", 60_000), ("！", 60_000)):
        total = tokens + calls + 3 * message_tokens(says()) + message_tokens(user())
        assert reason(letter, total * 4) == "below_soft"
        assert reason(letter, total * 3) == "nothing_over"
        assert reason(letter, total) == "cleared"


def test_c12_the_estimate_itself() -> None:
    assert message_tokens(Message("user", "안녕하세요")) == 5
    assert message_tokens(Message("user", "hello")) == 2
