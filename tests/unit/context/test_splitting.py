"""Splits: between complete groups of a call and its results, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.invariants import faults
from orchestra.context.repair import repair
from orchestra.context.splitting import groups, legal_places, split_by_maximum, split_by_share
from orchestra.core.messages import Message
from tests.unit.context.logs import LOGS, answers, asks, says, user

SIZES = st.lists(st.integers(0, 500), min_size=41, max_size=41)


def spans(ranges: list[range]) -> list[tuple[int, int]]:
    return [(part.start, part.stop) for part in ranges]


def parted(messages: list[Message], place: int) -> bool:
    """Whether a cut here parts a call from a result in its frame: told call by call, to check the one pass by."""
    frame: list[int] = []
    for at, message in enumerate(messages):
        if message.tool_calls and message.role != "tool":
            frame = [at]
        elif message.role == "tool" and frame:
            ids = {call.id for call in messages[frame[0]].tool_calls}
            if message.tool_call_id in ids and frame[0] < place <= at:
                return True
    return False


LOG = [user(), asks("c1", "c2"), answers("c1"), answers("c2"), says(), user(), asks("c1"), user("wait"), answers("c1")]


def test_groups_keep_results_with_their_calls_also_late_ones() -> None:
    assert spans(groups(LOG)) == [(0, 1), (1, 4), (4, 5), (5, 6), (6, 9)]
    assert list(legal_places(LOG)) == [6, 5, 4, 1, 0]
    assert groups([]) == []
    assert spans(groups([answers("c9"), user()])) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("tokens", "parts", "expected"),
    [
        ([10, 10, 10, 10], 2, [(0, 2), (2, 4)]),
        ([10, 10, 10, 10], 4, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ([10, 10, 10, 10], 1, [(0, 4)]),
        ([10, 10, 10, 10], 9, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ([100, 1, 1, 1], 2, [(0, 1), (1, 4)]),
        ([1, 1, 1, 100], 2, [(0, 3), (3, 4)]),
        ([0, 0, 0, 0], 2, [(0, 4)]),
    ],
)
def test_by_share(tokens: list[int], parts: int, expected: list[tuple[int, int]]) -> None:
    assert spans(split_by_share([user()] * 4, tokens, parts)) == expected


@pytest.mark.parametrize(
    ("tokens", "maximum", "expected"),
    [
        ([10, 10, 10, 10], 20, [(0, 2), (2, 4)]),
        ([10, 10, 10, 10], 19, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ([10, 10, 10, 10], 40, [(0, 4)]),
        ([5, 100, 5, 5], 20, [(0, 1), (1, 2), (2, 4)]),  # larger than the maximum: alone
        ([100, 100], 20, [(0, 1), (1, 2)]),
    ],
)
def test_by_maximum(tokens: list[int], maximum: int, expected: list[tuple[int, int]]) -> None:
    assert spans(split_by_maximum([user()] * len(tokens), tokens, maximum)) == expected


def test_a_group_is_not_split_however_large() -> None:
    tokens = [1, 50, 50, 50, 1, 1, 50, 1, 50]
    assert spans(split_by_maximum(LOG, tokens, 60)) == [(0, 1), (1, 4), (4, 6), (6, 9)]
    assert spans(split_by_share(LOG, tokens, 2)) == [(0, 4), (4, 9)]


@given(LOGS)
def test_legal_places_of_any_log_are_those_that_part_nothing(log: list[Message]) -> None:
    places = set(legal_places(log))
    for place in range(len(log)):
        if place in places:
            assert log[place].role != "tool"
            assert not parted(log, place)


@given(LOGS, SIZES, st.integers(1, 6), st.integers(0, 2_000))
def test_every_part_is_valid_and_together_they_are_the_input(
    log: list[Message], sizes: list[int], parts: int, maximum: int
) -> None:
    messages = list(repair(log))
    tokens = sizes[: len(messages)]
    for made in (split_by_share(messages, tokens, parts), split_by_maximum(messages, tokens, maximum)):
        assert [at for part in made for at in part] == list(range(len(messages)))
        assert all(made)
        assert all(faults(messages[part.start : part.stop]) == [] for part in made)
    assert len(split_by_share(messages, tokens, parts)) <= parts
    pieces = set(spans(groups(messages)))
    for part in split_by_maximum(messages, tokens, maximum):
        assert sum(tokens[part.start : part.stop]) <= maximum or (part.start, part.stop) in pieces
