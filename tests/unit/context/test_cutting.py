"""Nothing that a reader sees as one character is ever cut."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.cutting import head_of, safe_after, safe_before, tail_of
from orchestra.core.tokens import text_tokens

CLUSTERS = [
    "e\u0301",  # a mark
    "o\u0323\u0302",  # two marks
    "👩‍👩‍👧‍👦",  # joined emoji
    "👍🏽",  # skin tone
    "❤️",  # variation selector
    "🇰🇷",  # a flag
    "1️⃣",  # keycap
    "각",  # jamo
    "क्षि",  # a conjunct
    "นี้",  # Thai with two marks
    "\r\n",
    "\ud83d\ude00",  # halves that came from broken JSON
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # a tag sequence
]
PIECES = st.sampled_from(
    [*CLUSTERS, "a", " ", "\n", "한", "字", "é", "\u200d", "\u0301", "🇰", "\ud83d", "\ude00", "क", "्"]
)


def boundaries(text: str) -> set[int]:
    """Where a text may be cut, told from its beginning on."""
    places = {0, len(text)} | {found.end() for found in regex.finditer(r"\X", text)}
    return {
        p
        for p in places
        if not (
            text[p - 1 : p] >= "\ud800"
            and regex.match("[\ud800-\udbff]$", text[p - 1 : p])
            and regex.match("[\udc00-\udfff]", text[p : p + 1])
        )
    }


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("around", ["", "ab", "한국", "🇫🇷", "👩‍🚀", "\n"])
def test_a_cluster_stays_whole(cluster: str, around: str) -> None:
    text = around + cluster + around
    start, end = len(around), len(around) + len(cluster)
    for inside in range(start + 1, end):
        assert safe_before(text, inside) == start
        assert safe_after(text, inside) == end
    assert safe_before(text, start) == safe_after(text, start) == start


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(-3, 90))
def test_the_next_boundary_on_either_side_is_found(text: str, index: int) -> None:
    places = boundaries(text)
    inside = max(0, min(index, len(text)))
    assert safe_before(text, index) == max(place for place in places if place <= inside)
    assert safe_after(text, index) == min(place for place in places if place >= inside)


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(-1, 40))
def test_head_and_tail_have_at_most_so_many_tokens_and_end_at_boundaries(text: str, tokens: int) -> None:
    head, tail = head_of(text, tokens), tail_of(text, tokens)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert max(text_tokens(head), text_tokens(tail)) <= max(0, tokens)
    assert len(head) in boundaries(text)
    assert len(text) - len(tail) in boundaries(text)
    if text_tokens(text) <= tokens:
        assert head == tail == text


@pytest.mark.parametrize(("text", "kept"), [("x" * 100, 40), ("한" * 100, 10), ("한글 " * 50, 13)])
def test_a_wide_character_is_one_token(text: str, kept: int) -> None:
    assert len(head_of(text, 10)) == kept
