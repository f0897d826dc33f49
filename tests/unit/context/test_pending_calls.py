"""What is appended to a log has a result for every call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.invariants import faults
from orchestra.context.missing_result import MISSING_RESULT
from orchestra.context.pending_calls import PendingCalls
from orchestra.core.messages import Message, ToolCall

from .logs import MESSAGE, answers, asks, says, shape, user


def written(*messages: Message) -> list[Message]:
    guard = PendingCalls()
    out = [made for message in messages for made in guard.add(message)]
    out += guard.flush()
    assert guard.flush() == []
    return out


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((user(), asks("1", "2"), answers("1"), answers("2"), says()), "uatta"),
        ((user(), asks("1", "2"), user()), "uaeeu"),
        ((user(), asks("1", "2"), answers("2"), user()), "uateu"),
        ((user(), asks("1", "1"), answers("1"), user()), "uateu"),
        ((user(), asks("1", "1"), answers("1"), answers("1"), user()), "uattu"),
        ((user(), asks("1")), "uae"),
        ((user(), asks("1", aborted=True), user()), "uau"),
        ((user(), asks("1", aborted=True)), "ua"),
        ((user(), asks("1"), asks("2", aborted=True), user()), "uaeau"),
        ((user(), asks("1"), says()), "uaea"),
        ((user(), asks("", text="I will look")), "ua"),
        ((user(), asks("")), "u"),
        ((user(), asks("", "1"), user()), "uaeu"),
        ((user(), asks("1"), Message("system", "memory is filling up"), answers("1")), "uant"),
        ((), ""),
    ],
)
def test_each_call_has_its_result(messages: tuple[Message, ...], expected: str) -> None:
    assert shape(written(*messages)) == expected


def test_missing_results_come_in_call_order_and_say_that_the_tool_may_have_run() -> None:
    made = written(asks("b", "a", "c"), answers("a"), user())
    errors = [message for message in made if message.meta.synthetic]
    assert [(message.tool_call_id, message.is_error) for message in errors] == [("b", True), ("c", True)]
    assert all(message.text == MISSING_RESULT for message in errors)
    assert "may or may not have run" in MISSING_RESULT


def test_pending_calls_are_named_in_call_order() -> None:
    guard = PendingCalls()
    guard.add(asks("b", "a", tool="search"))
    assert guard.names == (("b", "search"), ("a", "search"))
    guard.add(answers("b"))
    assert guard.names == (("a", "search"),)


@pytest.mark.parametrize(
    "call",
    [ToolCall("", "look"), ToolCall("1", ""), ToolCall("1", "look", '{"city": "Ky')],  # type: ignore[arg-type]
)
def test_a_call_that_was_never_finished_is_not_written(call: ToolCall) -> None:
    whole = ToolCall("2", "look")
    made = written(Message("assistant", "Let me see.", tool_calls=(call, whole)), answers("2"))
    assert made[0].tool_calls == (whole,)
    assert made[0].text == "Let me see."
    assert shape(made) == "at"


def test_a_whole_message_is_appended_itself() -> None:
    message = asks("1")
    assert PendingCalls().add(message)[0] is message


@given(st.lists(MESSAGE.filter(lambda m: m.role in ("user", "assistant") and not m.meta.aborted), max_size=20))
def test_whatever_a_model_does_the_log_is_valid(messages: list[Message]) -> None:
    made = written(*messages)
    assert faults(made) == []
    assert [m.text for m in made if m.role != "tool" and m.text] == [m.text for m in messages if m.text]


@given(st.lists(MESSAGE, max_size=30))
def test_nothing_but_malformed_calls_is_lost(messages: list[Message]) -> None:
    made = written(*messages)
    kept = [m for m in messages if not any(not call.id for call in m.tool_calls)]
    assert [m for m in made if any(m is one for one in kept)] == kept
