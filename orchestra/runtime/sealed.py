"""``invocation_state`` on its way: values that every child call sees and nobody else."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from types import MappingProxyType

from orchestra.core.errors import InvocationStateError


class Sealed:
    """Pickled values that show nothing of themselves: not in a repr, a description, a log or an error.

    Each :meth:`open` gives a fresh copy, so what one tool does to a mutable value is not seen by another.
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @classmethod
    def of(cls, state: Mapping[str, object] | None) -> Sealed | None:
        """Pack a mapping. Raises :class:`InvocationStateError` with the key that cannot travel to another process."""
        if not state:
            return None
        for key, value in state.items():
            try:
                pickle.loads(pickle.dumps((key, value), protocol=5))
            except Exception:
                raise InvocationStateError(str(key)) from None
        return cls(pickle.dumps(dict(state), protocol=5))

    def open(self) -> Mapping[str, object]:
        """A read-only mapping with copies of the values."""
        return MappingProxyType(pickle.loads(self._data))

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> tuple[type[Sealed], tuple[bytes]]:
        return Sealed, (self._data,)
