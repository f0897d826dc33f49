"""Session ids that are made when they are needed: ``{user}-{date}`` is one session for each user and day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Annotated, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

from orchestra.core.errors import ConfigError
from orchestra.core.names import check_session, check_user

PLACEHOLDERS = ("user", "date")
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def check_zone(name: str) -> str:
    """``name`` if this machine knows a time zone of that name; ``ValueError`` else."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        hint = "use UTC, or a name such as Europe/Berlin"
        raise ValueError(f"{name!r} is no time zone that this machine knows; {hint}") from None
    return name


TimeZone: TypeAlias = Annotated[str, AfterValidator(check_zone)]


@dataclass(frozen=True)
class SessionTemplate:
    """A session id with ``{user}`` and ``{date}`` in it; ``{{`` and ``}}`` stand for braces.

    ``{date}`` is the day in ``time_zone``, as 2026-11-30. A text without placeholders is the id itself.

    Raises:
        ConfigError: another placeholder, a brace that stands alone, or a time zone that is not known.
    """

    text: str
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            check_zone(self.time_zone)
        except ValueError as error:
            raise ConfigError(str(error), field="time_zone") from None
        for found in _PIECE.finditer(self.text):
            if found[0] in ("{", "}"):
                raise ConfigError(
                    f"{self.text!r} has a single {found[0]!r}", field="session", hint="Write {{ and }} for braces"
                )
            if found[1] is not None and found[1] not in PLACEHOLDERS:
                raise ConfigError(
                    f"{self.text!r} has the unknown placeholder {found[0]}",
                    field="session",
                    hint="Use {user} and {date}, and {{ and }} for braces",
                )

    @cached_property
    def names(self) -> frozenset[str]:
        """The placeholders that it has."""
        return frozenset(found[1] for found in _PIECE.finditer(self.text) if found[1] is not None)

    @property
    def dated(self) -> bool:
        """Whether there is one session a day."""
        return "date" in self.names

    def today(self, at: float) -> date:
        """The day at ``at`` (Unix seconds), in the template's time zone."""
        return datetime.fromtimestamp(at, ZoneInfo(self.time_zone)).date()

    def ends(self, day: date) -> float:
        """When ``day`` is over, in Unix seconds."""
        midnight = datetime.combine(day + timedelta(days=1), time(), ZoneInfo(self.time_zone))
        return midnight.astimezone(UTC).timestamp()

    def fill(self, *, user: str | None, at: float) -> str:
        """The id of the session at ``at`` (Unix seconds).

        Raises:
            ConfigError: there is no user, and the template needs one.
            InputError: the id is longer than an id may be, or the user's is empty.
        """
        return self.on(self.today(at), user=user)

    def on(self, day: date, *, user: str | None) -> str:
        """The id of the session of ``day``. Raises as :meth:`fill`."""
        if "user" in self.names and user is None:
            raise ConfigError(f"{self.text!r} needs a user", field="session", hint="Say who the user is")
        if "user" in self.names and user is not None:
            check_user(user)
        values = {"user": user, "date": day.isoformat()}
        return check_session(_PIECE.sub(lambda one: one[0][0] if one[1] is None else str(values[one[1]]), self.text))
