"""JSON text: what survives a round trip, and what does not and why."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.jsontext import copied, digest, dumps, fault, is_object, loads

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
OTHER = st.tuples() | st.binary() | st.frozensets(st.integers()) | st.just(float("nan")) | st.just(float("inf"))


@given(JSON)
def test_json_values_come_back_unchanged(value: Any) -> None:
    assert fault(value) is None
    assert loads(dumps(value)) == value
    assert copied(value) == value
    assert is_object(value) == isinstance(value, dict)
    assert "\n" not in dumps(value) or "\\n" in dumps(value)


@given(JSON, OTHER, st.integers(0, 3))
def test_anything_else_is_named_with_its_path(value: Any, bad: Any, depth: int) -> None:
    nested, path = bad, "k"
    for level in range(depth):
        nested = [value, nested] if level % 2 else {"x": nested, "y": value}
    for level in reversed(range(depth)):
        path += "[1]" if level % 2 else "['x']"
    found = fault(nested, "k")
    assert found is not None
    assert found[0] == path


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1: "a"}, "value"),
        ({"a": {None: 1}}, "value['a']"),
        (["\ud800"], "value[0]"),
        ({"a": [True, (1,)]}, "value['a'][1]"),
        (json.JSONDecoder, "value"),
    ],
)
def test_faults(value: object, path: str) -> None:
    found = fault(value)
    assert found is not None
    assert found[0] == path


@given(JSON)
def test_the_digest_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    def turned(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {key: turned(item) for key, item in reversed(inner.items())}
        return [turned(item) for item in inner] if isinstance(inner, list) else inner

    assert digest(turned(value)) == digest(value)
    assert digest([value]) != digest(value)


def test_copies_are_deep() -> None:
    value: Any = {"a": [{"b": 1}]}
    copied(value)["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
