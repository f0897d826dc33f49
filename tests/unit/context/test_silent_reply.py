"""NO_REPLY: silent when it is all, stripped at the end of a text, and never seen half in a stream."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestra.context.silent_reply import TOKEN, SilentFilter, is_silent, visible


@pytest.mark.parametrize(
    ("text", "silent", "shown"),
    [
        ("NO_REPLY", True, ""),
        ("  NO_REPLY\n", True, ""),
        ("no_reply", False, "no_reply"),
        ("No_Reply", False, "No_Reply"),
        ("", False, ""),
        ("NO", False, "NO"),
        ("NO_REPLY.", False, "NO_REPLY."),
        ("NO_REPLY is what I say", False, "NO_REPLY is what I say"),
        ("Saved.\nNO_REPLY", False, "Saved."),
        ("Saved. NO_REPLY  \n", False, "Saved."),
        ("Saved. NO_REPLY NO_REPLY", False, "Saved."),
        ("保存しました。NO_REPLY", False, "保存しました。"),
        ("저장했어요 NO_REPLY", False, "저장했어요"),
        ("👩‍👩‍👧‍👦 NO_REPLY", False, "👩‍👩‍👧‍👦"),
        ("xNO_REPLY", False, "xNO_REPLY"),
        ("Saved.  \n", False, "Saved.  \n"),
        ("NO_REPLYNO_REPLY", False, "NO_REPLYNO_REPLY"),
    ],
)
def test_what_is_delivered(text: str, silent: bool, shown: str) -> None:
    assert is_silent(text) is silent
    assert visible(text) == shown
    assert visible(shown) == shown


PIECES = st.lists(
    st.sampled_from(["NO", "_", "REPLY", TOKEN, "N", "O", "NO_REPL", "Y", " ", "\n", ".", "a", "京", "é", "👍"])
    | st.text(max_size=3),
    max_size=12,
)


@given(PIECES)
@example(["NO", "_REPLY"])
@example(["Saved. ", "NO_", "REPLY", " "])
@example(["Saved. NO_REPLY", " and more"])
@example(["NO", " way"])
@example(["a", TOKEN])
@example(["a", "", TOKEN])
@example(["京", TOKEN])
def test_a_stream_shows_what_the_whole_shows_and_takes_nothing_back(pieces: list[str]) -> None:
    stream = SilentFilter()
    shown = ""
    for at, piece in enumerate(pieces):
        shown += stream.feed(piece)
        # Whatever came so far may be followed by what makes its end the token.
        so_far = "".join(pieces[: at + 1])
        for ending in (TOKEN[size:] for size in range(1, len(TOKEN)) if so_far.endswith(TOKEN[:size])):
            assert visible(so_far + ending).startswith(shown)
        assert visible(so_far).startswith(shown)
    assert shown + stream.finish() == visible("".join(pieces))


def test_nothing_is_held_back_without_need() -> None:
    stream = SilentFilter()
    assert [stream.feed(piece) for piece in ("Hello", " the", "re. ", "N", "ew", " NO", "_RE", "PLY")] == [
        "Hello", " the", "re.", "", " New", "", "", "",
    ]  # fmt: skip
    assert stream.finish() == ""


@pytest.mark.parametrize("size", range(1, 9))
def test_no_part_of_the_token_leaks(size: int) -> None:
    for text in (TOKEN, f" {TOKEN}\n", f"Done. {TOKEN}"):
        stream = SilentFilter()
        shown = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(shown) + stream.finish() == visible(text)
        assert "N" not in "".join(shown)
