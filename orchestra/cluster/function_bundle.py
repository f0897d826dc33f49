"""What a program registered by value, on its way to the hosts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from ray import cloudpickle

from orchestra.cluster.envelope import Edition
from orchestra.cluster.host_functions import Bundle, Travelling, resolved_hints
from orchestra.core.errors import FunctionUnavailable
from orchestra.models.scripted import ScriptedModel
from orchestra.runtime.function_ref import FunctionTable


class FunctionBundle:
    """The by-value functions and resource factories of this program. Owner: its dispatcher.

    Each value is pickled once; ``edition`` is ``None`` as long as there is nothing to send. The hosts forget them when
    the program ends: a definition that needs them gets :class:`FunctionUnavailable` from then on.
    """

    def __init__(self, functions: FunctionTable, resources: Callable[[], Mapping[str, Callable[[], object]]]) -> None:
        self.owner = uuid.uuid4().hex
        self.edition: Edition | None = None
        self.data = b""
        self._functions, self._resources = functions, resources
        self._sent: dict[str, tuple[str, bytes]] = {}
        self._known_resources: dict[str, Callable[[], object]] = {}
        self._seen = 0

    def refresh(self) -> bool:
        """Look for what is new since the last time; whether there is. Cheap when there is not.

        Raises :class:`FunctionUnavailable`, which names what cannot be pickled.
        """
        functions, resources = self._functions.all(), self._resources()
        if len(functions) == self._seen and (not resources or resources == self._known_resources):
            return False
        for token, value in functions.items():
            # A scripted model travels in the definition itself.
            if token not in self._sent and not isinstance(value, ScriptedModel):
                self._sent[token] = _named(value), _pickled(Travelling(value, resolved_hints(value)), _named(value))
        self._seen, self._known_resources = len(functions), dict(resources)
        if not self._sent and not resources:
            return False
        factories = {name: _pickled(factory, f"resource {name}") for name, factory in resources.items()}
        self.edition = Edition(self.owner, 0 if self.edition is None else self.edition.number + 1)
        self.data = cloudpickle.dumps(Bundle(self.edition, dict(self._sent), factories))
        return True


def _named(value: object) -> str:
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__)


def _pickled(value: object, name: str) -> bytes:
    try:
        return cloudpickle.dumps(value)  # type: ignore[no-any-return]
    except Exception as error:
        problem = f"it cannot be imported and does not travel by value either: {type(error).__name__}: {error}"
        raise FunctionUnavailable(name, problem) from None
