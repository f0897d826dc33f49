"""Spans of time as people and models write them: a date, or a date with a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from orchestra.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` (included) to ``end`` (not included), in Unix seconds; ``None`` is open."""

    start: float | None = None
    end: float | None = None

    def holds(self, at: float) -> bool:
        """Whether the moment ``at`` lies in it."""
        return (self.start is None or at >= self.start) and (self.end is None or at < self.end)


ALWAYS = Span()


def span(start_date: str | None, end_date: str | None) -> Span:
    """The span of two ISO 8601 dates, both included. A date without a time means all of that day; no zone means UTC.

    Raises:
        InputError: a date cannot be read, or the end lies before the start.
    """
    start = _moment("start_date", start_date, whole_day=False)
    end = _moment("end_date", end_date, whole_day=True)
    if start is not None and end is not None and end <= start:
        raise InputError(f"end_date {end_date!r} lies before start_date {start_date!r}")
    return Span(start, end)


def _moment(name: str, text: str | None, *, whole_day: bool) -> float | None:
    if text is None or not text.strip():
        return None
    text = text.strip()
    try:
        try:
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return (day + timedelta(days=1)).timestamp() if whole_day else day.timestamp()
        except ValueError:
            moment = datetime.fromisoformat(text)
            zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            # An end with a time includes that very moment, which the half-open span would leave out.
            return zoned.timestamp() + (1e-6 if whole_day else 0.0)
    except (ValueError, OverflowError):
        raise InputError(f"{name} {text!r} is no date; write 2026-03-31 or 2026-03-31T14:00:00+09:00") from None
