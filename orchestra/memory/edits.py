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


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """An edit as hooks see it: ``text`` is written, ``old`` what a replace looks for, ``line`` that of an insert."""

    label: str
    operation: Operation
    text: str
    old: str = ""
    line: int = 0

    @classmethod
    def of(cls, label: str, edit: Edit) -> BlockEdit:
        """What ``edit`` does to the block ``label``."""
        if edit.operation == "replace":
            return cls(label, edit.operation, str(edit.arguments[1]), str(edit.arguments[0]))
        return cls(label, edit.operation, str(edit.arguments[0]), line=edit.line)

    def with_text(self, text: str) -> Edit:
        """The same edit with another text. Raises :class:`InputError` as the operations do."""
        if self.operation == "replace":
            return replace(self.old, text)
        if self.operation == "insert":
            return insert(text, self.line)
        return append(text) if self.operation == "append" else rethink(text)


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
