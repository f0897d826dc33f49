"""Fast pickling of frozen dataclasses with slots: a constructor call instead of the generic field-by-field state.

Runs, events and results cross processes (and, inline, are copied by pickling), so this is on the path of every turn.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TypeVar

T = TypeVar("T")


def by_constructor(cls: type[T]) -> type[T]:
    """Make instances of a dataclass pickle as ``cls(*fields)``; stands above ``@dataclass``, not for ``kw_only``."""
    values = attrgetter(*(field.name for field in fields(cls)))  # type: ignore[arg-type]

    def reduce(self: object) -> tuple[type[T], tuple[object, ...]]:
        return cls, values(self)

    cls.__reduce__ = reduce  # type: ignore[method-assign]
    return cls
