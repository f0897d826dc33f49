"""The forms in which a configuration says what makes a pass due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.agent import Sleeptime
from orchestra.core.errors import ConfigError
from orchestra.core.jsontext import Json, dumps
from orchestra.core.validation import validated
from orchestra.core.yamltext import parse

POSITIVE = st.integers(1, 10**9)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def rule(trigger: Json, every: Json = 5) -> str:
    return validated(Sleeptime, parse(f"every: {dumps(every)}\ntrigger: {dumps(trigger)}")).rule


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("turns", "turns 5"),
        ("tokens", "tokens 4000"),
        ("idle", "idle 600000"),
        ("compaction", "compaction"),
        ("adaptive", "adaptive 1 25"),
    ],
)
def test_a_name_alone_stands_for_its_defaults(name: str, expected: str) -> None:
    assert rule(name) == expected
    assert rule(name, "off") == ""


@given(POSITIVE)
def test_tokens(number: int) -> None:
    assert rule({"tokens": number}) == f"tokens {number}"


@given(st.integers(1, 10**4), st.sampled_from(sorted(UNITS)))
def test_idle(number: int, unit: str) -> None:
    assert rule({"idle": f"{number}{unit}"}) == f"idle {min(number * UNITS[unit], 100 * 366 * 86400) * 1000}"


@given(POSITIVE, POSITIVE)
def test_adaptive(low: int, high: int) -> None:
    interval: Json = {"min": low, "max": high}
    if low <= high:
        assert rule({"adaptive": interval}) == f"adaptive {low} {high}"
    else:
        with pytest.raises(ConfigError):
            rule({"adaptive": interval})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | st.text("abcdelnrstu", max_size=8), st.lists, max_leaves=4
    )
)
def test_anything_else_is_told_with_its_field(value: Json) -> None:
    if value in ("turns", "tokens", "idle", "compaction", "adaptive"):
        return
    with pytest.raises(ConfigError) as caught:
        rule(value)
    assert caught.value.field == "trigger"


@given(st.sampled_from(["turns 7", "tokens 9", "compaction", "adaptive"]))
def test_a_definition_keeps_it(name: str) -> None:
    kind, _, number = name.partition(" ")
    trigger: Json = {kind: int(number)} if kind == "tokens" else kind
    made = Sleeptime.model_validate({"every": int(number or 7), "trigger": trigger})
    assert Sleeptime.model_validate(made.model_dump(mode="json")) == made
