"""Expressions: compiled once, no names but those that are given, errors in plain words."""

from __future__ import annotations

import pickle

import pytest

from orchestra.core.errors import InputError
from orchestra.core.expression import MAX_CHARS, Expression

NAMES = {"check": {"status": "completed", "output": {"score": 5, "tags": ["x"]}, "visits": 2}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("check.output.score < 7", True),
        ("check.output.score >= 4.5 && 'x' in check.output.tags", True),
        ("check.status == 'failed' || check.visits > 2", False),
        ("has(check.output.missing)", False),
        ("check.output.tags.exists(tag, tag == 'x')", True),
        ("check.output.tags", ["x"]),
    ],
)
def test_values(text: str, value: object) -> None:
    assert Expression(text).evaluate(NAMES) == value
    assert pickle.loads(pickle.dumps(Expression(text))).evaluate(NAMES) == value


@pytest.mark.parametrize(
    "text", ["", "a <", "x = 3", "a b", "import os", "lambda: 1", "1" * (MAX_CHARS + 1), "[" * 101]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expression"):
        Expression(text)


@pytest.mark.parametrize("text", ["__import__('os')", "open('/etc/passwd')", "check.__class__", "other.output"])
def test_there_are_no_names_but_those_given(text: str) -> None:
    with pytest.raises(InputError):
        Expression(text).evaluate(NAMES)


def test_an_error_never_shows_a_value() -> None:
    with pytest.raises(InputError) as raised:
        Expression("check.output < 3").evaluate({"check": {"output": "canary"}})
    assert "canary" not in str(raised.value)


def test_names_are_those_that_are_read() -> None:
    assert Expression("b.output.all(one, one > a.visits)").names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a.visits < 3", {"a"}),
        ("a.visits <= 3 && b.output.bad", {"a"}),
        ("3 > a.visits && b.visits < 2", {"a", "b"}),
        ("a.visits > 3", set()),
        ("a.visits < 3 || b.output", set()),
        ("!(a.visits < 3)", set()),
        ("a.visits < b.visits", set()),
        ("b.output == 'a.visits < 3'", set()),
        ("b.output ? a.visits < 3 : true", set()),
    ],
)
def test_bounds_are_seen_where_they_hold_for_sure(text: str, nodes: set[str]) -> None:
    assert Expression(text).bounded_by == nodes
