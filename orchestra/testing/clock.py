"""A clock that only its test moves."""

from __future__ import annotations

from orchestra.core.errors import InputError


class FakeClock:
    """A clock in Unix seconds that stands still until :meth:`advance`. Calling it is :meth:`now`."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """The current time in Unix seconds."""
        return self._now

    __call__ = now

    def advance(self, seconds: float) -> float:
        """Move on by ``seconds`` (never back) and return the new time."""
        if seconds < 0:
            raise InputError(f"a clock does not go back ({seconds} seconds)")
        self._now += seconds
        return self._now
