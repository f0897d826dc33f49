"""The archive and recall as the tools of one run use them: with its agent, its user, its operation ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from orchestra.core.messages import Role
from orchestra.core.passages import Page, PassageHit, TagMode, Utterance
from orchestra.memory.passages import Passages
from orchestra.memory.recall import ConversationSearch


class ToolArchive(Protocol):
    """The archive and recall as a tool may use them: it adds and searches, and never changes or deletes."""

    async def insert(self, text: str, tags: Sequence[str] | None = None) -> None:
        """Add a passage; a second start of the same call adds nothing."""

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
        """Passages of this agent, and of this user."""

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
        """What was said in this user's sessions, or as far as the agent's ``recall`` goes."""


@dataclass(frozen=True, slots=True)
class RunArchive:
    """Of one run. ``source``: where what it adds comes from; ``scope``: how far recall looks."""

    passages: Passages
    agent: str
    run_id: str
    session_id: str | None
    user_id: str | None
    scope: Literal["session", "user", "agent"] = "user"
    source: str = ""

    def of_call(self, name: str) -> CallArchive:
        """As one tool call uses it. ``name`` tells the call from others of the run."""
        return CallArchive(self, name)


class CallArchive:
    """As one tool call uses it: the ids of what it adds come from run and call, counted within the call."""

    def __init__(self, run: RunArchive, call: str) -> None:
        self._run, self._call, self._count = run, call, 0

    async def insert(self, text: str, tags: Sequence[str] | None = None) -> None:
        """Add a passage."""
        run = self._run
        self._count += 1
        await run.passages.insert(
            run.agent,
            text,
            tags,
            user_id=run.user_id,
            source=run.source,
            operation_id=f"{run.run_id}:{self._call}.{self._count}",
        )

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
        """Passages of this agent, and of this user."""
        return await self._run.passages.search(
            *(self._run.agent, query, tags, limit),
            tag_match_mode=tag_match_mode,
            user_id=self._run.user_id,
            start_date=start_date,
            end_date=end_date,
            cursor=cursor,
        )

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
        """What was said."""
        run = self._run
        where = ConversationSearch(
            run.passages.archive, run.agent, session_id=run.session_id, user_id=run.user_id, scope=run.scope
        )
        return await where.search(query, roles, limit, start_date=start_date, end_date=end_date, cursor=cursor)
