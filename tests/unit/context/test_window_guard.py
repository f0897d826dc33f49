"""The window: where its size comes from, and from which size on a conversation is possible."""

from __future__ import annotations

import math

import pytest

from orchestra.context.window_guard import guard, window_of
from orchestra.core.conversation import WindowGuard
from orchestra.core.errors import ContextWindowTooSmall, ModelError


@pytest.mark.parametrize(
    ("configured", "metadata", "agent", "expected"),
    [
        (None, None, None, 200_000),
        (None, 128_000, None, 128_000),
        (64_000, 128_000, None, 64_000),
        (256_000, 128_000, None, 256_000),
        (None, None, 24_000, 24_000),
        (64_000, 128_000, 32_000, 32_000),
        (64_000, None, 100_000, 64_000),
        (None, 128_000, 200_000, 128_000),
        (0, 128_000, None, 0),
        (math.inf, None, None, 0),
        (math.nan, 128_000, None, 0),
        (None, 128_000, math.nan, 0),
    ],
)
def test_where_it_comes_from(
    configured: float | None, metadata: float | None, agent: float | None, expected: int
) -> None:
    assert window_of(configured, metadata, agent) == expected


@pytest.mark.parametrize("window", [15_999, 0, -1, 1, math.inf, -math.inf, math.nan])
def test_too_small_is_an_error_before_any_call(window: float) -> None:
    with pytest.raises(ContextWindowTooSmall, match=r"openai:tiny.*16000") as caught:
        guard(window, settings=WindowGuard(), provider="openai", model="tiny")
    error = caught.value
    assert isinstance(error, ModelError)  # what a list of models passes over to its next one
    tokens = int(window) if math.isfinite(window) else 0
    assert (error.provider, error.model, error.tokens, error.minimum) == ("openai", "tiny", tokens, 16_000)


@pytest.mark.parametrize("window", [0, -5, math.nan, math.inf])
def test_what_is_no_size_blocks_whatever_the_minimum(window: float) -> None:
    with pytest.raises(ContextWindowTooSmall):
        guard(window, settings=WindowGuard(minimum=0, warn_below=0), provider="p", model="m")


@pytest.mark.parametrize(("window", "warns"), [(16_000, True), (31_999, True), (32_000, False), (200_000, False)])
def test_a_small_one_warns(window: int, warns: bool) -> None:
    warning = guard(window, settings=WindowGuard(), provider="openai", model="small")
    assert (warning is not None) == warns
    assert warning is None or (str(window) in warning and "openai:small" in warning)


def test_both_limits_are_configurable() -> None:
    settings = WindowGuard(minimum=100, warn_below=200)
    assert guard(200, settings=settings, provider="p", model="m") is None
    assert guard(100, settings=settings, provider="p", model="m") is not None
    with pytest.raises(ContextWindowTooSmall):
        guard(99, settings=settings, provider="p", model="m")
