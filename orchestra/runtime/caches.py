"""What a host keeps of definitions, blocks and threads: bounded by bytes, and only ever a copy of what Redis holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from orchestra.context.decisions import NO_DECISIONS, Decisions, decisions_from
from orchestra.context.view import LogView
from orchestra.core.blocks import BlockView
from orchestra.runtime.definition import Loaded
from orchestra.store.context_store import NO_RECORD, ContextRecord
from orchestra.store.definition_store import Attachments


@dataclass(slots=True)
class CachedThread:
    """A thread as of ``edition`` with ``count`` log entries; valid only while both are the server's."""

    edition: int
    count: int
    view: LogView
    state: dict[str, str]
    bytes: int
    record: ContextRecord = NO_RECORD
    decided: Decisions = NO_DECISIONS
    outdated: bool = False

    def note(self, record: ContextRecord) -> None:
        """Take over a newer record of what was decided."""
        self.outdated = False
        self.record, self.decided = record, decisions_from(record)
        self.view.forget(self.decided.upto)

    @property
    def is_newest(self) -> bool:
        """Whether no other host is known to have recorded something meanwhile."""
        return not self.outdated

    def noted(self, run: str, notes: tuple[str, str, str], decided: Decisions, former: str) -> None:
        """A commit of ``run`` has written ``notes``; if it found another ``former`` version, ours is out of date."""
        self.outdated = former != self.record.version
        if self.outdated:
            self.record = replace(self.record, version="")
        elif any(notes):
            call, pruned, pinned = notes
            record = self.record
            self.record = replace(
                record,
                version=run,
                call=call or record.call,
                pruned=pruned or record.pruned,
                pinned=pinned or record.pinned,
            )
            self.decided = decided


@dataclass(frozen=True, slots=True)
class CachedAgent:
    """A definition and the agent's attachments, each checked by hash and version in every begin."""

    loaded: Loaded
    attachments: Attachments
    size: int = field(default=0)


class HostCaches:
    """Three caches of one host, together about ``limit`` bytes. Owner: the host's event loop."""

    def __init__(self, limit: int) -> None:
        self.agents: LRUCache[str, CachedAgent] = LRUCache(limit // 4, getsizeof=lambda item: item.size)
        self.blocks: LRUCache[str, BlockView] = LRUCache(limit // 4, getsizeof=_block_bytes)
        self.threads: LRUCache[str, CachedThread] = LRUCache(limit // 2, getsizeof=lambda item: item.bytes)

    def keep_thread(self, thread: str, item: CachedThread) -> None:
        """Remember a thread; one that is larger than the cache is not kept."""
        if item.bytes <= self.threads.maxsize:
            self.threads[thread] = item
        else:
            self.threads.pop(thread, None)

    def keep_agent(self, name: str, item: CachedAgent) -> None:
        """Remember a definition; one that is larger than the cache is not kept."""
        self.agents.pop(name, None)
        if item.size <= self.agents.maxsize:
            self.agents[name] = item

    def keep_block(self, block: BlockView) -> None:
        """Remember a block; one that is larger than the cache is not kept."""
        self.blocks.pop(block.id, None)
        if _block_bytes(block) <= self.blocks.maxsize:
            self.blocks[block.id] = block


def _block_bytes(block: BlockView) -> int:
    return 1500 + 2 * len(block.value) + 2 * len(block.description)
