"""Kinds of runnables beside agents. The floor above, which knows them, adds them here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json
from orchestra.core.runnable import Pattern
from orchestra.runtime.function_ref import FunctionTable

if TYPE_CHECKING:
    from orchestra.memory.state import StateValues
    from orchestra.runtime.definition import Loaded, Packed
    from orchestra.runtime.journal import Journal
    from orchestra.runtime.serving import Serving
    from orchestra.runtime.turn import Work
    from orchestra.runtime.turn_context import TurnContext


class Kind(Protocol):
    """One kind of runnable: how its definition is kept, and how its run works."""

    name: str

    def fits(self, runnable: Pattern) -> bool:
        """Whether ``runnable`` is of this kind."""

    def pack(self, runnable: Pattern, table: FunctionTable, known: Mapping[str, Mapping[str, Json]]) -> Packed:
        """The definition for the store. ``known`` says, by name, what the definitions that it uses tell of themselves.

        Raises:
            FunctionUnavailable: a function that it names cannot be imported.
        """

    def load(self, value: Mapping[str, Json], digest: str, table: FunctionTable) -> Loaded:
        """The inverse of :meth:`pack`, ready to run."""

    def work(self, serving: Serving, context: TurnContext, journal: Journal, state: StateValues, resumed: bool) -> Work:
        """One run of it."""


_kinds: dict[str, Kind] = {}


def add_kind(kind: Kind) -> None:
    """Make a kind known to all hosts and clients of this process."""
    _kinds[kind.name] = kind


def kind_named(name: str) -> Kind:
    """The kind of a stored definition. Raises :class:`InputError`."""
    if name not in _kinds:
        raise InputError(f"this process knows no runnables of kind {name!r}")
    return _kinds[name]


def kind_of(runnable: Pattern) -> Kind:
    """The kind of a definition. Raises :class:`InputError`."""
    for kind in _kinds.values():
        if kind.fits(runnable):
            return kind
    raise InputError(f"{type(runnable).__name__} {runnable.name!r} is of no kind that this process knows")
