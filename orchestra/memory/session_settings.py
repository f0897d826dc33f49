"""Settings of a session: what is read when nothing else is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from orchestra.core.errors import InputError


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """``limit``: how many items ``get_items()`` gives, the newest ones; ``None`` is all. Raises :class:`InputError`."""

    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        check_limit(self.limit)

    def resolve(self, override: object) -> SessionSettings:
        """These settings with what ``override`` (settings, a dict, or ``None``) sets over them."""
        given = {name: value for name, value in settings_from(override).to_dict().items() if value is not None}
        return replace(self, **given)

    def to_dict(self) -> dict[str, int | None]:
        """The settings as a dict."""
        return asdict(self)


def settings_from(value: object) -> SessionSettings:
    """Settings from ``None``, a dict, or any object that has the fields (those of the OpenAI Agents SDK do).

    Raises:
        InputError: a key is unknown, or the value is no settings.
    """
    if value is None:
        return SessionSettings()
    if isinstance(value, SessionSettings):
        return value
    known = [field.name for field in fields(SessionSettings)]
    if isinstance(value, Mapping):
        if unknown := sorted(str(key) for key in value if key not in known):
            raise InputError(f"unknown session settings: {', '.join(unknown)}; known: {', '.join(known)}")
        return SessionSettings(**value)
    if all(hasattr(value, name) for name in known):
        return SessionSettings(**{name: getattr(value, name) for name in known})
    raise InputError(f"session settings are SessionSettings or a dict, not {type(value).__name__}")


def check_limit(limit: object) -> int | None:
    """``limit`` if it is one. Raises :class:`InputError`."""
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0):
        return limit
    raise InputError(f"limit {limit!r}: use 0 or more, or None for all")
