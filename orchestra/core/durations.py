"""Times as people write them: ``30d``, ``12h``, ``5m``, ``90s``, or seconds."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

_DURATION = r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _seconds(value: object) -> object:
    """Seconds, or a number with ``s``, ``m``, ``h`` or ``d`` behind it."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(_DURATION, value)
    if not found:
        raise ValueError(f"must be a number of seconds, or a number with s, m, h or d behind it, not {value!r}")
    return float(found[1]) * _UNITS[found[2]]


SECONDS_SCHEMA = {
    "anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": f"^{_DURATION}$"}],
}
Seconds: TypeAlias = Annotated[float, BeforeValidator(_seconds), Field(gt=0), WithJsonSchema(SECONDS_SCHEMA)]
