"""Edits of blocks from a file, one JSON object a line: what a pass did once, or what somebody wrote down instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from orchestra.core.errors import ConfigError
from orchestra.core.jsontext import Json, loads
from orchestra.memory import edits
from orchestra.memory.edits import Edit

_OPERATIONS: Mapping[str, tuple[tuple[str, ...], Callable[..., Edit]]] = {
    "append": (("content",), edits.append),
    "replace": (("old_content", "new_content"), edits.replace),
    "insert": (("new_string",), edits.insert),
    "rethink": (("new_memory",), edits.rethink),
}
_TEXTS = tuple(name for names, _ in _OPERATIONS.values() for name in names)
_FIELDS = ("turn", "label", "operation", "messages", "insert_line", *_TEXTS)


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """An edit of block ``label`` that belongs to the pass which reads completed turn ``turn``.

    ``messages`` are the numbers of the messages that it came from; none: those of its turn. ``text`` is what it writes.
    """

    turn: int
    label: str
    edit: Edit
    text: str
    messages: tuple[int, ...]
    line: int


def read_edits(path: str | Path) -> tuple[RecordedEdit, ...]:
    """The edits of a file, in its order. Empty lines count for nothing.

    Raises:
        ConfigError: the file cannot be read, or a line is no edit; it names the line and the field.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the recorded edits cannot be read: {error}", str(path)) from None
    out = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            out.append(_edit(line, str(path), number))
    return tuple(out)


def _edit(text: str, file: str, number: int) -> RecordedEdit:
    def fault(problem: str, field: str | None = None) -> ConfigError:
        return ConfigError(problem, file, number, field)

    try:
        value = loads(text)
    except ValueError as error:
        raise fault(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise fault("must be a JSON object")
    for name in value:
        if name not in _FIELDS:
            raise fault(f"there is no field {name!r}", name)
    operation = value.get("operation")
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise fault(f"must be one of {', '.join(_OPERATIONS)}, not {operation!r}", "operation")
    turn, messages = value.get("turn"), value.get("messages", [])
    if not _count(turn):
        raise fault(f"must be the number of a completed turn, from 1, not {turn!r}", "turn")
    if not isinstance(messages, list) or not all(_count(seq) for seq in messages):
        raise fault("must be a list of message numbers", "messages")
    names, make = _OPERATIONS[operation]
    for name in ("label", *names):
        if not isinstance(value.get(name), str):
            raise fault("must be text", name)
    texts = [cast("str", value[name]) for name in names]
    line = value.get("insert_line", -1)
    if not isinstance(line, int) or isinstance(line, bool) or line < -1:
        raise fault("must be a line number, 0 for the top or -1 for the end", "insert_line")
    try:
        edit = make(*texts, *((line,) if operation == "insert" else ()))
    except ValueError as error:
        raise fault(str(error)) from None
    seqs = tuple(cast("list[int]", messages))
    return RecordedEdit(cast("int", turn), cast("str", value["label"]), edit, texts[-1], seqs, number)


def _count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
