"""The last turns or messages, and any chain of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.history_limit import limit
from orchestra.context.invariants import faults
from orchestra.context.preprocessors import Filter, WindowSize, applied
from orchestra.context.pruning import prune
from orchestra.context.repair import repair
from orchestra.context.summary_message import is_summary, is_user_turn
from orchestra.context.window import last_ones
from orchestra.core.conversation import Pruning, Window
from orchestra.core.messages import Message

from .logs import LOGS, answers, asks, says, shape, stored, user

LOG = stored(user(), asks("1", "2"), answers("1"), answers("2"), says(), user(), says(), user(), asks("3"))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(turns=2), "uauae"),
        (Window(turns=9), "uattauauae"),
        (Window(messages=3), "uae"),
        (Window(messages=1), "u"),
        (Window(messages=7), "auauae"),
        (Window(messages=99), "uattauauae"),
    ],
)
def test_what_is_shown(window: Window, expected: str) -> None:
    assert shape(last_ones(LOG, window)) == expected


Step: TypeAlias = Callable[[Sequence[Message]], Sequence[Message]]


def pruning(messages: Sequence[Message], *, window: int) -> Sequence[Message]:
    settings = Pruning(soft_over=30, head=5, tail=5, min_prunable=20, keep_last=1)
    return prune(messages, settings=settings, window=window, now=0.0, last_call=None, pruned={}).messages


def then_repaired(step: Step, messages: Sequence[Message]) -> Sequence[Message]:
    return repair(step(messages))


WINDOWS = st.one_of(
    st.integers(1, 5).map(lambda count: Window(turns=count)),
    st.integers(1, 9).map(lambda count: Window(messages=count)),
)
STEPS = st.one_of(
    st.just(repair),
    WINDOWS.map(lambda window: partial(last_ones, window=window)),
    st.tuples(st.integers(0, 5), st.booleans()).map(
        lambda given: partial(then_repaired, partial(limit, turns=given[0], hysteresis=given[1]))
    ),
    st.integers(1, 100).map(lambda window: partial(pruning, window=window)),
    st.integers(1, 9).map(lambda count: partial(applied, [WindowSize(count)])),
    st.just(partial(applied, [Filter(lambda message: message.role != "tool")])),
)


@given(LOGS, st.lists(STEPS, max_size=5))
def test_any_log_is_valid_after_any_chain_of_steps(log: list[Message], steps: list[Step]) -> None:
    before = list(log)
    shown = repair(log)
    newest = next((m for m in reversed(log) if is_user_turn(m)), None)
    head = log[0] if log and is_summary(log[0]) else None
    for step in steps:
        shown = step(shown)
        assert faults(shown, newest=newest, summary=head) == []
    assert len(log) == len(before)
    assert all(one is other for one, other in zip(log, before, strict=True))


@given(LOGS, WINDOWS)
def test_a_window_is_idempotent_and_deterministic(log: list[Message], window: Window) -> None:
    made = last_ones(log, window)
    assert last_ones(made, window) is made
    assert last_ones(log, window) == made
