"""``agent.state``: JSON values of one agent in one session, kept as operations until the turn's commit.

Operations (set, delete, increment) rather than values, so that parallel runs of one child do not overwrite each other;
``update`` becomes set-if-unchanged. Tools run in threads too, so every change happens under one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from orchestra.core.errors import StateValueError
from orchestra.core.jsontext import Json, dumps, fault, loads

Operation: TypeAlias = tuple[str, ...]
_MISSING = object()


class StateValues:
    """The state of one agent in one session during a turn. Owner: the turn."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = dict(stored)
        self._now = dict(stored)
        self._operations: list[Operation] = []
        self._functions: dict[str, list[Callable[[Json], Json]]] = {}
        self.lock = threading.RLock()

    def view(self) -> AgentState:
        """A view for one tool or hook, which remembers what that one changed."""
        return AgentState(self)

    def text(self, key: str) -> str | None:
        """The JSON text of a key as it is now in this turn."""
        return self._now.get(key)

    def keys(self) -> list[str]:
        """The keys that are there now."""
        return list(self._now)

    def apply(self, operation: Operation, function: Callable[[Json], Json] | None = None) -> None:
        """Apply one operation, also one that comes from the journal of a resumed run."""
        kind, key = operation[0], operation[1]
        if kind == "delete":
            self._now.pop(key, None)
        elif kind == "increment":
            self._now[key] = dumps(loads(self._now.get(key, "0")) + loads(operation[2]))
        else:
            self._now[key] = operation[-1]
        if function is not None:
            self._functions.setdefault(key, []).append(function)
        self._operations.append(operation)

    def rebase(self, key: str, current: str) -> None:
        """Another run changed ``key`` to ``current`` (JSON, empty when absent): run the updates of this turn again."""
        value: Json = loads(current) if current else None
        for function in self._functions.get(key, []):
            value = function(value)
        if current:
            self._stored[key] = current
        else:
            self._stored.pop(key, None)
        if key in self._functions:
            self._now[key] = checked(key, value)

    def folded(self) -> tuple[Operation, ...]:
        """One operation per changed key, for the commit; unchanged keys write nothing."""
        by_key: dict[str, list[Operation]] = {}
        for operation in self._operations:
            by_key.setdefault(operation[1], []).append(operation)
        out: list[Operation] = []
        for key, operations in by_key.items():
            before, after = self._stored.get(key), self._now.get(key)
            if all(operation[0] == "increment" for operation in operations):
                total = sum(loads(operation[2]) for operation in operations)
                if total:
                    out.append(("increment", key, dumps(total)))
            elif before == after:
                continue
            elif after is None:
                out.append(("delete", key))
            elif operations[0][0] == "swap" and key in self._functions:
                out.append(("swap", key, before or "", after))
            else:
                out.append(("set", key, after))
        return tuple(out)

    def after_commit(self) -> dict[str, str]:
        """All keys and their JSON text as the commit leaves them."""
        return dict(self._now)


class AgentState:
    """``agent.state`` as tools and hooks see it. Values are copied in and out.

    Raises :class:`StateValueError` (a ``ValueError``) for keys and values that JSON would not keep unchanged; the old
    value stays.
    """

    def __init__(self, values: StateValues) -> None:
        self._values = values
        self._changes: list[Operation] = []

    def get(self, key: str, default: Json = None) -> Json:
        """The value of ``key``, or ``default`` when it is absent (a stored ``None`` is ``None``)."""
        with self._values.lock:
            text = self._values.text(_key(key))
        return default if text is None else loads(text)

    def set(self, key: str, value: Json) -> None:
        """Set ``key`` to a JSON value."""
        text = checked(_key(key), value)
        self._do(("set", key, text))

    def delete(self, key: str) -> None:
        """Remove ``key``; one that is not there is no error."""
        with self._values.lock:
            if self._values.text(_key(key)) is not None:
                self._do(("delete", key))

    def increment(self, key: str, by: float = 1) -> float:
        """Add ``by`` to a number (absent counts as 0), atomically; the new value."""
        text = checked(_key(key), by)
        with self._values.lock:
            now = loads(self._values.text(key) or "0")
            if isinstance(now, bool) or not isinstance(now, int | float) or isinstance(by, bool):
                raise StateValueError(f"[{key!r}]", f"{type(now).__name__} cannot be incremented")
            self._do(("increment", key, text))
            return float(now + by) if isinstance(now + by, float) else now + by

    def update(self, key: str, function: Callable[[Json], Json]) -> Json:
        """Replace the value by ``function(value)`` (absent gives ``None``), atomically.

        ``function`` may run again when another run changed the key meanwhile, so it must not have other effects.
        """
        with self._values.lock:
            old = self._values.text(_key(key))
            value = function(None if old is None else loads(old))
            self._do(("swap", key, old or "", checked(key, value)), function)
        return value

    def keys(self) -> list[str]:
        """The keys that are there."""
        with self._values.lock:
            return self._values.keys()

    def changes(self) -> Sequence[Operation]:
        """What was changed through this view, for the journal."""
        return tuple(self._changes)

    def _do(self, operation: Operation, function: Callable[[Json], Json] | None = None) -> None:
        with self._values.lock:
            self._values.apply(operation, function)
            self._changes.append(operation)


def checked(key: str, value: object) -> str:
    """The JSON text of ``value``, refused when a round trip would change it."""
    if found := fault(value, f"[{key!r}]"):
        raise StateValueError(*found)
    return dumps(value)


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.strip():
        raise StateValueError(f"key {key!r}", "keys are non-blank text")
    if found := fault(key, f"key {key!r}"):
        raise StateValueError(*found)
    return key
