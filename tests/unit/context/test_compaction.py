"""Compaction: when it is due, and a cut that is legal, frees something, and leaves what must stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.compaction import Cut, compaction_due, cut, cut_at, keep_recent_of, kept_after
from orchestra.context.invariants import faults
from orchestra.context.repair import repair
from orchestra.context.splitting import legal_places
from orchestra.context.summary_message import head_length, newest_user, summary_message
from orchestra.core.conversation import Compaction, Pressure
from orchestra.core.messages import Message
from tests.unit.context.logs import LOGS, answers, asks, says, user


@pytest.mark.parametrize(
    ("window", "configured", "keep"),
    [(200_000, None, 20_000), (80_000, None, 20_000), (24_000, None, 6_000), (200_000, 5, 5), (200_000, 0, 0)],
)
def test_how_much_stays(window: int, configured: int | None, keep: int) -> None:
    assert keep_recent_of(window, configured) == keep


@pytest.mark.parametrize(
    ("tokens", "window", "settings", "pressure", "yes"),
    [
        (180_000, 200_000, Compaction(), None, False),
        (180_001, 200_000, Compaction(), None, True),
        (18_000, 24_000, Compaction(), None, False),
        (18_001, 24_000, Compaction(), None, True),
        (100, 100, Compaction(reserve_floor=0), None, False),
        (101, 100, Compaction(reserve_floor=0), None, True),
        (190_001, 200_000, Compaction(reserve_floor=10_000), None, True),
        (199_999, 200_000, Compaction(enabled=False), Pressure(), False),
        (140_000, 200_000, Compaction(), Pressure(), False),  # 70 %: the agent is told, nothing is evicted
        (160_000, 200_000, Compaction(), Pressure(evict_at=0.8), True),
        (159_999, 200_000, Compaction(), Pressure(evict_at=0.8), False),
        (200_000, 200_000, Compaction(reserve_floor=0), Pressure(), True),  # 100 %
        (199_999, 200_000, Compaction(reserve_floor=0), Pressure(), False),
    ],
)
def test_when_it_is_due(tokens: int, window: int, settings: Compaction, pressure: Pressure | None, yes: bool) -> None:
    gate = compaction_due(tokens, window, settings, pressure)
    assert gate.yes is yes
    assert gate.reason


TURN = [user("1"), asks("c1"), answers("c1"), says(), user("2"), asks("c2", "c3"), answers("c2"), answers("c3"), says()]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (90, Cut(0)),  # everything fits
        (89, Cut(1, 0)),
        (60, Cut(3, 0)),
        (59, Cut(4, None)),
        (50, Cut(4, None)),
        (49, Cut(5, 4, 4)),
        (40, Cut(5, 4, 4)),
        (39, Cut(8, 4, 4)),  # not between a call and its results
        (10, Cut(8, 4, 4)),
        (0, Cut(8, 4, 4)),
    ],
)
def test_where_it_is(keep: int, expected: Cut) -> None:
    assert cut(TURN, [10] * 9, keep) == expected


def test_the_newest_user_message_stays_when_the_cut_is_inside_its_turn() -> None:
    assert kept_after(TURN, Cut(8, 4, 4)) == [TURN[4], TURN[8]]
    assert kept_after(TURN, Cut(4)) == TURN[4:]
    assert kept_after(TURN, Cut(0)) is TURN


@pytest.mark.parametrize(
    ("messages", "tokens", "expected"),
    [
        ([user(), says(), user("huge")], [5, 5, 1000], Cut(2)),
        ([user(), asks("c1"), answers("c1")], [5, 5, 1000], Cut(1, 0, 0)),  # its call comes along
        ([user(), asks("c1"), answers("c1"), says("huge")], [5, 5, 5, 1000], Cut(3, 0, 0)),
        ([asks("c1"), answers("c1")], [5, 1000], Cut(0)),  # nothing stands before it
        ([user("huge")], [1000], Cut(0)),
        ([], [], Cut(0)),
        ([asks("c1"), answers("c1"), says()], [5, 5, 1000], Cut(2, 0)),  # the turn began before what is given
        ([user("a"), user("b"), says(), says()], [50, 50, 50, 50], Cut(2, 0, 1)),
    ],
)
def test_when_the_last_message_alone_is_larger(messages: list[Message], tokens: list[int], expected: Cut) -> None:
    assert cut(messages, tokens, 100) == expected


@pytest.mark.parametrize(
    ("protected", "index"), [(None, 8), (8, 8), (7, 5), (6, 5), (5, 5), (4, 4), (3, 3), (2, 1), (1, 1), (0, 0)]
)
def test_a_pending_approval_is_never_summarised_away(protected: int | None, index: int) -> None:
    assert cut(TURN, [10] * 9, 10, protected=protected).index == index


def test_a_cut_right_behind_the_head_summary_frees_nothing() -> None:
    log = [summary_message("before"), user(), says()]
    assert cut(log, [500, 10, 10], 20) == Cut(0)
    assert cut(log, [500, 10, 10], 19) == Cut(2, 1, 1)
    assert cut(log, [500, 1000, 1000], 19, protected=1) == Cut(0)
    assert cut([log[0], user()], [500, 1000], 19) == Cut(0)


@given(LOGS, st.lists(st.integers(0, 300), min_size=60, max_size=60), st.integers(0, 3_000), st.integers(0, 40))
def test_both_sides_of_any_cut_are_valid(log: list[Message], sizes: list[int], keep: int, protected: int) -> None:
    messages = list(repair(log))
    tokens = sizes[: len(messages)]
    for guarded in (None, protected):
        made = cut(messages, tokens, keep, protected=guarded)
        newest = newest_user(messages)
        kept = kept_after(messages, made)
        assert faults(kept, newest=messages[newest] if newest is not None else None) == []
        assert faults(messages[: made.index]) == []
        if made.index:
            assert messages[made.index].role != "tool"
            assert made.index > head_length(messages)
            assert guarded is None or made.index <= guarded
            latest = max(at for at in legal_places(messages) if guarded is None or at <= guarded)
            assert sum(tokens[made.index :]) <= keep or made.index == latest
        else:
            reachable = [at for at in legal_places(messages) if at > head_length(messages)]
            fits = sum(tokens[head_length(messages) :]) <= keep
            assert fits or not [at for at in reachable if guarded is None or at <= guarded]


@given(LOGS, st.integers(0, 40))
def test_a_cut_inside_a_turn_tells_where_the_turn_began(log: list[Message], index: int) -> None:
    messages = list(repair(log))
    if not (0 < index < len(messages)):
        return
    made = cut_at(messages, index)
    if made.turn_start is None:
        assert messages[index].role == "user"
    else:
        assert made.turn_start < index or made.turn_start == head_length(messages)
        between = messages[made.turn_start + 1 : index]
        first = next((at for at, m in enumerate(between) if m.role != "user"), len(between))
        assert not any(message.role == "user" and not message.meta.synthetic for message in between[first:])
