"""The blocks of one run: as its prompt shows them, and edited by its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestra.core.blocks import Access, BlockView
from orchestra.core.errors import BlockAccessDenied, UnknownBlock
from orchestra.memory import edits
from orchestra.memory.lineage import Sources
from orchestra.store.block_store import BlockStore, Change, Memo, Receipt

Notify = Callable[[BlockView, int, str], None]


class EditHooks(Protocol):
    """Who is asked and told about each edit of a run."""

    async def before(self, label: str, edit: edits.Edit) -> edits.Edit:
        """The edit that is made instead. Raises :class:`ToolError` when none is to be made."""

    async def after(self, label: str, edit: edits.Edit, version: int) -> None:
        """It is stored, as this version of the block."""


@dataclass(slots=True)
class RunBlocks:
    """Blocks by id, in prompt order, each with this agent's access. Owner: the turn; each journal entry refreshes them.

    With ``draft`` (the token of a pass) it is the pass's private copies that are edited. ``memo_field`` begins the
    names of what is remembered with the run: a memory flush has other ones than the turn.
    """

    store: BlockStore
    author: str
    run_id: str
    ids: tuple[str, ...]
    access: Mapping[str, Access]
    shown: dict[str, BlockView] = field(default_factory=dict)
    memo_key: str | None = None
    owner: str = ""
    token: int | None = None
    sources: str = ""
    notify: Notify | None = None
    draft: int | None = None
    memo_field: str = "e:"
    hooks: EditHooks | None = None

    def refresh(self, blocks: Sequence[BlockView]) -> None:
        """Take over newer versions."""
        for block in blocks:
            known = self.shown.get(block.id)
            if known is None or block.born != known.born or block.version >= known.version:
                access = self.access.get(block.id, "write")
                self.shown[block.id] = block if block.access == access else block.model_copy(update={"access": access})

    @property
    def ordered(self) -> list[BlockView]:
        """The blocks in the order of the prompt."""
        return [self.shown[block_id] for block_id in self.ids if block_id in self.shown]

    @property
    def stamps(self) -> tuple[str, ...]:
        """The stamp of each id, empty for one that is not loaded."""
        return tuple(self.shown[block_id].stamp if block_id in self.shown else "" for block_id in self.ids)

    def by_label(self, label: str) -> BlockView:
        """The block with this label. Raises :class:`UnknownBlock`, which lists the labels."""
        for block in self.ordered:
            if block.label == label:
                return block
        raise UnknownBlock(label, [block.label for block in self.ordered])

    def writable(self) -> bool:
        """Whether there is a block that this agent may change."""
        return any(not block.read_only and block.access != "read" for block in self.ordered)

    async def edit(self, label: str, edit: edits.Edit, operation_id: str, expected: int | None = None) -> Receipt:
        """One edit by this agent, once per ``operation_id``."""
        block = self.by_label(label)
        if block.access == "read" or (block.access == "append" and edit.operation != "append"):
            raise BlockAccessDenied(label, block.access, edit.operation)
        if self.hooks is not None:
            edit = await self.hooks.before(label, edit)
        done = await self.store.edit(
            block.id,
            edit.operation,
            edit.arguments,
            change=Change(self.author, self.run_id, sources=self.sources),
            memo=self._memo(block.id, operation_id),
            label=label,
            by_agent=True,
            expected_version=expected,
            draft=self.draft,
        )
        if done.changed and self.notify is not None:
            self.notify(block, done.version, edit.operation)
        if done.changed and self.hooks is not None:
            await self.hooks.after(label, edit, done.version)
        return done

    def _memo(self, block_id: str, operation_id: str) -> Memo:
        keys = self.store.store.keys
        if self.draft is not None:
            return Memo(keys.draft(self.draft, block_id), f"op:{operation_id}", self.owner, self.token)
        if self.memo_key is None:
            return Memo(keys.op(f"{self.run_id}:{operation_id}"))
        return Memo(self.memo_key, f"{self.memo_field}{operation_id}", self.owner, self.token)


@dataclass(slots=True)
class CallBlocks:
    """The blocks as one tool call uses them: operation ids come from the call, edits are counted within it."""

    blocks: RunBlocks
    call: str
    seen: Mapping[str, int]
    _count: int = 0

    def labels(self) -> list[str]:
        """The labels in the prompt, in order."""
        return [block.label for block in self.blocks.ordered]

    def get(self, label: str) -> BlockView:
        """The block as this turn sees it."""
        return self.blocks.by_label(label)

    async def append(self, label: str, text: str) -> Receipt:
        """A new line at the end."""
        return await self._edit(label, edits.append(text))

    async def replace(self, label: str, old: str, new: str) -> Receipt:
        """Replace the one occurrence of ``old``."""
        return await self._edit(label, edits.replace(old, new))

    async def insert(self, label: str, text: str, line: int = -1) -> Receipt:
        """A new line after line ``line``."""
        return await self._edit(label, edits.insert(text, line))

    async def rethink(self, label: str, value: str) -> Receipt:
        """A whole new value, checked against the version that the model was shown."""
        return await self._edit(label, edits.rethink(value), self.seen.get(self.blocks.by_label(label).id, 0))

    async def _edit(self, label: str, edit: edits.Edit, expected: int | None = None) -> Receipt:
        self._count += 1
        return await self.blocks.edit(label, edit, f"{self.call}.{self._count}", expected)


def block_sources(thread: str, seqs: Sequence[int]) -> str:
    """The sources of an edit that a turn's messages led to."""
    return Sources(thread, tuple(seqs)).to_text()
