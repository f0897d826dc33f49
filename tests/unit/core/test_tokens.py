"""One character of a wide script is one token, four others are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.messages import Message, Part, ToolCall
from orchestra.core.tokens import message_tokens, text_tokens

RANGES = [
    (0x2E80, 0x9FFF),
    (0xA000, 0xA4FF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0xFF01, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x20000, 0x2FA1F),
]


def counted(text: str) -> int:
    wide = sum(any(first <= ord(one) <= last for first, last in RANGES) for one in text)
    return wide + -(-(len(text) - wide) // 4)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("한국어", 3),
        ("한국어 a", 4),
        ("ｱ", 1),
        ("！", 1),
        ("é", 1),
        ("👩", 1),
    ],
)
def test_estimate(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_the_ends_of_each_range(first: int, last: int) -> None:
    for long in (1, 300):
        text = " ".join(chr(point) for point in (first - 1, first, last, last + 1)) * long
        assert text_tokens(text) == counted(text)


PIECES = st.sampled_from(["a", " ", "\n", "한", "字", "é", "—", "…", "👩", "\U00020000", "\ud83d", "я", "\u0301", "！"])


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(["", "안녕 하세요 ", "字字 ", "été ", "a"]))
def test_long_and_short_texts_are_counted_alike(text: str, filling: str) -> None:
    for whole in (text, filling * 60 + text + filling * 60):
        assert text_tokens(whole) == counted(whole)


def test_a_message_counts_its_calls_and_pictures() -> None:
    assert message_tokens(Message("assistant", "abcd", (ToolCall("1", "look", {"q": "x"}),))) == 1 + 4
    assert message_tokens(Message("user", (Part("text", "abcd"), Part("image", url="a.png")))) == 2001
