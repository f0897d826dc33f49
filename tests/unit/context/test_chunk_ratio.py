"""How much is summarised at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.chunk_ratio import chunk_ratio, chunk_tokens, oversized
from orchestra.core.conversation import Compaction


@pytest.mark.parametrize(
    ("mean", "window", "ratio"),
    [
        (0, 200_000, 0.4),
        (100, 200_000, 0.4),
        (10_000, 120_000, 0.4),  # r = 0.1 exactly
        (10_001, 120_000, 0.4 - 2 * 0.10001),
        (11_000, 120_000, 0.18),  # r = 0.11
        (12_500, 120_000, 0.15),  # r = 0.125, where the floor is reached
        (20_000, 120_000, 0.15),
        (500_000, 120_000, 0.15),
        (5, 0, 0.15),
    ],
)
def test_the_ratio(mean: float, window: int, ratio: float) -> None:
    assert chunk_ratio(mean, window, settings=Compaction()) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("tokens", "window", "chunk"),
    [
        ((), 200_000, 80_000),
        ((10, 20), 200_000, 80_000),
        ((100_000, 100_000), 200_000, 30_000),
        ((22_000, 0), 120_000, 21_600),
        ((1,), 1, 1),
        ((), 0, 1),
        ((50,), 200_001, 80_000),
    ],
)
def test_the_chunk(tokens: Sequence[int], window: int, chunk: int) -> None:
    assert chunk_tokens(tokens, window, settings=Compaction()) == chunk


@pytest.mark.parametrize(("tokens", "yes"), [(50_000, False), (50_001, True), (0, False), (200_000, True)])
def test_oversized_is_more_than_half_of_the_window_with_the_margin(tokens: int, yes: bool) -> None:
    assert oversized(tokens, 120_000) is yes


@given(st.lists(st.integers(0, 10**6), max_size=20), st.integers(1, 2_000_000))
def test_always_between_its_bounds(tokens: list[int], window: int) -> None:
    chunk = chunk_tokens(tokens, window, settings=Compaction())
    assert max(1, int(window * 0.15) - 1) <= chunk <= max(1, window * 0.4)
