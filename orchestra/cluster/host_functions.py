"""By-value functions on a host: whose they are, and what became of those that could not be unpickled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from orchestra.cluster.envelope import Edition
from orchestra.core.errors import FunctionUnavailable
from orchestra.runtime.function_ref import FunctionTable


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one program registered by value, each value pickled by itself: a name for people and the bytes."""

    edition: Edition
    functions: Mapping[str, tuple[str, bytes]]
    resources: Mapping[str, bytes]


class HostFunctions(FunctionTable):
    """The by-value functions of all programs that use this host. Owner: the host's event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._editions: dict[str, int] = {}
        self._owned: dict[str, set[str]] = {}
        self._broken: dict[str, FunctionUnavailable] = {}

    def has(self, edition: Edition) -> bool:
        """Whether all of that edition is here."""
        return self._editions.get(edition.owner, -1) >= edition.number

    def learn(self, bundle: Bundle) -> dict[str, Callable[[], object]]:
        """Take the functions over; the resource factories of the bundle. What does not unpickle raises when used."""
        from ray import cloudpickle

        owner = bundle.edition.owner
        mine = self._owned.setdefault(owner, set())
        for token, (name, data) in bundle.functions.items():
            if token in mine:
                continue
            mine.add(token)
            try:
                self._values[token] = cloudpickle.loads(data)
            except Exception as error:
                problem = f"it travelled by value and does not load here: {type(error).__name__}: {error}"
                self._broken[token] = FunctionUnavailable(name, problem)
        self._editions[owner] = max(bundle.edition.number, self._editions.get(owner, -1))
        return {name: _factory(name, data) for name, data in bundle.resources.items()}

    def forget(self, owner: str) -> None:
        """The program has gone, and its functions with it."""
        self._editions.pop(owner, None)
        for token in self._owned.pop(owner, set()):
            self._values.pop(token, None)
            self._broken.pop(token, None)

    def get(self, token: str) -> object | None:
        """The function, or ``None``. Raises :class:`FunctionUnavailable` when it came but cannot be used here."""
        if token in self._broken:
            raise self._broken[token]
        return super().get(token)


def _factory(name: str, data: bytes) -> Callable[[], object]:
    def make() -> object:
        from ray import cloudpickle

        try:
            factory = cast("Callable[[], object]", cloudpickle.loads(data))
        except Exception as error:
            problem = f"its factory does not load here: {type(error).__name__}: {error}"
            raise FunctionUnavailable(f"resource {name}", problem) from None
        return factory()

    return make
