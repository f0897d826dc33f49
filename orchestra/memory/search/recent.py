"""What was used lately, within a bound of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Something that knows about how many bytes it takes, and how to free them."""

    @property
    def size(self) -> int:
        """Bytes, about."""

    def close(self) -> None:
        """Free them."""


T = TypeVar("T", bound=Sized)


class Recent(Generic[T]):
    """Values by name; the ones not used for longest go when all together take more than ``bound`` bytes."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._values: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str, make: Callable[[], T]) -> T:
        """The value, made at its first use."""
        if name not in self._values:
            self._values[name] = make()
        self._values.move_to_end(name)
        return self._values[name]

    def values(self) -> list[T]:
        """All that are kept."""
        return list(self._values.values())

    def trim(self) -> None:
        """Let go of what is too much; the one used last stays whatever its size."""
        total = sum(value.size for value in self._values.values())
        while total > self._bound and len(self._values) > 1:
            _, gone = self._values.popitem(last=False)
            total -= gone.size
            gone.close()

    def clear(self) -> None:
        """Let go of all."""
        while self._values:
            self._values.popitem()[1].close()
