"""Tool calls that a message writes out, for a model that cannot think of any: ``read_report(number=12)``."""

from __future__ import annotations

import re
from collections.abc import Collection

from orchestra.core.jsontext import Json, loads
from orchestra.core.messages import ToolCall

_CALL = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\(([^()]*)\)")
_ARGUMENT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^,]+?)\s*(?:,|$)")


def written_call(text: str, tools: Collection[str]) -> ToolCall | None:
    """The first call of one of ``tools`` in ``text``, with named arguments in JSON; ``None``: there is none.

    What is no JSON is taken as text: ``city=Kyoto``.
    """
    for match in _CALL.finditer(text):
        if match[1] in tools:
            arguments: dict[str, Json] = {name: _value(raw) for name, raw in _ARGUMENT.findall(match[2])}
            return ToolCall("", match[1], arguments)
    return None


def _value(raw: str) -> Json:
    try:
        return loads(raw)  # type: ignore[no-any-return]
    except ValueError:
        return raw
