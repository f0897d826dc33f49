"""By-value functions on a host: whose they are, and what became of those that could not be unpickled."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast, get_type_hints

from orchestra.cluster.envelope import Edition
from orchestra.core.errors import FunctionUnavailable
from orchestra.runtime.function_ref import FunctionTable


@dataclass(frozen=True, slots=True)
class Bundle:
    """What one program registered by value, each value pickled by itself: a name for people and the bytes."""

    edition: Edition
    functions: Mapping[str, tuple[str, bytes]]
    resources: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Travelling:
    """A value on its way. ``hints`` are its annotations as objects, where they are texts.

    A function by value takes along the names that its body uses, and those of its annotations are not among them.
    """

    value: object
    hints: dict[str, object] | None

    def arrived(self) -> object:
        """The value, with its annotations."""
        if self.hints is not None:
            inspect.unwrap(self.value).__annotations__ = self.hints  # type: ignore[arg-type]
        return self.value


def resolved_hints(value: object) -> dict[str, object] | None:
    """The annotations of a function, when any of them is a text that can be resolved; else ``None``."""
    inner = inspect.unwrap(value) if callable(value) else value
    if not inspect.isfunction(inner) or not any(isinstance(hint, str) for hint in inner.__annotations__.values()):
        return None
    try:
        return get_type_hints(inner, include_extras=True)
    except Exception:
        return None  # whoever needs them will say so


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
                self._values[token] = cast("Travelling", cloudpickle.loads(data)).arrived()
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
