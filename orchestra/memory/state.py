"""``agent.state``: JSON values of one agent in one session, kept as operations until the turn's commit.

Operations (set, delete, increment) rather than values, so that parallel runs of one child do not overwrite each other;
``update`` becomes set-if-unchanged. Tools run in threads too, so every change happens under one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from orchestra.core.errors import StateValueError, ToolError
from orchestra.core.jsontext import Json, dumps, fault, loads

Operation: TypeAlias = tuple[str, ...]
EXACT_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Change:
    """One operation; of an update also its function. ``view`` is the tool's or hook's view it came through."""

    operation: Operation
    function: Callable[[Json], Json] | None = None
    view: object = None


class StateValues:
    """The state of one agent in one session during a turn. Owner: the turn."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = dict(stored)
        self._now = dict(stored)
        self._changes: list[Change] = []
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

    def apply(self, operation: Operation, view: object = None) -> None:
        """Apply one operation, also one that comes from the journal of a resumed run."""
        change = Change(operation, None, view)
        self.record(change, _applied(change, self._now.get(operation[1])))

    def record(self, change: Change, text: str | None) -> None:
        """Take over a change that makes its key ``text``."""
        self._put(change.operation[1], text)
        self._changes.append(change)

    def forget(self, view: object) -> None:
        """Take back what came through ``view``: its tool was stopped, so it counts as not having run."""
        with self.lock:
            keys = {change.operation[1] for change in self._changes if change.view is view}
            self._changes = [change for change in self._changes if change.view is not view]
            for key in keys:
                self._replay(key)

    def rebase(self, key: str, current: str) -> None:
        """Another run changed ``key`` to ``current`` (JSON, empty: absent): do this turn's operations again on it."""
        before = self._now.get(key)
        self._put_stored(key, current or None)
        try:
            self._replay(key)
        except StateValueError:
            # An increment of what is no number any more: what this turn had made of the key is what it leaves.
            kept = ("delete", key) if before is None else ("set", key, before)
            self._changes = [change for change in self._changes if change.operation[1] != key]
            self._changes.append(Change(kept))
            self._put(key, before)

    def folded(self) -> tuple[Operation, ...]:
        """One operation per changed key, for the commit; unchanged keys write nothing.

        What follows a set or delete is relative to it, so the key's last value is what counts. Updates, and increments
        whose sum the server could not make exactly, are set-if-unchanged: the arithmetic is Python's, so this host and
        one that loads the state later have the same number.
        """
        by_key: dict[str, list[Operation]] = {}
        for change in self._changes:
            by_key.setdefault(change.operation[1], []).append(change.operation)
        out: list[Operation] = []
        for key, operations in by_key.items():
            before, after = self._stored.get(key), self._now.get(key)
            if before == after:
                continue
            kinds = {operation[0] for operation in operations}
            if after is None:
                out.append(("delete", key))
            elif kinds & {"set", "delete"}:
                out.append(("set", key, after))
            elif kinds == {"increment"} and _exact(before or "0") and _exact(after):
                out.append(("increment", key, dumps(loads(after) - loads(before or "0"))))
            else:
                out.append(("swap", key, before or "", after))
        return tuple(out)

    def after_commit(self) -> dict[str, str]:
        """All keys and their JSON text as the commit leaves them."""
        return dict(self._now)

    def _replay(self, key: str) -> None:
        text = self._stored.get(key)
        for change in self._changes:
            if change.operation[1] == key:
                text = _applied(change, text)
        self._put(key, text)

    def _put(self, key: str, text: str | None) -> None:
        if text is None:
            self._now.pop(key, None)
        else:
            self._now[key] = text

    def _put_stored(self, key: str, text: str | None) -> None:
        if text is None:
            self._stored.pop(key, None)
        else:
            self._stored[key] = text


def _applied(change: Change, text: str | None) -> str | None:
    """The JSON text of a key after ``change``; ``None`` when it is absent."""
    kind, key, *rest = change.operation
    if kind == "delete":
        return None
    if kind == "increment":
        return dumps(_sum(key, loads(text or "0"), loads(rest[0])))
    if change.function is not None:
        return checked(key, change.function(None if text is None else loads(text)))
    return rest[-1]


def _sum(key: str, now: Json, by: Json) -> int | float:
    """Raises :class:`StateValueError` for what is no number, or when the sum is none."""
    if isinstance(now, bool) or not isinstance(now, int | float):
        raise StateValueError(f"[{key!r}]", f"{type(now).__name__} cannot be incremented")
    if isinstance(by, bool) or not isinstance(by, int | float):
        raise StateValueError(f"[{key!r}]", f"{type(by).__name__} cannot be added")
    total = now + by
    checked(key, total)
    return total


def _exact(text: str) -> bool:
    """Whether the server's integer arithmetic is right for this number: an integer well within 64 bits."""
    return text.lstrip("-").isdigit() and len(text) <= EXACT_DIGITS


class AgentState:
    """``agent.state`` as tools and hooks see it. Values are copied in and out.

    Raises :class:`StateValueError` (a ``ValueError``) for keys and values that JSON would not keep unchanged; the old
    value stays.
    """

    def __init__(self, values: StateValues) -> None:
        self._values = values
        self._changes: list[Operation] = []
        self._closed = False

    def close(self) -> None:
        """The tool's call is over. A thread that ran out of time may go on; it changes nothing any more."""
        with self._values.lock:
            self._closed = True

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
            total = _sum(key, loads(self._values.text(key) or "0"), by)
            self._do(("increment", key, text))
            return total

    def update(self, key: str, function: Callable[[Json], Json]) -> Json:
        """Replace the value by ``function(value)`` (absent gives ``None``), atomically.

        ``function`` may run again when another run changed the key meanwhile, so it must not have other effects.
        """
        with self._values.lock:
            self._check_open()
            old = self._values.text(_key(key))
            text = checked(key, function(None if old is None else loads(old)))
            self._values.record(Change(("swap", key, old or "", text), function, self), text)
            self._changes.append(("swap", key, old or "", text))
        return loads(text)  # type: ignore[no-any-return]

    def keys(self) -> list[str]:
        """The keys that are there."""
        with self._values.lock:
            return self._values.keys()

    def changes(self) -> Sequence[Operation]:
        """What was changed through this view, for the journal."""
        return tuple(self._changes)

    def _do(self, operation: Operation) -> None:
        with self._values.lock:
            self._check_open()
            self._values.apply(operation, view=self)
            self._changes.append(operation)

    def _check_open(self) -> None:
        # Else a late change would be in this host's copy of the state and not in the turn that is being stored.
        if self._closed:
            raise ToolError("this call of the tool is over; agent.state cannot be changed by it any more")


def checked(key: str, value: object) -> str:
    """The JSON text of ``value``, refused when a round trip would change it."""
    try:
        if found := fault(value, f"[{key!r}]"):
            raise StateValueError(*found)
        return dumps(value)
    except RecursionError:
        raise StateValueError(f"[{key!r}]", "it holds itself, or is nested too deeply") from None


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.strip():
        raise StateValueError(f"key {key!r}", "keys are non-blank text")
    if found := fault(key, f"key {key!r}"):
        raise StateValueError(*found)
    return key
