"""JSON as the store keeps it: compact, Unicode as it is, and only what survives a round trip unchanged."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode
loads = json.loads


def dumps(value: object) -> str:
    """Compact JSON text, keys in their given order. Raises ``ValueError`` or ``TypeError`` for what is not JSON."""
    return _encode(value)


def digest(value: object) -> str:
    """Sixteen hexadecimal digits that identify a JSON value, whatever the order of its keys."""
    return hashlib.blake2b(_encode_sorted(value).encode(), digest_size=8).hexdigest()


def fault(value: object, path: str = "value") -> tuple[str, str] | None:
    """The first part of ``value`` that a JSON round trip would change, as (path, problem); ``None``: there is none."""
    if value is None or isinstance(value, bool | str):
        return None if not isinstance(value, str) else _text_fault(value, path)
    if isinstance(value, int):
        return None if type(value) is int else (path, f"{type(value).__name__} would come back as int")
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, f"{value} is not JSON")
    if type(value) is list:
        return next((found for i, item in enumerate(value) if (found := fault(item, f"{path}[{i}]"))), None)
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return path, f"the key {key!r} is {type(key).__name__}, only str keys survive"
            if found := fault(item, f"{path}[{key!r}]"):
                return found
        return None
    return path, f"{type(value).__name__} is not JSON"


def _text_fault(text: str, path: str) -> tuple[str, str] | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return path, "text with a lone surrogate cannot be stored"
    return None


def copied(value: Json) -> Json:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def is_object(value: object) -> bool:
    """Whether ``value`` is a JSON object that survives a round trip."""
    return isinstance(value, Mapping) and fault(dict(value)) is None
