"""A large result stays in the store; the message shows its head and tail, and pages of it are read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.cutting import safe_after, safe_before
from orchestra.context.offload import over, page, preview
from orchestra.core.conversation import Offload
from orchestra.core.errors import InputError
from orchestra.core.tokens import text_tokens

SETTINGS = Offload()
TEXTS = st.lists(
    st.sampled_from(["a", "word ", "\n", "한국어", "字", "e\u0301", "👩‍👩‍👧‍👦", "x" * 700, "한" * 1_200, "\r\n"]),
    max_size=40,
).map("".join)


@pytest.mark.parametrize(
    ("text", "tool", "settings", "away"),
    [
        ("x" * 10_000, "look", SETTINGS, False),
        ("x" * 10_001, "look", SETTINGS, True),
        ("한" * 2_500, "look", SETTINGS, False),
        ("한" * 2_501, "look", SETTINGS, True),
        ("x" * 90_000, "look", Offload(enabled=False), False),
        ("x" * 90_000, "retrieve_offloaded", SETTINGS, False),
        ("x" * 90_000, "look", Offload(tools={"look": 0}), False),
        ("x" * 401, "look", Offload(tools={"look": 100}), True),
        ("x" * 401, "other", Offload(tools={"look": 100}), False),
        ("x" * 40_000, "look", Offload(tools={"look": 10_000}), False),
    ],
)
def test_over_2500_tokens_or_what_the_tool_has(text: str, tool: str, settings: Offload, away: bool) -> None:
    assert over(text, tool, settings) is away


@pytest.mark.parametrize("text", ["".join(str(n % 10) for n in range(40_000)), "한국어 " * 10_000])
def test_a_preview_has_1000_tokens_of_head_and_tail_and_the_reference(text: str) -> None:
    made = preview(text, settings=SETTINGS, reference="r-17")
    head, marker, tail = re.split(r"(\n\[….*…\]\n)", made)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert "retrieve_offloaded(reference='r-17')" in marker
    assert f"{len(text)} characters, {text_tokens(text)} tokens" in marker
    assert 980 <= text_tokens(made) <= 1_000
    assert text_tokens(head) > 2 * text_tokens(tail) > 100


@given(TEXTS, st.integers(1, 300))
def test_a_preview_is_never_too_long_and_cuts_no_character(text: str, tokens: int) -> None:
    made = preview(text, settings=Offload(preview_tokens=tokens), reference="r")
    marker = re.search(r"\n?\[… \d+ characters, .* …\]\n?", made)
    assert marker is not None
    assert text_tokens(made) <= max(tokens, text_tokens(marker[0]))
    head, tail = made[: marker.start()], made[marker.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= len(text)
    for place in (len(head), len(text) - len(tail)):
        assert safe_before(text, place) == safe_after(text, place)


LINES = "\n".join(f"line {number}" for number in range(1, 101))


@pytest.mark.parametrize(
    ("pattern", "lines", "expected"),
    [
        (None, "3", '3: line 3\n[up to line 3 of 100; go on with lines="4-"]'),
        (None, "3-4", '3: line 3\n4: line 4\n[up to line 4 of 100; go on with lines="5-"]'),
        (None, " 99 - ", "99: line 99\n100: line 100"),
        (None, "100-900", "100: line 100"),
        ("line [12]0", None, "10: line 10\n20: line 20\n100: line 100"),
        ("0$", "85-", "90: line 90\n100: line 100"),
        ("^line 1$", None, "1: line 1"),
        ("zebra", None, "[no line from 1 to 100 of 100 matches]"),
        ("1\nline 2", None, "[no line from 1 to 100 of 100 matches]"),
    ],
)
def test_pages(pattern: str | None, lines: str | None, expected: str) -> None:
    assert page(LINES, pattern=pattern, lines=lines, limit_tokens=2_000) == expected


@pytest.mark.parametrize(
    ("pattern", "lines", "problem"),
    [
        (None, "0", "lines 1 to 100"),
        (None, "101", "lines 1 to 100"),
        (None, "7-3", "ends before it begins"),
        (None, "all", "not 'all'"),
        (None, "-3", "not '-3'"),
        ("(", None, "is no regular expression"),
        ("x" * 1_001, None, "at most 1000"),
    ],
)
def test_what_is_no_range_or_pattern(pattern: str | None, lines: str | None, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        page(LINES, pattern=pattern, lines=lines, limit_tokens=2_000)


def test_a_pattern_that_would_run_for_ever_is_stopped() -> None:
    text = "\n".join(["a" * 200 + "b"] * 20)
    with pytest.raises(InputError, match="takes too long"):
        page(text, pattern="(a|aa)+$", limit_tokens=2_000, seconds=0.05)


def read_whole(text: str, limit: int) -> tuple[str, int]:
    """All pages one after the other, and how many there were."""
    lines, pages, found = "1-", 0, []
    while lines:
        made = page(text, lines=lines, limit_tokens=limit)
        assert text_tokens(made) <= limit
        pages += 1
        *rows, last = made.split("\n")
        following = re.fullmatch(r'\[up to line \d+ of \d+; go on with lines="(\d+-)"\]', last)
        lines = following[1] if following else ""
        found += rows if following else [*rows, last]
    return "".join(re.sub(r"^\d+: ", "", row) for row in found), pages


@given(TEXTS)
def test_going_on_reads_every_character(text: str) -> None:
    whole, _ = read_whole(text, 1_300)
    assert whole == text.replace("\n", "")


def test_a_single_long_line_is_read_in_pages() -> None:
    text = "".join(str(n % 10) for n in range(100_000))
    whole, pages = read_whole(text, 2_000)
    assert whole == text
    assert pages < 20


def test_a_page_that_is_too_small_for_a_line_gives_its_beginning() -> None:
    made = page("한" * 900 + "\nnext", limit_tokens=100)
    assert made.startswith("1: 한한한")
    assert made.endswith('[up to line 1 of 2; go on with lines="2-"]')
    assert text_tokens(made) <= 100
