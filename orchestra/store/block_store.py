"""Blocks in Redis: creating, reading, the one write path, history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from orchestra.core.blocks import Access, Block, BlockView, Scope
from orchestra.core.errors import (
    BlockConflict,
    BlockLimitExceeded,
    BlockMatchError,
    BlockRangeError,
    BlockReadOnly,
    Fenced,
    UnknownBlock,
)
from orchestra.core.jsontext import dumps, loads
from orchestra.store.connection import Answer, Store

Operation: TypeAlias = Literal["append", "replace", "insert", "rethink", "update", "revert"]
HISTORY = 500


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an edit came to. ``chars`` and ``limit`` in characters; ``changed`` is False when nothing was written."""

    version: int
    chars: int
    limit: int
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """Who edits, in whose name. ``sources`` tells the messages it came from, as JSON."""

    author: str
    run: str = ""
    work: str = ""
    sources: str = ""


@dataclass(frozen=True, slots=True)
class Memo:
    """Where the answer of an edit is remembered, and whose lease it needs.

    ``key``/``field``: a field of a run's or draft's hash, or a key of its own (``field`` empty). ``owner``/``token``:
    the head of the thread, or the pass, whose fencing token must still be this one.
    """

    key: str
    field: str = ""
    owner: str = ""
    token: int | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One entry of a block's history. ``at`` is Unix seconds."""

    version: int
    operation: str
    author: str
    run: str
    work: str
    sources: str
    value: str
    at: float


def block_from(block_id: str, fields: dict[str, str], access: Access = "write") -> BlockView:
    """A block from its hash."""
    return BlockView.model_construct(
        id=block_id,
        label=fields["label"],
        value=fields["value"],
        limit=int(fields["limit"]),
        description=fields.get("description", ""),
        read_only=fields.get("read_only") == "1",
        scope=cast("Scope", fields.get("scope", "agent")),
        owner=fields.get("owner", ""),
        metadata=loads(fields["metadata"]) if fields.get("metadata") else {},
        tags=tuple(loads(fields["tags"])) if fields.get("tags") else (),
        version=int(fields["version"]),
        updated_at=int(fields.get("updated_at", "0")) / 1000,
        born=fields.get("born", ""),
        access=access,
    )


def block_fields(block: Block, owner: str) -> list[str]:
    """A declared block as the fields of its hash."""
    return [
        *("label", block.label, "value", block.value, "chars", str(len(block.value)), "limit", str(block.limit)),
        *("description", block.description, "read_only", "1" if block.read_only else "0", "scope", block.scope),
        *("owner", owner, "metadata", dumps(block.metadata), "tags", dumps(list(block.tags))),
    ]


class BlockStore:
    """Typed functions over the scripts that touch blocks."""

    def __init__(self, store: Store, *, history: int = HISTORY) -> None:
        self.store, self.history_bound = store, history

    async def create(self, block_id: str, block: Block, owner: str, author: str) -> int:
        """Make the block unless it is there; the version it has. Raises :class:`BlockLimitExceeded`."""
        if len(block.value) > block.limit:
            raise BlockLimitExceeded(block.label, block.limit, len(block.value))
        k = self.store.keys
        answer = await self.store.run(
            "create",
            [k.block(block_id), k.history(block_id), k.blocks, k.token],
            [block_id, author, self.history_bound, *block_fields(block, owner)],
        )
        return int(cast("str", answer[1]))

    async def read(self, block_id: str) -> BlockView | None:
        """The block, or ``None``."""
        fields = await self.store.fields(self.store.keys.block(block_id))
        return block_from(block_id, fields) if fields else None

    async def ids(self) -> list[str]:
        """The ids of all blocks of the namespace, sorted."""
        return sorted(cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.blocks)))

    async def edit(
        self,
        block_id: str,
        operation: Operation,
        arguments: Sequence[str | int],
        *,
        change: Change,
        memo: Memo,
        label: str,
        by_agent: bool,
        expected_version: int | None = None,
        draft: int | None = None,
    ) -> Receipt:
        """Apply one edit, once. ``draft`` is the token of the pass whose private copy is edited instead of the block.

        Raises:
            UnknownBlock, BlockReadOnly, BlockLimitExceeded, BlockMatchError, BlockRangeError, BlockConflict, Fenced
        """
        k = self.store.keys
        key = k.block(block_id) if draft is None else k.draft(draft, block_id)
        answer = await self.store.run(
            "edit",
            [key, k.history(block_id), memo.key, memo.owner or memo.key, k.events],
            [
                operation,
                memo.field,
                "" if memo.token is None else memo.token,
                "1" if by_agent else "0",
                *(change.author, change.run, change.work, change.sources),
                "0" if draft is None else "1",
                self.history_bound,
                "" if expected_version is None else expected_version,
                block_id,
                *arguments,
            ],
        )
        line = int(arguments[2]) if operation == "insert" else 0
        return _receipt(answer, label, expected_version or 0, memo.token or 0, line)

    async def log(self, block_id: str) -> list[Version]:
        """The block's versions, oldest first; the oldest may have been cut (the history is bounded)."""
        with self.store.typed():
            found = await self.store.redis.xrange(self.store.keys.history(block_id))
        entries = cast("list[tuple[str, dict[str, str]]]", found)
        return [
            Version(
                int(entry_id.partition("-")[0]),
                f["op"],
                f["author"],
                f["run"],
                f["pass"],
                f["sources"],
                f["value"],
                int(f["at"]) / 1000,
            )
            for entry_id, f in entries
        ]

    async def delete(self, block_ids: Sequence[str]) -> None:
        """Delete blocks and their histories; those that are gone already do not matter.

        The data goes first: who dies in between leaves an id in a list that passes over it, not a block in no list.
        """
        k = self.store.keys
        if block_ids:
            await self.store.read("DEL", *(key for b in block_ids for key in (k.block(b), k.history(b), k.users(b))))
            await self.store.read("SREM", k.blocks, *block_ids)


def _receipt(answer: Answer, label: str, expected: int, token: int, line: int) -> Receipt:
    status, *rest = answer
    numbers = [int(cast("str", item)) for item in rest[:20]] if status not in ("MOVED", "FENCED") else []
    if status in ("OK", "DUP", "SAME"):
        return Receipt(numbers[0], numbers[1], numbers[2], changed=status != "SAME")
    if status == "LIMIT":
        raise BlockLimitExceeded(label, numbers[0], numbers[1])
    if status == "READONLY":
        raise BlockReadOnly(label)
    if status == "MATCHES":
        raise BlockMatchError(label, numbers)
    if status == "RANGE":
        raise BlockRangeError(label, line, numbers[0])
    if status == "MOVED":
        raise BlockConflict(label, expected, int(cast("str", rest[0])), cast("str", rest[1]))
    if status == "FENCED":
        raise Fenced(f"block {label!r}", token)
    raise UnknownBlock(label)
