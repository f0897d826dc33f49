"""The message at the head of a view that stands for what was left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.summary_message import head_length, is_summary, is_user_turn, summary_message, summary_text
from orchestra.core.jsontext import dumps, loads
from orchestra.core.messages import Message, Meta

from .logs import says, user


@given(st.one_of(st.text(), st.sampled_from(["</summary>", "a </summary> b <\\/summary>", "<summary>\n"])))
def test_any_text_comes_back_and_closes_nothing(text: str) -> None:
    made = summary_message(text)
    assert is_summary(made)
    assert summary_text(made) == text
    assert made.text.count("</summary>") == 1
    assert not is_user_turn(made)
    stored = Message.from_json(loads(dumps(made.to_json()))) if text.isprintable() else made
    assert is_summary(stored)


@pytest.mark.parametrize(
    "message",
    [
        Message("user", summary_message("x").text),
        Message("system", summary_message("x").text, meta=Meta(synthetic=True)),
        Message("user", "<memory_update>…</memory_update>", meta=Meta(synthetic=True)),
    ],
)
def test_what_is_no_summary(message: Message) -> None:
    assert not is_summary(message)


def test_the_head_is_the_summaries_at_the_start() -> None:
    summary = summary_message("x")
    assert [head_length(log) for log in ([], [user()], [summary], [summary, user(), summary])] == [0, 0, 1, 1]
    assert head_length([says(), summary]) == 0
