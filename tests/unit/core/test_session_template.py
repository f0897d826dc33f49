"""Session ids that are made when they are needed."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from orchestra.core.errors import ConfigError, InputError
from orchestra.core.session_template import SessionTemplate

# In Berlin it is half past midnight of the first of December.
LATE = datetime(2026, 11, 30, 23, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "zone", "filled"),
    [
        ("{user}-{date}", "UTC", "ana-2026-11-30"),
        ("{user}-{date}", "Europe/Berlin", "ana-2026-12-01"),
        ("{date}", "America/New_York", "2026-11-30"),
        ("plain", "UTC", "plain"),
        ("{{user}}-{user}", "UTC", "{user}-ana"),
        ("{date}/{date}", "UTC", "2026-11-30/2026-11-30"),
    ],
)
def test_filling(text: str, zone: str, filled: str) -> None:
    assert SessionTemplate(text, zone).fill(user="ana", at=LATE) == filled


@pytest.mark.parametrize(
    ("text", "zone", "said"),
    [
        ("{name}-{date}", "UTC", r"unknown placeholder \{name\}"),
        ("{}", "UTC", r"unknown placeholder \{\}"),
        ("{user", "UTC", r"single '\{'"),
        ("user}", "UTC", r"single '\}'"),
        ("{date}", "Europe/Atlantis", "no time zone"),
        ("{date}", "../zones", "no time zone"),
    ],
)
def test_what_cannot_be_filled_is_refused(text: str, zone: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        SessionTemplate(text, zone)


def test_a_user_is_needed_where_it_is_named() -> None:
    with pytest.raises(ConfigError, match="needs a user"):
        SessionTemplate("{user}-{date}").fill(user=None, at=LATE)
    assert SessionTemplate("{date}").fill(user=None, at=LATE) == "2026-11-30"
    with pytest.raises(InputError, match="256"):
        SessionTemplate("{user}-{date}").fill(user="x" * 250, at=LATE)


def test_another_day() -> None:
    assert SessionTemplate("{user}-{date}").on(date(2026, 1, 2), user="{date}") == "{date}-2026-01-02"


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", date(2026, 11, 30), 24),
        ("Europe/Berlin", date(2026, 3, 29), 23),  # the clocks go forward
        ("Europe/Berlin", date(2026, 10, 25), 25),
    ],
)
def test_a_day_ends_at_midnight_there(zone: str, day: date, hours: int) -> None:
    template = SessionTemplate("{date}", zone)
    before = SessionTemplate("{date}", zone).ends(date.fromordinal(day.toordinal() - 1))
    assert template.ends(day) - before == hours * 3600
    assert template.today(template.ends(day) - 1) == day
    assert template.today(template.ends(day)) == date.fromordinal(day.toordinal() + 1)
