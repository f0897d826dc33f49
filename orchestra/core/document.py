"""A configuration text as data that remembers where each value was written."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from orchestra.core.errors import ConfigError

KeyPath: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def field_name(path: KeyPath) -> str:
    """``blocks[1].limit`` for ``("blocks", 1, "limit")``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def parse_field(name: str) -> KeyPath:
    """The inverse of :func:`field_name`, for keys without dots and brackets."""
    return tuple(int(found[1]) if found[1] else found[2] for found in _STEP.finditer(name))


def has(holder: object, step: str | int) -> bool:
    """Whether ``holder`` is a mapping with that key or a list with that index."""
    if isinstance(holder, Mapping):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder)


def nearest(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for the known name that looks most like ``name``; empty when none does."""
    names = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return f"Did you mean {names[close[0]]!r}?" if close else ""


@dataclass(frozen=True, slots=True)
class Document:
    """One mapping from a file, with the place of every key.

    ``lines`` gives the 1-based line of every key path. ``written`` has the source text of plain scalars that are not
    text (``007``, ``true``) and of those that hold a variable, whose paths are in ``variables``. ``set_by`` names what
    put a value there other than the file (``--set run``, an environment variable). ``faults`` were found while reading;
    their paths are in ``broken``. ``prefix`` is where this mapping stands in its file, for the names of fields.
    """

    data: Mapping[str, object] = field(default_factory=dict)
    file: str | None = None
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    written: Mapping[KeyPath, str] = field(default_factory=dict)
    variables: frozenset[KeyPath] = frozenset()
    set_by: Mapping[KeyPath, str] = field(default_factory=dict)
    faults: tuple[ConfigError, ...] = ()
    broken: frozenset[KeyPath] = frozenset()
    prefix: KeyPath = ()

    def get(self, path: KeyPath) -> object:
        """The value at ``path``; ``None`` when there is none."""
        value: object = self.data
        for step in path:
            if not has(value, step):
                return None
            value = value[step]  # type: ignore[index]
        return value

    def line(self, path: KeyPath) -> int | None:
        """The line of ``path``, or of the nearest thing around it."""
        return next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), None)

    def fault(self, path: KeyPath, problem: str, hint: str = "") -> ConfigError:
        """A :class:`ConfigError` that points to where the value at ``path`` came from."""
        if (setter := self.setter(path)) is not None:
            rest = field_name(path[len(setter) :])
            name = self.set_by[setter] + (rest if not rest or rest.startswith("[") else f".{rest}")
            return ConfigError(problem, None, None, name, hint)
        return ConfigError(problem, self.file, self.line(path), field_name((*self.prefix, *path)) or None, hint)

    def setter(self, path: KeyPath) -> KeyPath | None:
        """The path in ``set_by`` that the value at ``path`` came from; ``None`` when the file wrote it."""
        for n in range(len(path), -1, -1):
            if path[:n] in self.set_by:
                return path[:n]
            if path[:n] in self.lines:
                break
        if path and path not in self.lines:
            return next((setter for setter in self.set_by if _below(setter, path)), None)
        return None

    def with_value(self, path: KeyPath, value: object, *, set_by: str, written: str | None = None) -> Document:
        """The document with another value at ``path``, which ``set_by`` put there and which was ``written`` so.

        Raises :class:`ConfigError` when something on the way is no mapping, or a list without that entry.
        """
        data = _put(self.data, path, value, set_by)
        rest = self.without(path)
        texts = (
            dict(rest.written) if written is None or isinstance(value, str | None) else {**rest.written, path: written}
        )
        return replace(rest, data=data, written=texts, set_by={**rest.set_by, path: set_by})  # type: ignore[arg-type]

    def without(self, path: KeyPath) -> Document:
        """The document without the key at ``path`` and all that is known of it."""

        def kept(places: Mapping[KeyPath, T]) -> dict[KeyPath, T]:
            return {place: item for place, item in places.items() if not _below(place, path)}

        full = (*self.prefix, *path)
        return replace(
            self,
            data={key: item for key, item in self.data.items() if path != (key,)},
            lines=kept(self.lines),
            written=kept(self.written),
            variables=frozenset(place for place in self.variables if not _below(place, path)),
            set_by=kept(self.set_by),
            faults=tuple(error for error in self.faults if not _below(parse_field(error.field or ""), full)),
            broken=frozenset(place for place in self.broken if not _below(place, path)),
        )

    def part(self, *path: str | int) -> Document:
        """The mapping at ``path`` as a document of its own; empty when there is none."""
        size = len(path)

        def below(places: Mapping[KeyPath, T]) -> dict[KeyPath, T]:
            return {place[size:]: item for place, item in places.items() if _below(place, path)}

        data = self.get(path)
        full = (*self.prefix, *path)
        return Document(
            data if isinstance(data, Mapping) else {},
            self.file,
            below(self.lines) or {(): self.line(()) or 1},
            below(self.written),
            frozenset(place[size:] for place in self.variables if _below(place, path)),
            below(self.set_by),
            tuple(error for error in self.faults if _below(parse_field(error.field or ""), full)),
            frozenset(place[size:] for place in self.broken if _below(place, path)),
            full,
        )


def _below(path: KeyPath, top: KeyPath) -> bool:
    return path[: len(top)] == top


def _put(holder: object, path: KeyPath, value: object, set_by: str) -> object:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not isinstance(holder, list) or step >= len(holder):
            there = len(holder) if isinstance(holder, list) else 0
            raise ConfigError(f"there is no entry [{step}]; there are {there}", None, None, set_by)
        return [_put(item, rest, value, set_by) if i == step else item for i, item in enumerate(holder)]
    if holder is None:
        holder = {}
    if not isinstance(holder, Mapping):
        raise ConfigError(f"the value that is there has no keys, so {step!r} cannot be set in it", None, None, set_by)
    return {**holder, step: _put(holder.get(step), rest, value, set_by)}
