"""The checker finds each kind of fault, and none where there is none."""

from __future__ import annotations

import pytest

from orchestra.context.invariants import faults
from orchestra.context.summary_message import summary_message
from orchestra.core.messages import Message, Meta, ToolCall

from .logs import answers, asks, says, user


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([], ""),
        ([user(), asks("1", "2"), answers("1"), answers("2"), says()], ""),
        ([user(), asks("1", "1"), answers("1"), answers("1")], ""),
        ([user(), asks("1", aborted=True), answers("1")], ""),
        ([answers("1")], "message 0: a result of '1' without its call"),
        ([asks("1"), answers("1"), answers("1")], "message 2: a result of '1' without its call"),
        ([asks("1")], "message 0: the result of '1' does not stand in its place"),
        ([asks("1"), user(), says()], "message 0: the result of '1' does not stand in its place"),
        ([asks("1", "2"), answers("1")], "message 0: the result of '2' does not stand in its place"),
        ([Message("user", "", (ToolCall("1", "x"),))], "message 0: a user message makes calls"),
        ([asks("", text="x"), answers("")], "message 0: a call without id or name"),
    ],
)
def test_pairs(messages: list[Message], found: str) -> None:
    assert "; ".join(faults(messages)) == found


def test_results_in_another_order_than_their_calls() -> None:
    assert faults([asks("1", "2"), answers("2"), answers("1")]) != []


def test_the_newest_message_of_the_user() -> None:
    newest = Message("user", "now", meta=Meta(seq=7))
    assert faults([user("before"), newest], newest=newest) == []
    assert faults([Message("user", "[redacted]", meta=Meta(seq=7))], newest=newest) == []
    assert faults([user("before")], newest=newest) == ["the user's newest message is gone"]
    assert faults([user("before")], newest=user("now")) == ["the user's newest message is gone"]
    assert faults([Message("assistant", "", meta=Meta(seq=7))], newest=newest) != []


def test_the_summary_at_the_head() -> None:
    summary = summary_message("before")
    assert faults([summary, user()], summary=summary) == []
    assert faults([user(), summary], summary=summary) == ["the summary does not stand at the head"]
    assert faults([summary_message("other")], summary=summary) == ["the summary does not stand at the head"]
    assert faults([], summary=summary) == ["the summary does not stand at the head"]
