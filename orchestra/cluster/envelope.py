"""What crosses between a program and a host: bytes that we pickle ourselves.

Ray sees bytes only, so no argument shows in its descriptions and logs, and an error arrives as the object that it was,
not wrapped in Ray's own.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from orchestra.core.errors import HostUnavailable, OrchestraError
from orchestra.core.events import RunEvent
from orchestra.core.result import RunResult
from orchestra.runtime.request import RunRequest
from orchestra.runtime.sealed import Sealed


@dataclass(frozen=True, slots=True)
class Edition:
    """The by-value functions and resources of one program: ``owner`` names it, ``number`` grows with each change."""

    owner: str
    number: int


@dataclass(frozen=True, slots=True)
class Call:
    """One turn for a host. ``again``: it was sent before, to a host that did not answer."""

    request: RunRequest
    invocation_state: Sealed | None
    functions: Edition | None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Lacking:
    """The host has not got the functions of that program (yet, or since its restart); nothing was done."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The call raised a typed error."""

    error: OrchestraError


class HostStopped(HostUnavailable):
    """The host is leaving and did nothing; another one will serve the call."""


Answer: TypeAlias = RunResult | Lacking | Failed
Item: TypeAlias = Sequence[RunEvent] | Lacking | Failed


def packed(value: Call | Answer | Item) -> bytes:
    """``value`` as bytes."""
    return pickle.dumps(value, protocol=5)


def call_in(data: bytes) -> Call:
    """The call in ``data``."""
    return pickle.loads(data)  # type: ignore[no-any-return]


def answer_in(data: bytes) -> Answer:
    """The answer in ``data``."""
    return pickle.loads(data)  # type: ignore[no-any-return]


def item_in(data: bytes) -> Item:
    """The item of a stream in ``data``."""
    return pickle.loads(data)  # type: ignore[no-any-return]


def as_failed(error: Exception, host: str) -> Failed:
    """``error`` for the way back. One that is not ours, or does not pickle, becomes its text."""
    if isinstance(error, OrchestraError):
        try:
            pickle.loads(pickle.dumps(error, protocol=5))
        except Exception:
            return Failed(OrchestraError(f"host {host}: {error}"))
        return Failed(error)
    return Failed(OrchestraError(f"host {host}: {type(error).__name__}: {error}"))
