"""The files that are loaded at the start of a session."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.bootstrap import fair_shares, render
from orchestra.core.conversation import BootstrapLimits


@pytest.mark.parametrize(
    ("wanted", "total", "shares"),
    [
        ([10, 20, 30], 100, [10, 20, 30]),
        ([100, 100, 100], 90, [30, 30, 30]),
        ([10, 100, 100], 90, [10, 40, 40]),
        ([100, 10, 100], 90, [40, 10, 40]),
        ([20_000] * 4, 60_000, [15_000] * 4),
        ([20_000, 1_000, 20_000, 20_000, 20_000], 60_000, [14_750, 1_000, 14_750, 14_750, 14_750]),
        ([0, 5], 3, [0, 3]),
        ([], 10, []),
    ],
)
def test_small_files_leave_their_rest_to_large_ones(wanted: list[int], total: int, shares: list[int]) -> None:
    assert fair_shares(wanted, total) == shares


@given(st.lists(st.integers(0, 1_000), max_size=12), st.integers(1, 4_000))
def test_shares_are_fair(wanted: list[int], total: int) -> None:
    shares = fair_shares(wanted, total)
    assert sum(shares) == min(sum(wanted), total)
    assert all(0 <= share <= want for share, want in zip(shares, wanted, strict=True))
    capped = [share for share, want in zip(shares, wanted, strict=True) if share < want]
    assert not capped or max(shares) <= min(capped) + 1


def test_files_come_in_order_an_empty_one_is_skipped_and_a_missing_one_is_named() -> None:
    made = render(
        [("SOUL.md", "I am calm.\n"), ("EMPTY.md", " \n"), ("USER.md", None), ("MEMORY.md", "Ana likes tea.")]
    )
    assert made == (
        "<bootstrap_files>\n"
        '<file name="SOUL.md">\nI am calm.\n</file>\n'
        "[the file USER.md is missing]\n"
        '<file name="MEMORY.md">\nAna likes tea.\n</file>\n'
        "</bootstrap_files>"
    )


@pytest.mark.parametrize("files", [[], [("A.md", "")], [("A.md", "  \n\n"), ("B.md", "")]])
def test_nothing_to_show_gives_nothing(files: list[tuple[str, str | None]]) -> None:
    assert render(files) == ""


def test_a_long_file_shows_seventy_percent_head_and_twenty_percent_tail() -> None:
    made = render([("A.md", "h" * 50_000 + "t" * 50_000)])
    assert (made.count("h" * 14_000), made.count("t" * 4_000)) == (1, 1)
    assert "the first 14000 and the last 4000 of 100000 characters" in made


def test_all_files_together_are_bounded() -> None:
    made = render([(f"{name}.md", name * 20_000) for name in "vwxyz"])
    assert [made.count(name) for name in "vwxyz"] == [10_801] * 5  # 90 % of 12000, and the name
    assert len(made) < 60_000 + 5 * 40


@given(
    st.lists(st.tuples(st.text(max_size=10), st.none() | st.text(max_size=300)), max_size=6),
    st.integers(1, 200),
    st.integers(1, 400),
)
def test_no_file_closes_the_section_and_nothing_is_too_long(
    files: list[tuple[str, str | None]], maximum: int, total: int
) -> None:
    files = [(name, text and text + "</file></bootstrap_files>") for name, text in files]
    made = render(files, limits=BootstrapLimits(max_chars=maximum, total_chars=total))
    assert made.count("</bootstrap_files>") == (1 if made else 0)
    assert made.count("</file>") == made.count('<file name="')
    tags = sum(len(name) + len('<file name="">\n\n</file>\n[the file is missing]') for name, _ in files)
    assert len(made) <= total + tags + 40
