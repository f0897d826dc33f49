"""Turn files: one JSON object of ``content``, ``role`` and ``at`` on each line."""

from __future__ import annotations

import json
from pathlib import Path

from orchestra.core.document import Document
from orchestra.core.errors import ConfigError
from orchestra.core.scenario import Turn
from orchestra.core.validation import raise_all, validated
from orchestra.runtime.text_file import read_text, shown

_EXAMPLE = 'Write {"role": "user", "content": "…"} on each line'


def load_turns(path: str | Path) -> tuple[Turn, ...]:
    """The turns in the file at ``path``, in their order; blank lines are skipped.

    Raises :class:`ConfigError` for every malformed line, with its number.
    """
    path = Path(path)
    file = shown(path)
    turns: list[Turn] = []
    errors: list[ConfigError] = []
    # Only line feeds end a line: JSON text may hold the other separators of Unicode.
    for number, line in enumerate(read_text(path, what="turn file").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            turns.append(_turn(line, file, number))
        except ConfigError as error:
            errors.append(error)
    raise_all(errors)
    if not turns:
        raise ConfigError("there are no turns in it", file, 1, hint=_EXAMPLE)
    return tuple(turns)


def _turn(line: str, file: str, number: int) -> Turn:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"not valid JSON: {error.msg} at column {error.colno}", file, number, None, _EXAMPLE
        ) from None
    except RecursionError:
        raise ConfigError("the JSON is nested too deeply", file, number, None, _EXAMPLE) from None
    if not isinstance(value, dict):
        raise ConfigError("the line is no JSON object", file, number, None, _EXAMPLE)
    return validated(Turn, Document(value, file, {(): number}))
