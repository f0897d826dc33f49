"""The exact scan: against the definition, with filters, after changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra.core.span import Span
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.vector_index import Vector, VectorIndex

LABELS = ("red", "big", "old")
random = np.random.default_rng(7)


def unit(count: int, dimension: int = 8) -> Vector:
    made = random.standard_normal((count, dimension)).astype(np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]


steps = st.lists(
    st.tuples(st.integers(0, 40), st.booleans(), st.sets(st.sampled_from(LABELS)), st.integers(0, 20)), max_size=200
)
filters = st.builds(
    Filter,
    st.sets(st.sampled_from(LABELS)).map(tuple),
    st.sampled_from(["any", "all"]),
    st.builds(Span, st.none() | st.integers(0, 20), st.none() | st.integers(0, 20)),
)


@settings(max_examples=60, deadline=None)
@given(steps, filters, st.integers(1, 30))
def test_equals_the_definition(changes: list[tuple[int, bool, set[str], int]], only: Filter, count: int) -> None:
    index, kept = VectorIndex(8), {}
    vectors, query = unit(len(changes) + 1), unit(1)[0]
    for number, (key, drop, labels, at) in enumerate(changes):
        if drop:
            index.drop(str(key))
            kept.pop(str(key), None)
        else:
            index.put(str(key), vectors[number], at, sorted(labels))
            kept[str(key)] = (vectors[number], at, labels)
    fits = set(only.labels).intersection if only.match == "any" else set(only.labels).issubset
    expected = sorted(
        (
            -float(vector @ query)
            for vector, at, labels in kept.values()
            if only.span.holds(at) and (not only.labels or fits(labels))
        ),
    )[:count]
    found = index.search(query, count, only)
    assert [-score for _, score in found] == pytest.approx(expected, abs=1e-5)
    assert all(float(kept[key][0] @ query) == pytest.approx(score, abs=1e-5) for key, score in found)
    assert len(index) == len(kept)


def test_a_label_filter_comes_before_the_limit() -> None:
    index, query = VectorIndex(8), unit(1)[0]
    for number in range(1000):
        index.put(f"near {number}", query, 0.0)
    index.put("far", -query, 0.0, ["red"])
    assert index.search(query, 3, Filter(("red",))) == [("far", pytest.approx(-1.0))]
    assert index.search(query, 3, Filter(("blue",))) == []


def test_what_is_dropped_takes_no_room_for_ever() -> None:
    index = VectorIndex(8)
    vectors = unit(5000)
    for number in range(5000):
        index.put(f"key {number % 100}", vectors[number], 0.0, ["red"])
    assert len(index) == 100
    assert index.size < 100_000
    assert len(index.search(vectors[0], 1000, Filter(("red",)))) == 100


def test_an_empty_one() -> None:
    assert VectorIndex(8).search(unit(1)[0], 10) == []
