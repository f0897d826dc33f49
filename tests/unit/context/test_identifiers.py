"""Identifiers: found in prose of any script, checked letter by letter, listed when they are lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.identifiers import (
    HEADING,
    MAX_CHARS,
    MAX_LISTED,
    STRETCH,
    appended,
    identifiers,
    missing,
    searched,
)

UUID = "123e4567-e89b-12d3-a456-426614174000"
SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"the id {UUID}.", (UUID,)),
        (f"編號{UUID}的訂單", (UUID,)),
        ("commit a1a64ed fixed it", ("a1a64ed",)),
        (f"sha256:{SHA}", (SHA,)),
        ("see https://example.com/a/b?x=1#f, then", ("https://example.com/a/b?x=1#f",)),
        ("(https://en.wikipedia.org/wiki/Foo_(bar))", ("https://en.wikipedia.org/wiki/Foo_(bar)",)),
        ("redis://localhost:6379/0 is up", ("redis://localhost:6379/0",)),
        ("edit /etc/hosts and src/app/main.py.", ("/etc/hosts", "src/app/main.py")),
        ("run ./run.sh in ~/notes/a or ../b/c", ("./run.sh", "~/notes/a", "../b/c")),
        ("pkg/a.tar.gz", ("pkg/a.tar.gz",)),
        (r"open C:\Users\ana\x.txt", (r"C:\Users\ana\x.txt",)),
        ("打开/etc/hosts文件", ("/etc/hosts",)),
        ("/home/ユーザー/文書.txt", ("/home/ユーザー/文書.txt",)),
        ("12 ms, 3.5 GB, 50%, 20°C and 300km/h", ("12 ms", "3.5 GB", "50%", "20°C", "300km/h")),
        ("$12.50 or 30 € or 1,024 tokens", ("$12.50", "30 €", "1,024 tokens")),
        ("耗时12秒，3000円", ("12秒", "3000円")),
        ("오후 3시, 5000원", ("3시", "5000원")),
        ("and/or, 1/2, n/a, </value>, deadbeef, 1234567, version 2", ()),
        ("", ()),
        ("5 ms, then 5 ms, then /a/b", ("/a/b", "5 ms")),  # what cannot be guessed comes first
    ],
)
def test_what_is_one(text: str, found: tuple[str, ...]) -> None:
    assert identifiers(text) == found


@pytest.mark.parametrize(
    ("source", "summary", "lost"),
    [
        ("1 GB", "it has 11 GB", ("1 GB",)),
        ("1 GB", "it has 1 GB", ()),
        ("1 GB", "it has 1GB", ("1 GB",)),
        (UUID, f"the one with {UUID.upper()}", (UUID,)),
        ("a1a64ed", "commit a1a64ed0", ("a1a64ed",)),
        ("/etc/hosts", "the file`/etc/hosts`was read", ()),
        ("https://x.y/a and 5 ms", "5 ms", ("https://x.y/a",)),
        ("https://x.y/a", "https://x.y/a/b", ()),
        ("nothing", "nothing", ()),
    ],
)
def test_what_is_missing(source: str, summary: str, lost: tuple[str, ...]) -> None:
    assert missing(source, summary) == lost
    assert missing(identifiers(source), summary) == lost


PARTS = st.lists(
    st.uuids().map(str)
    | st.from_regex(r"https://[a-z]{1,8}\.org/[a-z0-9]{1,8}", fullmatch=True)
    | st.from_regex(r"/[a-z]{1,8}/[a-z0-9]{1,8}\.py", fullmatch=True)
    | st.integers(0, 999).map("{} ms".format)
    | st.sampled_from(["한국어", "京都", "👩‍👩‍👧‍👦", "e\u0301", "words", "(", ")", ",", "."]),
    max_size=20,
)


@given(PARTS, st.text(max_size=50))
def test_what_is_lost_survives_as_a_list(parts: list[str], summary: str) -> None:
    source = " ".join(parts)
    lost = missing(source, summary)
    text = appended(summary, lost)
    assert missing(source, text) == ()
    assert all(one in text for one in identifiers(source))
    assert text.startswith(summary.rstrip())
    assert appended(text, missing(source, text)) is text


def test_the_list_is_bounded_and_says_what_it_left_out() -> None:
    lost = tuple(f"/data/{number}" for number in range(250))
    text = appended("Short.", lost)
    assert text.count("\n- /data/") == MAX_LISTED
    assert text.endswith("- and 150 more")
    for room in (0, 60, 100, 101, 150, 500, MAX_CHARS):
        bounded = appended("Short.", lost, max_chars=room)
        assert len(bounded) <= len("Short.") + 2 + room
        assert bounded == "Short." or (HEADING in bounded and "more" in bounded)


@pytest.mark.parametrize(
    "text", ["a/" * 20_000, "1" * 40_000, "a.b-c+" * 7_000, "/" * 40_000, "C:\\" * 13_000, "a1" * 20_000]
)
@pytest.mark.timeout(5)
def test_no_text_takes_more_than_one_pass(text: str) -> None:
    assert len(identifiers(text)) <= 1  # tried at each place anew, each of these would take minutes


@pytest.mark.parametrize(
    "one",
    ["550e8400-e29b-41d4-a716-446655440000", "https://a.example/" + "b" * 3_000, "/usr/lib/x.py", "12 km", "베를린"],
)
def test_where_a_stretch_ends_is_not_seen(one: str) -> None:
    """Neither is an identifier cut in two there, nor does the rest of a word that is none become one."""
    alone = identifiers(one)
    for gap in range(-len(one) - 3, 4) if len(one) < 100 else (-2_900, -1_500, -1_000, -999, -1, 0, 1):
        before = ("words and " * (STRETCH // 10 + 1))[: STRETCH + gap - 1] + " "
        assert identifiers(f"{before}{one} and so on") == alone
        assert identifiers(f"{before[:-2]} x{one} and so on") == identifiers(f"x{one}")


def test_a_long_text_is_searched_in_short_stretches() -> None:
    """A megabyte in one search would hold the interpreter for a third of a second."""
    longest = 0.0
    start = time.thread_time()
    for _ in searched("plain words, berth 14, /usr/lib/x.py and 12 km " * 20_000):
        longest, start = max(longest, time.thread_time() - start), time.thread_time()
    assert longest < 0.05
