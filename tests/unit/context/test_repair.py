"""A broken log becomes a valid one; a healthy one stays itself."""

from __future__ import annotations

import pytest
from hypothesis import given

from orchestra.context.invariants import faults
from orchestra.context.missing_result import MISSING_RESULT
from orchestra.context.repair import repair
from orchestra.context.summary_message import is_user_turn
from orchestra.core.messages import Message, ToolCall

from .logs import LOGS, answers, asks, says, shape, stored, user

REAL = answers("1", "real")
LATE = answers("1", "late")
MADE_UP = answers("1", "made up", synthetic=True)


def texts(messages: object) -> list[str]:
    return [message.text for message in messages if message.role == "tool"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("log", "shaped", "results"),
    [
        ([user(), asks("1"), user()], "uaeu", [MISSING_RESULT]),
        ([user(), answers("9"), user()], "uu", []),
        ([answers("9"), user()], "u", []),
        ([user(), asks("1"), REAL, LATE, says()], "uata", ["real"]),
        ([user(), asks("1"), MADE_UP, user(), LATE], "uatu", ["late"]),
        ([user(), asks("1"), MADE_UP, says(), MADE_UP], "uaea", ["made up"]),
        ([user(), asks("1"), user(), REAL, MADE_UP], "uatu", ["real"]),
        ([user(), asks("1", "1"), REAL, LATE], "uatt", ["real", "late"]),
        ([user(), asks("1", "1"), REAL], "uate", ["real", MISSING_RESULT]),
        ([user(), asks("1", "1"), MADE_UP, REAL, LATE], "uatt", ["late", "real"]),
        ([user(), asks("1", "1"), MADE_UP, REAL], "uaet", ["made up", "real"]),
        ([user(), asks("1", "2"), answers("2", "two"), answers("1", "one")], "uatt", ["one", "two"]),
        ([user(), asks("1"), REAL, user(), asks("1"), LATE], "uatuat", ["real", "late"]),
        ([user(), asks("1"), user(), asks("1"), LATE], "uaeuat", [MISSING_RESULT, "late"]),
        ([user(), asks("1", aborted=True), user()], "uu", []),
        ([user(), asks("1", "2", aborted=True), REAL, user()], "uu", []),
        ([user(), asks("1", aborted=True), REAL, user()], "uatu", ["real"]),
        ([user(), says("half a sen", aborted=True), user()], "uu", []),
        ([user(), asks("", text="I look")], "ua", []),
        ([user(), asks("")], "u", []),
        ([], "", []),
    ],
)
def test_results_are_paired_by_occurrence(log: list[Message], shaped: str, results: list[str]) -> None:
    made = repair(log)
    assert shape(made) == shaped
    assert texts(made) == results
    assert faults(made) == []


def test_a_call_of_anybody_but_the_model_is_none() -> None:
    made = repair([Message("user", "I call", tool_calls=(ToolCall("1", "look"),)), answers("1")])
    assert shape(made) == "u"
    assert made[0].tool_calls == ()


def test_calls_can_go_with_the_results_that_were_left_out_on_purpose() -> None:
    log = [user(), asks("1", "2", text="I look"), answers("2"), asks("3"), says()]
    made = repair(log, unanswered="drop")
    assert shape(made) == "uata"
    assert [call.id for call in made[1].tool_calls] == ["2"]
    assert made[1].text == "I look"
    assert repair(made, unanswered="drop") is made


def test_a_healthy_log_is_itself() -> None:
    log = [user(), asks("1", "2"), answers("1"), answers("2"), says(), user(), asks("1"), answers("1", synthetic=True)]
    assert repair(log) is log
    assert repair(tuple(log)) == tuple(log)


@given(LOGS)
def test_any_log_comes_out_valid_and_loses_no_words(log: list[Message]) -> None:
    made = repair(log)
    assert faults(made) == []
    assert repair(made) is made
    if not faults(log) and not any(m.meta.aborted for m in log):
        assert made is log
    kept = [m.meta.seq for m in log if m.role in ("user", "system") or (m.text and not m.meta.aborted)]
    shown = [m.meta.seq for m in made if m.meta.seq and m.role != "tool"]
    assert [seq for seq in kept if log[seq - 1].role != "tool"] == [
        seq
        for seq in shown
        if log[seq - 1].text or log[seq - 1].role in ("user", "system")
        if not (log[seq - 1].meta.aborted and log[seq - 1].role == "assistant")
    ]


@given(LOGS)
def test_a_real_result_of_the_frame_is_never_left_out_for_a_made_up_one(log: list[Message]) -> None:
    made = repair(log)
    shown = {m.meta.seq for m in made if m.role == "tool" and not m.meta.synthetic}
    frame: Message | None = None
    real: dict[str, int] = {}
    for message in [*log, asks("end")]:
        if message.tool_calls:
            if frame is not None and not frame.meta.aborted:
                for call in {call.id for call in frame.tool_calls if call.id}:
                    wanted = min(real.get(call, 0), sum(one.id == call for one in frame.tool_calls))
                    got = [
                        seq
                        for seq in shown
                        if log[seq - 1].tool_call_id == call and frame.meta.seq < seq < (message.meta.seq or 1 << 30)
                    ]
                    assert len(got) == wanted
            frame, real = message, {}
        elif message.role == "tool" and not message.meta.synthetic and message.tool_call_id:
            real[message.tool_call_id] = real.get(message.tool_call_id, 0) + 1


@given(LOGS)
def test_the_newest_words_of_the_user_stay(log: list[Message]) -> None:
    newest = next((m for m in reversed(log) if is_user_turn(m)), None)
    assert faults(repair(log), newest=newest) == []


class Counted(list[Message]):
    """A list that counts how many of its messages were looked at."""

    looks = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        found = super().__getitem__(at)
        self.looks += len(found) if isinstance(at, slice) else 1
        return found


@pytest.mark.parametrize("frames", [1, 500])
def test_the_work_grows_with_the_length_only(frames: int) -> None:
    """One huge frame, or many: each message is looked at a few times."""
    size = 1_000 // frames
    frame = [
        asks(*["1"] * size),
        *[answers("1", synthetic=True)] * size,
        *[answers("1")] * size,
    ]
    log = Counted(stored(*frame * frames))
    assert faults(repair(log)) == []
    assert log.looks < 8 * len(log)
