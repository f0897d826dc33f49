"""What a consolidator works with, and the interface that all consolidators have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestra.core.blocks import BlockView
from orchestra.core.model import Usage
from orchestra.memory import edits
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.sleeptime.draft_archive import DraftArchive
from orchestra.sleeptime.transcript import Transcript


@dataclass(slots=True)
class Work:
    """One pass on its drafts. ``line_sources`` tells for each line of a block the messages it came from.

    ``known_sources`` are those of the lines as they stood before. ``calls`` counts the model calls of earlier passes.
    ``archive`` is published with the blocks; without one the pass may not add to it.
    """

    thread: str
    agent: str
    user_id: str | None
    transcript: Transcript
    drafts: RunBlocks
    persona: str
    known_sources: dict[str, dict[str, tuple[int, ...]]]
    reread: Callable[[], Awaitable[Sequence[BlockView]]]
    calls: int = 0
    line_sources: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    archive: DraftArchive | None = None

    @property
    def blocks(self) -> list[BlockView]:
        """The drafts, in prompt order."""
        return self.drafts.ordered

    async def look(self) -> None:
        """See the drafts as they are now, after edits by tools."""
        self.drafts.refresh(await self.reread())

    async def rewrite(self, label: str, lines: Sequence[tuple[str, tuple[int, ...]]]) -> None:
        """Give a block new lines, each with the messages it came from. Refused like any edit."""
        block = self.drafts.by_label(label)
        value = "\n".join(text for text, _ in lines)
        self.line_sources[label] = dict(lines)
        if value != block.value:
            done = await self.drafts.edit(label, edits.rethink(value), f"rewrite:{label}", block.version)
            fresh = block.model_copy(update={"value": value, "version": done.version})
            self.drafts.refresh([fresh])


def changed_lines(before: str, after: str) -> int:
    """How many lines of a block were written, or taken away, whichever is more. Empty lines do not count."""
    old, new = ({line for line in text.split("\n") if line} for text in (before, after))
    return max(len(new - old), len(old - new))


class Consolidator(Protocol):
    """Turns a transcript into what will be useful, by editing the drafts."""

    @property
    def name(self) -> str:
        """As the configuration calls it."""

    async def consolidate(self, work: Work) -> Usage:
        """Edit the drafts; what it cost. Any exception fails the pass, which changes nothing."""
