"""Dates as people and models write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.errors import InputError
from orchestra.core.span import span


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_date_means_all_of_the_day() -> None:
    made = span("2026-03-31", "2026-03-31")
    assert (made.start, made.end) == (at("2026-03-31T00:00:00+00:00"), at("2026-04-01T00:00:00+00:00"))
    assert made.holds(at("2026-03-31T23:59:59.999+00:00"))
    assert not made.holds(at("2026-04-01T00:00:00+00:00"))


def test_a_time_is_included_at_both_ends() -> None:
    made = span("2026-03-31T10:00:00", "2026-03-31T11:00:00+00:00")
    assert made.holds(at("2026-03-31T10:00:00+00:00"))
    assert made.holds(at("2026-03-31T11:00:00+00:00"))
    assert not made.holds(at("2026-03-31T11:00:01+00:00"))


@pytest.mark.parametrize(("start", "end"), [(None, None), ("", " ")])
def test_open_ends(start: str | None, end: str | None) -> None:
    assert span(start, end).holds(0)


@pytest.mark.parametrize("text", ["soon", "2026-02-30", "31.3.2026", "2026-03-31T25:00", "9999-12-31", "∞", "0"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(InputError, match="end_date"):
        span(None, text)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)))
def test_every_moment_lies_in_its_day(moment: datetime) -> None:
    day = moment.date().isoformat()
    assert span(day, day).holds(moment.replace(tzinfo=UTC).timestamp())
