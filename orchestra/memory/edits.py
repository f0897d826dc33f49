"""The operations on a block as agents and developers give them, checked and turned into the script's arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestra.core.errors import InputError
from orchestra.store.block_store import Operation

_NUMBERED = re.compile(r"^\s*(?:\d+→|Line \d+: )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: the script's operation and arguments. ``line`` is what an insert asked for."""

    operation: Operation
    arguments: tuple[str | int, ...]
    line: int = 0


def append(text: str) -> Edit:
    """A new line (or lines) at the end."""
    _plain(text)
    return Edit("append", (text, len(text)))


def replace(old: str, new: str) -> Edit:
    """The one occurrence of ``old`` becomes ``new``; empty ``new`` deletes it."""
    if not old:
        raise InputError("the text to replace is empty; quote the text exactly as it stands in the block")
    _plain(old)
    _plain(new)
    return Edit("replace", (old, new, len(old), len(new)))


def insert(text: str, line: int = -1) -> Edit:
    """A new line after line ``line``: 0 is the top, -1 the end."""
    _plain(text)
    return Edit("insert", (text, len(text), line), line)


def rethink(text: str) -> Edit:
    """A whole new value."""
    _plain(text)
    return Edit("rethink", (text, len(text)))


def _plain(text: str) -> None:
    if _NUMBERED.search(text):
        raise InputError("leave out the line numbers: they are shown for orientation and are not part of the block")
