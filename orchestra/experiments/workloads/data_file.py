"""JSON that users bring: every value knows its file, line and field, so that a fault can be named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import NoReturn

from orchestra.core.document import KeyPath, field_name
from orchestra.core.errors import ConfigError
from orchestra.runtime.text_file import read_text, shown

_SPACE = re.compile(r"[ \t\n\r]*")
_KINDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Item:
    """One value of a file. ``source`` is the JSON text it stands in, which begins at ``line`` of ``file``."""

    value: object
    file: str
    source: str
    line: int = 1
    path: KeyPath = ()

    def __getitem__(self, key: str) -> Item:
        """The value under ``key``. Raises :class:`ConfigError` when there is none."""
        found = self.maybe(key)
        if found is None:
            there = ", ".join(list(self.mapping())[:8]) or "nothing"
            raise ConfigError(
                "is missing", self.file, self._at(self.path), field_name((*self.path, key)), f"There is: {there}"
            )
        return found

    def maybe(self, key: str) -> Item | None:
        """The value under ``key``, if there is one; ``null`` is none."""
        value = self.mapping().get(key)
        return None if value is None else self._inner(key, value)

    def mapping(self) -> dict[str, object]:
        """The value as an object."""
        if not isinstance(self.value, dict):
            self._wanted("an object")
        return self.value

    def items(self) -> Iterator[Item]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            self._wanted("a list")
        return (self._inner(i, value) for i, value in enumerate(self.value))

    def text(self) -> str:
        """The value as text."""
        if not isinstance(self.value, str):
            self._wanted("text")
        return self.value

    def words(self) -> str:
        """The value as text; a number is taken as it is written."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            self._wanted("text or a number")
        return str(self.value)

    def number(self) -> int:
        """The value as a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self._wanted("a whole number")
        return self.value

    def fault(self, problem: str, hint: str = "") -> ConfigError:
        """An error that points here."""
        return ConfigError(problem, self.file, self._at(self.path), field_name(self.path) or None, hint)

    def _wanted(self, kind: str) -> NoReturn:
        is_ = _KINDS.get(type(self.value), "a list" if isinstance(self.value, list) else "an object")
        raise self.fault(f"must be {kind}, not {is_ if self.value is not None else 'null'}")

    def _inner(self, key: str | int, value: object) -> Item:
        return Item(value, self.file, self.source, self.line, (*self.path, key))

    def _at(self, path: KeyPath) -> int:
        return self.line + self.source.count("\n", 0, _offset(self.source, path))


def read_json(path: Path) -> Item:
    """The one JSON value of a file. Raises :class:`ConfigError` with file and line when it is none."""
    return _parsed(read_text(path, what="data file"), shown(path), 1)


def read_json_lines(path: Path) -> Iterator[Item]:
    """One JSON value a line; empty lines are skipped. Raises :class:`ConfigError` with file and line."""
    lines = read_text(path, what="data file").split("\n")
    return (_parsed(text, shown(path), number) for number, text in enumerate(lines, 1) if text.strip())


def _parsed(source: str, file: str, line: int) -> Item:
    try:
        return Item(json.loads(source), file, source, line)
    except json.JSONDecodeError as error:
        hint = f"At column {error.colno}"
        raise ConfigError(f"this is not JSON: {error.msg}", file, line + error.lineno - 1, None, hint) from None
    except RecursionError:
        raise ConfigError("lists or objects are nested too deep", file, line) from None
    except ValueError as error:  # a number of thousands of digits
        raise ConfigError(f"a value cannot be read: {error}", file, line) from None


def _offset(source: str, path: KeyPath) -> int:
    """Where the value at ``path`` begins in ``source``, which is valid JSON; if it is not there, the one around it."""
    decoder = json.JSONDecoder()
    at = _skip(source, 0)
    for step in path:
        place, found = _skip(source, at + 1), -1
        for number in range(len(source)):
            if source[place] in "]}":
                break
            key: str | int = number
            if source[at] == "{":
                key, place = scanstring(source, place + 1)
                place = _skip(source, _skip(source, place) + 1)
            if key == step:
                found = place
                break
            _, place = decoder.raw_decode(source, place)
            place = _skip(source, place)
            if source[place] == ",":
                place = _skip(source, place + 1)
        if found < 0:
            break
        at = found
    return at


def _skip(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return found.end() if found else at
