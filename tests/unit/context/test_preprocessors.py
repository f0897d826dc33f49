"""What a user does with the history before it is shown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.invariants import faults
from orchestra.context.preprocessors import Filter, Preprocessor, Redact, WindowSize, applied, parse
from orchestra.context.repair import repair
from orchestra.context.summary_message import is_summary, is_user_turn, summary_message
from orchestra.core.errors import ConfigError, FunctionUnavailable
from orchestra.core.messages import Message, Part, ToolCall

from .logs import LOGS, answers, asks, says, shape, stored, user


def is_no_reply(message: Message) -> bool:
    return message.role != "assistant"


def is_no_result(message: Message) -> bool:
    return message.role != "tool"


def newest_first(messages: list[Message]) -> Sequence[Message]:
    return messages[::-1]


def vandal(messages: list[Message]) -> Sequence[Message]:
    """Changes everything that can be changed, and shows what it got."""
    shown = list(messages)
    for message in messages:
        for call in message.tool_calls:
            call.arguments["q"] = "gone"  # type: ignore[index]
            call.arguments["deep"]["list"].clear()  # type: ignore[index,union-attr,call-overload]
    messages.clear()
    return shown


def nothing_useful(messages: list[Message]) -> Sequence[Message]:
    return None  # type: ignore[return-value]


FUNCTIONS: dict[str, object] = {
    "mine:is_no_reply": is_no_reply,
    "mine:is_no_result": is_no_result,
    "mine:newest_first": newest_first,
    "mine:vandal": vandal,
    "mine:nothing_useful": nothing_useful,
    "mine:number": 7,
}


def resolve(path: str) -> object:
    if path not in FUNCTIONS:
        raise FunctionUnavailable(path, "there is none")
    return FUNCTIONS[path]


def shown(entries: Sequence[str | dict[str, object]], log: Sequence[Message]) -> Sequence[Message]:
    return applied(parse(entries, resolve), log)


TEN = [m for turn in range(5) for m in (user(f"u{turn}"), says(f"a{turn}"))]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], "u0 a0 u1 a1 u2 a2 u3 a3 u4 a4"),
        ([{"window_size": 4}], "u3 a3 u4 a4"),
        (["window_size(4)"], "u3 a3 u4 a4"),
        ([{"filter": "mine:is_no_reply"}], "u0 u1 u2 u3 u4"),
        ([{"window_size": 4}, {"filter": "mine:is_no_reply"}], "u3 u4"),
        ([{"filter": "mine:is_no_reply"}, {"window_size": 4}], "u1 u2 u3 u4"),
        ([{"redact": "[aeiou](?=[34])"}, {"window_size": 3}], "[redacted]3 [redacted]4 [redacted]4"),
        ([{"redact": ["a", "A"]}, {"window_size": 2}], "u4 A4"),
        ([{"redact": {"pattern": "(u)", "replacement": r"\1"}}, {"window_size": 2}], r"\14 a4"),
        ([{"window_size": 2}, "mine:newest_first"], "a4 u4"),
        ([{"window_size": 1}], "u4 a4"),
    ],
)
def test_the_order_of_steps_is_kept(entries: list[str | dict[str, object]], expected: str) -> None:
    assert " ".join(message.text for message in shown(entries, TEN)) == expected


def test_a_step_gets_a_copy() -> None:
    arguments = {"q": "tea", "deep": {"list": [1, 2]}}
    log = [user(), Message("assistant", "", (ToolCall("1", "look", arguments),)), answers("1")]  # type: ignore[arg-type]
    made = shown(["mine:vandal"], log)
    assert arguments == {"q": "tea", "deep": {"list": [1, 2]}}
    assert len(log) == 3
    assert made[1].tool_calls[0].arguments["q"] == "gone"


def test_a_predicate_gets_a_copy() -> None:
    log = [user(), Message("assistant", "", (ToolCall("1", "look", {"q": "tea"}),)), answers("1")]

    def vandalises(message: Message) -> bool:
        for call in message.tool_calls:
            call.arguments["q"] = "gone"  # type: ignore[index]
        return True

    assert applied([Filter(vandalises)], log) is log
    assert log[1].tool_calls[0].arguments == {"q": "tea"}


def test_calls_go_with_results_that_a_step_leaves_out() -> None:
    log = [user(), asks("1", "2", text="I look"), answers("1"), answers("2"), says("done")]
    assert shape(shown([{"filter": "mine:is_no_result"}], log)) == "uaa"
    assert shape(applied([lambda messages: [m for m in messages if m.role != "tool"]], log)) == "uaa"
    assert shape(shown([{"filter": "mine:is_no_reply"}], log)) == "u"
    assert shape(applied([Filter(lambda m: m.tool_call_id != "1")], log)) == "uata"


def test_redaction_reaches_arguments_parts_and_reasoning() -> None:
    call = ToolCall("1", "look", {"who": "Ana", "list": [{"Ana": ["Ana", 1]}]})
    parts = (Part("reasoning", "Ana wants"), Part("data", value={"name": "Ana"}))
    log = [Message("user", "I am Ana"), Message("assistant", parts, (call,)), answers("1", "Ana: found")]
    made = shown([{"redact": ["Ana", "X"]}], log)
    assert "Ana" not in repr(made)
    assert made[1].tool_calls[0].arguments == {"who": "X", "list": [{"X": ["X", 1]}]}


def test_a_pattern_that_takes_too_long_shows_nothing() -> None:
    (redact,) = parse([{"redact": "(a|aa)+$"}], resolve)
    with pytest.raises(ConfigError, match="takes too long on a text of 101 characters"):
        applied([redact], [user("a" * 100 + "b")])


@pytest.mark.parametrize(
    ("entry", "place", "problem"),
    [
        ({"window_size": 0}, "conversation.preprocessors[1]", "not 0"),
        ({"window_size": True}, "conversation.preprocessors[1]", "not True"),
        ("window_size(0)", "conversation.preprocessors[1]", "not 0"),
        ({"windows": 3}, "conversation.preprocessors[1]", "'windows'"),
        ({}, "conversation.preprocessors[1]", "is no preprocessor"),
        ({"window_size": 3, "redact": "a"}, "conversation.preprocessors[1]", "is no preprocessor"),
        ({"redact": "("}, "conversation.preprocessors[1].redact", "is no regular expression"),
        ({"redact": ""}, "conversation.preprocessors[1].redact", "not empty"),
        ({"redact": {"patern": "a"}}, "conversation.preprocessors[1].redact", "names no pattern"),
        ({"filter": "nowhere:at_all"}, "conversation.preprocessors[1].filter", "nowhere:at_all"),
        ({"filter": 3}, "conversation.preprocessors[1].filter", "3 is no import path"),
        ("mine:number", "conversation.preprocessors[1]", "mine:number is int, not a function"),
        ("newest_first", "conversation.preprocessors[1]", "is no import path"),
    ],
)
def test_a_wrong_entry_is_named(entry: str | dict[str, object], place: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse([{"window_size": 5}, entry], resolve)
    assert caught.value.field == place
    assert problem in caught.value.problem


def test_a_function_that_returns_no_messages_is_named() -> None:
    with pytest.raises(ConfigError, match="nothing_useful returned NoneType"):
        shown(["mine:nothing_useful"], TEN)


STEPS = st.lists(
    st.one_of(
        st.integers(1, 12).map(WindowSize),
        st.sampled_from(
            [
                Filter(is_no_reply),
                Filter(is_no_result),
                Filter(lambda message: len(message.text) < 20),
                Filter(lambda message: False),
                *parse([{"redact": "[e안👩]"}, {"redact": ["l+", ""]}], resolve),
            ]
        ),
    ),
    max_size=4,
)


@given(LOGS, STEPS)
def test_any_log_is_valid_after_any_steps(log: list[Message], steps: list[Preprocessor]) -> None:
    before = [message.to_json() for message in log]
    made = applied(steps, log)
    newest = next((m for m in reversed(log) if is_user_turn(m)), None)
    redacts = any(isinstance(step, Redact) for step in steps)
    head = log[0] if log and is_summary(log[0]) and not redacts else None
    assert [message.to_json() for message in log] == before
    if steps:
        assert faults(made, newest=newest, summary=head) == []
        assert repair(made) is made
    for step in steps:
        once = applied([step], log)
        assert applied([step], once) is once or isinstance(step, Redact)


def test_nothing_to_do_returns_the_same_object() -> None:
    log = stored(summary_message("before"), user(), asks("1"), answers("1"), says())
    everything = parse([{"window_size": 5}, {"redact": "zebra"}], resolve)
    keeps: list[Preprocessor] = [*everything, Filter(lambda message: True), lambda messages: messages]
    assert applied(keeps, log) is log
