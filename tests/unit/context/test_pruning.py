"""Old tool results are shortened once the provider's cache is cold, and stay as they were shortened."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.invariants import faults
from orchestra.context.pruning import Decision, Pruned, may_prune, prune
from orchestra.context.repair import repair
from orchestra.context.summary_message import is_user_turn
from orchestra.core.conversation import Pruning
from orchestra.core.messages import Message, Part
from orchestra.core.tokens import message_tokens

from .logs import LOGS, answers, asks, says, stored, user

SETTINGS = Pruning()
NOW = 1_000_000.0


def session(*sizes: int, letter: str = "x", tail: int = 3, tool: str = "look") -> list[Message]:
    """A user's message, a call with a result of each size, and so many replies after them."""
    rounds = [m for size in sizes for m in (asks("1", tool=tool), answers("1", letter * size, tool=tool))]
    return stored(user(""), *rounds, *[says("")] * tail)


def pruned(
    log: Sequence[Message],
    window: int,
    *,
    settings: Pruning = SETTINGS,
    last_call: float | None = None,
    before: dict[int, Decision] | None = None,
) -> Pruned:
    before = {} if before is None else before
    return prune(log, settings=settings, window=window, now=NOW, last_call=last_call, pruned=before)


def sizes(messages: Sequence[Message]) -> list[int]:
    return [len(message.text) for message in messages if message.role == "tool"]


def call_size(log: Sequence[Message]) -> int:
    """Characters that the calls of a log count."""
    return sum(4 * message_tokens(m) for m in log if m.tool_calls)


TRIMMED = len("\n[… the first 1500 and the last 1500 of 10000 characters …]\n") + 3_000


@pytest.mark.parametrize(
    ("age", "reason"), [(0.0, "warm"), (299.9, "warm"), (300.0, "trimmed"), (301.0, "trimmed"), (None, "trimmed")]
)
def test_nothing_is_decided_while_the_cache_is_warm(age: float | None, reason: str) -> None:
    log = session(10_000)
    made = pruned(log, 5_000, last_call=None if age is None else NOW - age)
    assert made.reason == reason
    assert (made.messages is log) == (reason == "warm")


@pytest.mark.parametrize(("over", "reason"), [(-1, "below_soft"), (0, "trimmed"), (1, "trimmed")])
def test_three_tenths_of_the_window_in_characters(over: int, reason: str) -> None:
    log = session(10_000)
    fill = 240_000 - 10_000 - call_size(log) + over  # 0.3 * 200000 tokens * 4
    log[0] = user("y" * fill)
    assert pruned(log, 200_000).reason == reason


@pytest.mark.parametrize(("size", "kept"), [(4_000, 4_000), (4_001, TRIMMED - 1), (10_000, TRIMMED)])
def test_results_over_4000_characters_are_trimmed_to_1500_and_1500(size: int, kept: int) -> None:
    made = pruned(session(size, 9_999), 5_000)
    assert sizes(made.messages)[0] == kept


def test_every_eligible_result_is_trimmed_also_below_the_soft_ratio_again() -> None:
    made = pruned(session(10_000, 10_000, 10_000), 20_000)
    assert sizes(made.messages) == [TRIMMED] * 3
    assert made.pruned == {3: "trim", 5: "trim", 7: "trim"}


@pytest.mark.parametrize(("prunable", "reason"), [(49_999, "trimmed"), (50_000, "cleared")])
def test_results_go_when_50000_prunable_characters_are_left(prunable: int, reason: str) -> None:
    log = session(10_000, *[4_000] * 11, prunable - TRIMMED - 11 * 4_000)
    assert pruned(log, 1_000).reason == reason


def test_results_go_oldest_first_and_no_more_than_needed() -> None:
    log = session(*[4_000] * 20)
    total = 80_000 + call_size(log)
    window = (total - 6_500) // 2  # half of the window, in characters, is 6500 below what there is
    made = pruned(log, window)
    gone = len(SETTINGS.placeholder)
    assert sizes(made.messages) == [gone, gone, *[4_000] * 18]
    assert made.pruned == {3: "clear", 5: "clear"}


def test_below_the_hard_ratio_nothing_goes() -> None:
    log = session(*[4_000] * 20)
    window = (80_000 + call_size(log)) // 2 + 1
    assert pruned(log, window).reason == "nothing_over"
    assert pruned(log, window).messages is log


@pytest.mark.parametrize(("tail", "touched"), [(1, 0), (2, 1), (3, 2), (4, 2)])
def test_nothing_from_the_third_reply_from_the_end_on_is_touched(tail: int, touched: int) -> None:
    made = pruned(session(10_000, 10_000, tail=tail), 1_000)
    assert len(made.pruned) == touched


def test_fewer_than_three_replies_leave_everything() -> None:
    assert pruned(session(90_000, tail=0), 1_000).reason == "nothing_eligible"


def test_nothing_before_the_first_words_of_the_user_is_touched() -> None:
    log = stored(asks("0"), answers("0", "x" * 10_000), user(), asks("1"), answers("1", "x" * 10_000), *[says()] * 3)
    assert pruned(log, 1_000).pruned == {5: "trim"}


@pytest.mark.parametrize(
    ("allow", "deny", "tool", "allowed"),
    [
        ((), (), "web_search", True),
        (("web_*",), (), "web_search", True),
        (("web_*",), (), "read_file", False),
        (("WEB_*",), (), "Web_Search", True),
        ((), ("*_file",), "Read_File", False),
        (("*",), ("read_*",), "read_file", False),
    ],
)
def test_globs_of_tools(allow: tuple[str, ...], deny: tuple[str, ...], tool: str, allowed: bool) -> None:
    settings = Pruning(allow=allow, deny=deny)
    assert may_prune(tool, settings) is allowed
    made = pruned(session(10_000, tool=tool), 1_000, settings=settings)
    assert bool(made.pruned) is allowed


def test_a_result_without_a_name_is_known_by_its_call() -> None:
    log = session(10_000, tool="secret")
    log = [Message(m.role, m.content, m.tool_calls, m.tool_call_id, None, m.is_error, m.meta) for m in log]
    assert pruned(log, 1_000, settings=Pruning(deny=("secret",))).reason == "nothing_eligible"


def test_what_was_pruned_stays_so_in_the_same_bytes_while_the_cache_is_warm() -> None:
    log = session(*[4_000] * 20, 10_000)
    first = pruned(log, 20_000)
    assert set(first.pruned.values()) == {"trim", "clear"}
    longer = [*log, *stored(*[user()] * 50)[len(log) :]]
    warm = pruned(longer, 20_000, last_call=NOW - 1, before=dict(first.pruned))
    assert warm.reason == "warm"
    assert [m.to_json() for m in warm.messages[: len(log)]] == [m.to_json() for m in first.messages]
    cold_and_roomy = pruned(longer, 2_000_000, before=dict(first.pruned))
    assert cold_and_roomy.reason == "below_soft"
    assert cold_and_roomy.messages == warm.messages


def test_the_log_itself_is_not_changed() -> None:
    log = session(*[9_000] * 20)
    before = list(log)
    pruned(log, 1_000)
    assert all(one is other for one, other in zip(log, before, strict=True))


def test_a_trimmed_result_can_go_later() -> None:
    log = session(*[5_000] * 20)
    first = pruned(log, 80_000)
    assert first.reason == "trimmed"
    second = pruned(log, 20_000, before=dict(first.pruned))
    assert second.reason == "cleared"
    assert "clear" in second.pruned.values()


def test_a_picture_is_not_cut_but_can_go() -> None:
    picture = Message("tool", (Part("text", "x" * 9_000), Part("image", url="https://example.org/a.png")), (), "1")
    log = stored(user(), asks("1"), picture, *[says()] * 3)
    assert pruned(log, 1_000).reason == "nothing_over"
    assert pruned(log, 1_000, settings=Pruning(min_prunable=0)).pruned == {3: "clear"}


def test_a_result_shorter_than_the_placeholder_stays() -> None:
    made = pruned(session(*[3] * 10), 1, settings=Pruning(min_prunable=0))
    assert made.reason == "nothing_over"


def test_a_result_that_is_not_stored_yet_is_left_alone() -> None:
    log = [m.with_meta(user().meta) for m in session(10_000)]
    assert pruned(log, 1_000).reason == "nothing_eligible"


def test_disabled() -> None:
    log = session(10_000)
    made = pruned(log, 1_000, settings=Pruning(enabled=False))
    assert (made.messages, made.reason) == (log, "disabled")


def test_korean_fills_the_window_four_times_as_fast() -> None:
    """One character is one token, so a quarter of the characters reaches the same ratios."""
    assert pruned(session(*[3_000] * 20, letter="x"), 55_000).reason == "below_soft"
    assert pruned(session(*[3_000] * 20, letter="한"), 55_000).reason == "cleared"


@pytest.mark.parametrize("letter", ["x", "한"])
def test_texts_are_not_estimated_again(letter: str) -> None:
    """The estimate is the caller's: a look-up by ``meta.seq`` of what the log stores."""
    log = session(*[20_000] * 20, letter=letter)
    table = {m.meta.seq: message_tokens(m) for m in log}
    asked: list[int] = []

    def stored_tokens(message: Message) -> int:
        asked.append(message.meta.seq)
        return table[message.meta.seq]

    made = prune(log, settings=SETTINGS, window=30_000, now=NOW, last_call=None, pruned={}, estimate=stored_tokens)
    assert made == pruned(log, 30_000)
    assert len(asked) <= 2 * len(log)


@given(
    LOGS.map(lambda log: stored(*(m if m.role != "tool" else answers(m.tool_call_id or "", m.text * 90) for m in log))),
    st.integers(1, 3_000),
    st.none() | st.floats(NOW - 600, NOW),
    st.integers(0, 3),
)
def test_pruning_changes_results_only_and_is_idempotent(
    log: list[Message], window: int, last_call: float | None, keep_last: int
) -> None:
    settings = Pruning(soft_over=200, head=60, tail=60, min_prunable=300, keep_last=keep_last)
    view = repair(log)
    made = pruned(view, window, settings=settings, last_call=last_call)
    again = pruned(made.messages, window, settings=settings, last_call=last_call, before=dict(made.pruned))
    assert again.messages is made.messages
    assert again.pruned == made.pruned
    once_more = pruned(view, window, settings=settings, last_call=last_call, before=dict(made.pruned))
    assert once_more.messages == made.messages
    newest = next((m for m in reversed(view) if is_user_turn(m)), None)
    assert faults(made.messages, newest=newest) == []
    for before, after in zip(view, made.messages, strict=True):
        assert after is before or (before.role == "tool" and before.meta.seq in made.pruned)
    if not made.pruned:
        assert made.messages is view
