"""What a pass adds to the archive: kept aside until the pass is published, whole."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.errors import ToolError
from orchestra.core.messages import Role
from orchestra.core.passages import Page, PassageHit, TagMode, Utterance
from orchestra.memory.passages import checked_tags, checked_text

MAX_ADDED = 100


class DraftArchive:
    """``added``: (text, tags) in order. A pass that fails adds nothing; it does not search."""

    def __init__(self) -> None:
        self.added: list[tuple[str, tuple[str, ...]]] = []

    async def insert(self, text: str, tags: Sequence[str] | None = None) -> None:
        """Add a passage, with the pass."""
        if len(self.added) >= MAX_ADDED:
            raise ToolError(f"one pass adds at most {MAX_ADDED} passages")
        self.added.append((checked_text(text), checked_tags(tags)))

    async def search(
        self,
        query: str,
        tags: Sequence[str] | None = None,
        limit: int = 10,
        *,
        tag_match_mode: TagMode = "any",
        start_date: str | None = None,
        end_date: str | None = None,
        cursor: str | None = None,
    ) -> Page[PassageHit]:
        """Not in a pass."""
        raise ToolError("a sleep-time agent does not search the archive")

    async def recall(
        self,
        query: str,
        roles: Sequence[Role] | None = None,
        limit: int = 10,
        *,
        start_date: str | None = None,
        end_date: str | None = None,
        cursor: str | None = None,
    ) -> Page[Utterance]:
        """Not in a pass."""
        raise ToolError("a sleep-time agent does not search what was said")
