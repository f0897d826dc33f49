"""Blocks that live in the process: what consolidators work on in an experiment, without a server."""

from __future__ import annotations

from typing import cast

from orchestra.core.blocks import BlockView
from orchestra.core.errors import (
    BlockConflict,
    BlockLimitExceeded,
    BlockMatchError,
    BlockRangeError,
    BlockReadOnly,
    InputError,
)
from orchestra.memory.edits import Edit
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.store.block_store import BlockStore, Receipt


class MemoryDrafts(RunBlocks):
    """Drafts of a pass with the rules of the server's edit script. Owner: one pass of a trial."""

    def __init__(self, block: BlockView) -> None:
        # No edit reaches a store: the only method that would is replaced.
        super().__init__(cast("BlockStore", None), "experiment", "", (block.id,), {block.id: "write"})
        self.refresh([block])

    async def edit(self, label: str, edit: Edit, operation_id: str, expected: int | None = None) -> Receipt:
        """One edit; the same errors as on a server."""
        block = self.by_label(label)
        if block.read_only:
            raise BlockReadOnly(label)
        if expected is not None and expected != block.version:
            raise BlockConflict(label, expected, block.version, block.value)
        value = edited(block, edit)
        if len(value) > block.limit and len(value) > len(block.value):
            raise BlockLimitExceeded(label, block.limit, len(value))
        changed = value != block.value
        version = block.version + changed
        self.refresh([block.model_copy(update={"value": value, "version": version})])
        return Receipt(version, len(value), block.limit, changed)


def edited(block: BlockView, edit: Edit) -> str:
    """The block's value after ``edit``."""
    value, text = block.value, str(edit.arguments[0])
    if edit.operation == "rethink":
        return text
    if edit.operation == "append":
        return value + ("" if value == "" or value.endswith("\n") else "\n") + text
    if edit.operation == "replace":
        found = _places(value, text)
        if len(found) != 1:
            raise BlockMatchError(block.label, [value.count("\n", 0, at) + 1 for at in found])
        return value[: found[0]] + str(edit.arguments[1]) + value[found[0] + len(text) :]
    if edit.operation == "insert":
        lines = value.split("\n") if value else []
        at = len(lines) if edit.line == -1 else edit.line
        if not 0 <= at <= len(lines):
            raise BlockRangeError(block.label, edit.line, len(lines))
        return "\n".join([*lines[:at], text, *lines[at:]])
    raise InputError(f"an experiment has no edit {edit.operation!r}")


def _places(value: str, text: str) -> list[int]:
    out: list[int] = []
    at = value.find(text)
    while at >= 0 and len(out) < 20:
        out.append(at)
        at = value.find(text, at + 1)
    return out
