"""``request_heartbeat``: for models that end a turn at each tool call unless they ask to go on.

Here a turn goes on after every tool call anyway, so the argument changes nothing. Models that were taught virtual
context expect it, send it unasked, and would take a tool without it for their last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from orchestra.core.jsontext import Json
from orchestra.core.model import ToolSpec

ARGUMENT = "request_heartbeat"
_PROPERTY: dict[str, Json] = {
    "type": "boolean",
    "default": True,
    "description": "true: go on after this call, without waiting for the user.",
}


def with_heartbeat(spec: ToolSpec) -> ToolSpec:
    """The tool with the optional argument; unchanged when it has one of that name."""
    properties = cast("Mapping[str, Json]", spec.parameters.get("properties") or {})
    if ARGUMENT in properties:
        return spec
    return replace(spec, parameters={**spec.parameters, "properties": {**properties, ARGUMENT: _PROPERTY}})


def without_heartbeat(spec: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json]:
    """The arguments for the function itself, which does not know of it."""
    properties = cast("Mapping[str, Json]", spec.parameters.get("properties") or {})
    if ARGUMENT in properties or ARGUMENT not in arguments:
        return arguments
    return {name: value for name, value in arguments.items() if name != ARGUMENT}
