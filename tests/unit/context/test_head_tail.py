"""Head, a marker with the numbers, and tail: never longer than allowed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.cutting import safe_after, safe_before
from orchestra.context.head_tail import head_tail, is_trimmed, soft_trim

MARKER = re.compile(r"\n\[… the first (\d+) and the last (\d+) of (\d+) characters …\]\n")
PIECES = ["a", " ", "\n", "한", "字", "e\u0301", "👩‍👩‍👧‍👦", "🇰🇷", "क्षि", "\r\n"]
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(PIECES), max_size=200).map("".join),
    st.integers(0, 5000).map(lambda count: "0123456789" * (count // 10)),
)


def numbers(text: str) -> tuple[int, ...]:
    found = MARKER.search(text)
    assert found is not None
    return tuple(int(number) for number in found.groups())


@pytest.mark.parametrize(
    ("length", "maximum", "kept"),
    [
        (20_001, 20_000, (14_000, 4_000, 20_001)),
        (100_000, 20_000, (14_000, 4_000, 100_000)),
        (5_000, 1_000, (700, 200, 5_000)),
    ],
)
def test_seventy_and_twenty_percent(length: int, maximum: int, kept: tuple[int, ...]) -> None:
    text = "".join(str(place % 10) for place in range(length))
    made = head_tail(text, maximum)
    assert numbers(made) == kept
    assert made.startswith(text[: kept[0]] + "\n[…")
    assert made.endswith("…]\n" + text[-kept[1] :])
    assert len(made) <= maximum


@pytest.mark.parametrize("length", [0, 1, 19_999, 20_000])
def test_what_fits_is_itself(length: int) -> None:
    text = "x" * length
    assert head_tail(text, 20_000) is text


@pytest.mark.parametrize(
    ("length", "kept"), [(4_000, None), (4_001, (1_500, 1_500, 4_001)), (20_000, (1_500, 1_500, 20_000))]
)
def test_soft_trim_keeps_the_first_and_the_last_1500(length: int, kept: tuple[int, ...] | None) -> None:
    text = "x" * length
    made = soft_trim(text, over=4_000, head=1_500, tail=1_500)
    assert (made is text) if kept is None else numbers(made) == kept
    assert soft_trim(made, over=4_000, head=1_500, tail=1_500) is made


def test_head_and_tail_that_fill_everything_make_room_for_the_marker() -> None:
    made = soft_trim("x" * 9_000, over=4_000, head=2_000, tail=2_000)
    assert len(made) <= 4_000
    assert soft_trim(made, over=4_000, head=2_000, tail=2_000) is made


@given(TEXTS, st.integers(0, 600), st.sampled_from([(0.7, 0.2), (0.5, 0.5), (1.0, 0.0), (0.1, 0.9)]))
def test_never_longer_and_never_inside_a_character(text: str, maximum: int, shares: tuple[float, float]) -> None:
    made = head_tail(text, maximum, head=shares[0], tail=shares[1])
    assert len(made) <= maximum or made is text
    assert len(made) <= max(maximum, 0) or len(text) <= maximum
    assert head_tail(made, maximum, head=shares[0], tail=shares[1]) is made
    if is_trimmed(made) and not is_trimmed(text):
        first, last, length = numbers(made)
        assert length == len(text)
        assert made.startswith(text[:first])
        assert made.endswith(text[len(text) - last :])
        for place in (first, length - last):
            assert safe_before(text, place) == safe_after(text, place) == place
    elif made is not text:
        assert text.startswith(made)
        assert safe_before(text, len(made)) == len(made)


def test_a_trimmed_text_is_trimmed_as_what_it_came_from() -> None:
    text = "".join(str(place % 10) for place in range(100_000))
    assert head_tail(head_tail(text, 20_000), 1_000) == head_tail(text, 1_000)


def test_a_marker_that_somebody_wrote_is_only_text() -> None:
    text = "x" * 3_000 + "\n[… the first 5 and the last 7 of 90000 characters …]\n" + "y" * 3_000
    assert not is_trimmed(text)
    assert numbers(head_tail(text, 1_000))[2] == len(text)
