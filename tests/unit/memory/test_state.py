"""``agent.state`` against a plain dict, and its operations against a server that applies them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from orchestra.core.errors import StateValueError
from orchestra.memory.state import Operation, StateValues

KEYS = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-(10**20), 10**20) | st.integers(-5, 5) | st.floats(-1e6, 1e6)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def applied(stored: dict[str, str], operations: tuple[Operation, ...]) -> dict[str, str]:
    """What the server makes of the operations of a commit; refuses what ``commit.lua`` refuses."""
    out = dict(stored)
    for kind, key, *rest in operations:
        if kind == "delete":
            out.pop(key, None)
        elif kind == "increment":
            number = int(out.get(key, "0")) + int(rest[0])
            assert abs(number) < 9e15
            out[key] = str(number)
        elif kind == "swap":
            assert out.get(key, "") == rest[0]
            out[key] = rest[1]
        else:
            out[key] = rest[0]
    return out


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class AgainstADict(RuleBasedStateMachine):
    """One turn after the other; within a turn several tools, of which some are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, str] = {}
        self.model: dict[str, Any] = {}
        self.begin()

    def begin(self) -> None:
        self.values = StateValues(self.stored)
        self.view = self.values.view()
        self.before = copy.deepcopy(self.model)

    @rule(key=KEYS, value=VALUES)
    def set(self, key: str, value: Any) -> None:
        self.view.set(key, value)
        self.model[key] = copy.deepcopy(value)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.view.delete(key)
        self.model.pop(key, None)

    @rule(key=KEYS, by=NUMBERS)
    def increment(self, key: str, by: float) -> None:
        old = self.model.get(key, 0)
        if is_number(old):
            assert self.view.increment(key, by) == old + by
            self.model[key] = old + by
        else:
            with pytest.raises(StateValueError):
                self.view.increment(key, by)

    @rule(key=KEYS)
    def update(self, key: str) -> None:
        self.model[key] = [self.model.get(key)]
        assert self.view.update(key, lambda old: [old]) == self.model[key]

    @rule()
    def end_of_turn(self) -> None:
        self.stored = applied(self.stored, self.values.folded())
        assert self.stored == self.values.after_commit()
        self.begin()

    @rule()
    def resumed_on_another_host(self) -> None:
        """What was journaled is applied again, as text."""
        again = StateValues(self.stored)
        for operation in json.loads(json.dumps(self.view.changes())):
            again.apply(tuple(operation))
        assert again.after_commit() == self.values.after_commit()
        assert applied(self.stored, again.folded()) == again.after_commit()

    @rule()
    def stopped(self) -> None:
        self.values.forget(self.view)
        self.model = copy.deepcopy(self.before)
        self.view = self.values.view()
        assert self.values.folded() == ()

    @invariant()
    def agrees(self) -> None:
        keys = self.view.keys()
        assert {key: self.view.get(key) for key in keys} == self.model


AgainstADict.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAgainstADict = AgainstADict.TestCase


def test_parallel_tools_of_which_one_is_stopped() -> None:
    values = StateValues({"n": "10"})
    kept, stopped = values.view(), values.view()
    kept.increment("n")
    stopped.increment("n", 100)
    kept.update("n", lambda old: old * 2)  # type: ignore[operator]
    stopped.set("gone", 1)
    values.forget(stopped)
    assert (kept.get("n"), kept.keys()) == (22, ["n"])
    assert values.folded() == (("swap", "n", "10", "22"),)


@given(
    st.lists(st.tuples(st.sampled_from(["increment", "update"]), st.integers(-9, 9)), min_size=1), st.integers(-9, 9)
)
def test_a_key_that_another_run_changed(changes: list[tuple[str, int]], theirs: int) -> None:
    """The operations of this turn are done again on the new value: nothing of either run is lost."""
    values = StateValues({"n": "1"})
    view, expected = values.view(), theirs
    for kind, by in changes:
        if kind == "increment":
            view.increment("n", by)
            expected += by
        else:
            view.update("n", lambda old, by=by: old * 2 + by)  # type: ignore[operator, misc]
            expected = expected * 2 + by
    values.rebase("n", str(theirs))
    assert view.get("n") == expected
    assert applied({"n": str(theirs)}, values.folded()).get("n") == str(expected)


def test_an_increment_of_what_is_no_number_any_more() -> None:
    values = StateValues({"n": "1"})
    values.view().increment("n")
    values.rebase("n", '"text"')
    assert values.folded() == (("set", "n", "2"),)


def test_absent_and_none_are_told_apart() -> None:
    state = StateValues({}).view()
    assert (state.get("k"), state.get("k", 1), state.keys()) == (None, 1, [])
    state.set("k", None)
    assert (state.get("k", 1), state.keys()) == (None, ["k"])
    state.delete("k")
    state.delete("k")
    assert state.get("k", 1) == 1
