"""The context, cases C1 to C15 of the conformance list."""

from __future__ import annotations

import math

import pytest

from orchestra.context.compaction import compaction_due, cut, keep_recent_of, kept_after
from orchestra.context.flush_gate import flush_due
from orchestra.context.history_limit import limit
from orchestra.context.invariants import faults
from orchestra.context.missing_result import MISSING_RESULT
from orchestra.context.pending_calls import PendingCalls
from orchestra.context.pruning import prune
from orchestra.context.repair import repair
from orchestra.context.size import current_tokens
from orchestra.context.summary_message import summary_message
from orchestra.context.window_guard import guard, window_of
from orchestra.core.compaction import CompactionRecord
from orchestra.core.conversation import Compaction, Flush, Pruning, WindowGuard
from orchestra.core.errors import ContextWindowTooSmall
from orchestra.core.messages import Message
from orchestra.core.model import Usage
from orchestra.core.tokens import message_tokens
from tests.unit.context.logs import answers, asks, says, shape, stored, user
from tests.unit.context.summariser import Summariser


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


WINDOW = 1_000


def sizes(messages: list[Message]) -> list[int]:
    return [message_tokens(message) for message in messages]


def long_log(filler: str = "words ") -> list[Message]:
    """Twelve turns with a call each, and a last one that alone is larger than what is kept."""
    log: list[Message] = []
    for number in range(12):
        log += [user(filler * 20), asks(f"c{number}"), answers(f"c{number}", filler * 20), says(filler * 5)]
    return stored(*log, user("the question"), asks("last"), answers("last", filler * 300))


@pytest.mark.parametrize("filler", ["words ", "한국어 문서 "])
@pytest.mark.parametrize("keep", [0, 50, 250, 5_000])
def test_c06_the_newest_user_message_survives_a_compaction(filler: str, keep: int) -> None:
    log = long_log(filler)
    made = cut(log, sizes(log), keep)
    view = [summary_message("what was said before"), *kept_after(log, made)]
    assert faults(view, newest=log[-3], summary=view[0]) == []


@pytest.mark.parametrize("summary", ["short", "", "x" * 100_000])
async def test_c08_a_compaction_frees_tokens_or_reports_failure(summary: str) -> None:
    log = long_log()
    made = cut(log, sizes(log), keep_recent_of(WINDOW, None))
    assert made.index > 0
    text = await Summariser(lambda *_: summary).of(log[: made.index], window=WINDOW)
    assert (text is None) == (summary != "short")
    if text is not None:
        after = sum(sizes([summary_message(text), *kept_after(log, made)]))
        assert CompactionRecord(text, made.index, sum(sizes(log)), after, 1).effective


def test_c08_one_that_freed_nothing_is_a_failure() -> None:
    assert not CompactionRecord("as long as before", 5, 900, 900, 1).effective


@pytest.mark.parametrize("failure", [RuntimeError("down"), TimeoutError(), "", " ", "x" * 100_000])
@pytest.mark.parametrize("window", [WINDOW, 100_000])
async def test_c09_a_summariser_that_fails_leaves_the_history(failure: str | BaseException, window: int) -> None:
    log = long_log()
    before = list(log)
    assert await Summariser(lambda *_: failure).of(log, window=window, previous="earlier") is None
    assert log == before


def test_c12_cjk_counts_one_token_a_character_in_trigger_and_cut() -> None:
    narrow = stored(*[user("abcd" * 100)] * 10)  # 100 tokens each
    wide = stored(*[user("한" * 100)] * 10)
    assert sizes(narrow) == sizes(wide) == [100] * 10
    assert cut(narrow, sizes(narrow), 250).index == cut(wide, sizes(wide), 250).index == 8
    for log in (narrow, wide):
        everything = current_tokens(None, (), sum(sizes(log)))
        assert compaction_due(everything, 1_300, Compaction(), None)  # more than 975
        assert not compaction_due(everything, 1_400, Compaction(), None)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(model_calls=1)])
def test_c13_a_provider_that_reports_nothing_still_flushes_and_compacts(usage: Usage | None) -> None:
    now = current_tokens(usage, 0, 185_000)
    assert compaction_due(now, 200_000, Compaction(), None)
    assert flush_due(
        tokens=now, window=200_000, settings=Flush(), reserve_floor=None, cycle=0, flushed=None, log_bytes=0
    )


@pytest.mark.parametrize("tokens", [0, -1, 15_999, math.inf, math.nan])
def test_c15_a_window_too_small_for_a_conversation_is_a_typed_error(tokens: float) -> None:
    with pytest.raises(ContextWindowTooSmall) as caught:
        guard(window_of(None, 200_000, tokens), settings=WindowGuard(), provider="openai", model="m")
    assert caught.value.minimum == 16_000


def test_c15_a_system_prompt_larger_than_the_window_is_a_typed_error() -> None:
    fixed = message_tokens(Message("system", "한" * 40_000))
    with pytest.raises(ContextWindowTooSmall, match="shorten instructions") as caught:
        guard(40_000, settings=WindowGuard(), provider="openai", model="m", fixed=fixed)
    assert (caught.value.tokens, caught.value.minimum) == (40_000, 40_001)
    assert guard(40_001, settings=WindowGuard(), provider="openai", model="m", fixed=fixed) is None
