"""Items of a session: opaque JSON objects, kept as UTF-8 text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from orchestra.core.errors import InputError
from orchestra.core.jsontext import dumps, loads

# A JSON object. Any, so that the sessions type-check where a library has typed dicts of its own for its items.
Item: TypeAlias = Any

_escaped = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def encoded(items: Sequence[Item]) -> list[bytes]:
    """The items as they are stored, in one go: one bad item, and nothing of the batch is stored.

    Raises:
        InputError: an item is no JSON object, or holds what JSON cannot.
    """
    return [_encoded(item, number) for number, item in enumerate(items)]


def _encoded(item: Item, number: int) -> bytes:
    if type(item) is not dict and not isinstance(item, Mapping):
        raise InputError(f"item {number} is {type(item).__name__}; a session keeps JSON objects")
    value = item if type(item) is dict else dict(item)
    try:
        text = dumps(value)
        # What comes back equal was JSON all along; only the rest (a key 1, a tuple) is looked at closely.
        if loads(text) != value:
            _check_keys(value, f"item {number}")
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"item {number} cannot be stored as JSON: {error}") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _escaped(value).encode()  # half of a character, as models sometimes give it: kept as \udXXX


def _check_keys(value: object, path: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {key!r} of {path} is {type(key).__name__}, JSON has only text keys")
            _check_keys(inner, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            _check_keys(inner, f"{path}[{place}]")


def decoded(entry: bytes) -> Item | None:
    """The item, or ``None`` when what is stored is no JSON object."""
    try:
        item = loads(entry.decode())
    except (ValueError, RecursionError):
        return None
    return item if type(item) is dict else None
