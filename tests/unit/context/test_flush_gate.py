"""The flush: due once in a cycle, from a size on that depends on the window."""

from __future__ import annotations

import pytest

from orchestra.context.flush_gate import flush_due, reserve_floor_of, soft_threshold_of
from orchestra.context.gate import Gate
from orchestra.core.conversation import Flush

MIB = 1 << 20


def due(
    tokens: int,
    *,
    window: int = 200_000,
    settings: Flush | None = None,
    reserve_floor: int | None = None,
    cycle: int = 0,
    flushed: int | None = None,
    log_bytes: int = 0,
) -> Gate:
    return flush_due(
        tokens=tokens,
        window=window,
        settings=settings or Flush(),
        reserve_floor=reserve_floor,
        cycle=cycle,
        flushed=flushed,
        log_bytes=log_bytes,
    )


@pytest.mark.parametrize(
    ("window", "configured", "floor"),
    [
        (200_000, None, 20_000),
        (80_000, None, 20_000),
        (79_999, None, 19_999),
        (24_000, None, 6_000),
        (200_000, 0, 0),
        (200_000, 7, 7),
    ],
)
def test_the_reserve(window: int, configured: int | None, floor: int) -> None:
    assert reserve_floor_of(window, configured) == floor


@pytest.mark.parametrize(
    ("window", "configured", "threshold"),
    [(200_000, None, 4_000), (80_000, None, 4_000), (24_000, None, 1_200), (200_000, 0, 0), (24_000, 4_000, 4_000)],
)
def test_the_soft_threshold(window: int, configured: int | None, threshold: int) -> None:
    assert soft_threshold_of(window, configured) == threshold


@pytest.mark.parametrize(
    ("window", "tokens", "yes"),
    [
        (200_000, 176_000, True),
        (200_000, 175_999, False),
        (200_000, 300_000, True),
        (24_000, 16_800, True),
        (24_000, 16_799, False),
        (200_000, 0, False),
        (200_000, -1, False),
    ],
)
def test_the_size_from_which_on_it_is_due(window: int, tokens: int, yes: bool) -> None:
    assert due(tokens, window=window).yes is yes


def test_fixed_thresholds_never_fire_in_a_small_window() -> None:
    gate = due(23_999, window=24_000, settings=Flush(soft_threshold=4_000), reserve_floor=20_000)
    assert not gate
    assert "leave nothing" in gate.reason


@pytest.mark.parametrize(
    ("reserve_floor", "soft", "tokens", "yes"),
    [(0, 0, 200_000, True), (0, 0, 199_999, False), (10_000, 1_000, 189_000, True), (10_000, 1_000, 188_999, False)],
)
def test_configured_thresholds(reserve_floor: int, soft: int, tokens: int, yes: bool) -> None:
    assert due(tokens, settings=Flush(soft_threshold=soft), reserve_floor=reserve_floor).yes is yes


@pytest.mark.parametrize(
    ("cycle", "flushed", "yes"),
    [(0, None, True), (0, 0, False), (1, 0, True), (1, 1, False), (7, 6, True), (7, None, True)],
)
def test_once_in_a_cycle_and_never_is_not_zero(cycle: int, flushed: int | None, yes: bool) -> None:
    assert due(190_000, cycle=cycle, flushed=flushed).yes is yes


def test_no_cycle_is_skipped() -> None:
    flushed: int | None = None
    for cycle in range(6):
        assert due(190_000, cycle=cycle, flushed=flushed)
        flushed = cycle  # captured before the flush; the compaction that follows makes the next cycle
        assert not due(190_000, cycle=cycle, flushed=flushed)


@pytest.mark.parametrize(
    ("log_bytes", "forced_bytes", "flushed", "yes"),
    [
        (2 * MIB, 2 * MIB, None, True),
        (2 * MIB - 1, 2 * MIB, None, False),
        (2 * MIB, 2 * MIB, 3, False),
        (2 * MIB, 2 * MIB, 2, True),
        (100 * MIB, 0, None, False),
        (10, 10, None, True),
    ],
)
def test_a_large_log_forces_it_once_in_a_cycle(
    log_bytes: int, forced_bytes: int, flushed: int | None, yes: bool
) -> None:
    gate = due(5, settings=Flush(forced_bytes=forced_bytes), cycle=3, flushed=flushed, log_bytes=log_bytes)
    assert gate.yes is yes


def test_the_default_of_the_forced_size_is_two_mebibytes() -> None:
    assert due(5, log_bytes=2 * MIB)
    assert not due(5, log_bytes=2 * MIB - 1)


def test_off_is_off() -> None:
    assert not due(199_999, settings=Flush(enabled=False), log_bytes=100 * MIB)
    assert due(0).reason != due(190_000).reason != ""
