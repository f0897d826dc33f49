"""Variables in configuration values."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.interpolation import escape, interpolate

NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=10).filter(
    lambda name: not name[0].isdigit()
)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain $HOME {x}", "plain $HOME {x}"),
        ("${A}", "one"),
        ("x${A}y${A}", "xoneyone"),
        ("${A:-two}", "one"),
        ("${MISSING:-two words: [x]}", "two words: [x]"),
        ("${MISSING:-}", ""),
        ("${EMPTY:-two}", "two"),
        ("${EMPTY}", ""),
        ("$${A}", "${A}"),
        ("$${A}${A}", "${A}one"),
        ("${LOOP}", "${A}"),
        ("${MISSING:-a\nb}", "a\nb"),
    ],
)
def test_filled_in(text: str, filled: str) -> None:
    result = interpolate(text, {"A": "one", "EMPTY": "", "LOOP": "${A}"})
    assert (result.text, result.problems) == (filled, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${NOWHERE}", "the environment variable NOWHERE is not set"),
        ("${}", "'${}' is not a variable"),
        ("${a-b}", "'${a-b}' is not a variable"),
        ("${1X}", "'${1X}' is not a variable"),
        ("${OPEN", "'${OPEN' is not closed by '}'"),
    ],
)
def test_what_cannot_be_filled_in(text: str, problem: str) -> None:
    [(found, hint)] = interpolate(text, {}).problems
    assert found == problem
    assert hint


def test_every_problem_of_a_text_is_told() -> None:
    assert len(interpolate("${A} ${B} ${}", {}).problems) == 3


@given(st.text())
def test_an_escaped_text_comes_back_unchanged(text: str) -> None:
    filled = interpolate(escape(text), {})
    assert (filled.text, filled.used, filled.problems) == (text, False, ())


@given(NAMES, st.text(), st.text(), st.text())
def test_a_value_arrives_whatever_it_holds(name: str, value: str, before: str, after: str) -> None:
    text = f"{escape(before)}${{{name}}}{escape(after)}"
    # ``$`` right before the variable would read as an escape.
    if not before.endswith("$"):
        assert interpolate(text, {name: value}).text == before + value + after
