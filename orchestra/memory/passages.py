"""``runtime.passages``: the archive for developers, who may do everything."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from orchestra.core.errors import InputError, UnknownName
from orchestra.core.jsontext import dumps
from orchestra.core.names import check_agent, check_storable, check_user, derived_id
from orchestra.core.passages import MAX_RESULTS, Page, Passage, PassageHit, PassageQuery, TagMode
from orchestra.core.span import span
from orchestra.memory.search.archive import Archive
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.passage_store import NewPassage, PassageStore, owner_of

MAX_CHARS = 20_000
YEAR_1, YEAR_10000 = -62_135_596_800.0, 253_402_300_800.0


class Passages:
    """The passages of a namespace."""

    def __init__(self, store: Store, archive: Archive) -> None:
        self._store, self.archive = PassageStore(store), archive

    async def insert(
        self,
        agent: str,
        text: str,
        tags: Sequence[str] | None = None,
        *,
        user_id: str | None = None,
        source: str = "",
        created_at: float = 0.0,
        operation_id: str | None = None,
    ) -> Passage:
        """Add a passage, once per ``operation_id``. ``created_at``: Unix seconds, 0 means now.

        Raises:
            InputError: the text is blank, longer than 20,000 characters or no Unicode; ``created_at`` is no date.
        """
        found = await self.insert_many(
            agent, [text], tags, user_id=user_id, source=source, created_at=created_at, operation_id=operation_id
        )
        return found[0]

    async def insert_many(
        self,
        agent: str,
        texts: Sequence[str],
        tags: Sequence[str] | None = None,
        *,
        user_id: str | None = None,
        source: str = "",
        created_at: float = 0.0,
        operation_id: str | None = None,
    ) -> list[Passage]:
        """Add passages, 500 a command. The same ``operation_id`` again adds nothing. Errors as in :meth:`insert`."""
        operation, at = operation_id or uuid.uuid4().hex, checked_time(created_at)
        check_storable(source, "source")
        made = [
            NewPassage(passage_id(operation, number), checked_text(text), checked_tags(tags), source, at)
            for number, text in enumerate(texts)
        ]
        await self._store.add(check_agent(agent), checked_user(user_id), made)
        await self.archive.added(agent, user_id)
        return await self._store.get([one.id for one in made])

    async def search(
        self,
        agent: str,
        query: str,
        tags: Sequence[str] | None = None,
        limit: int = 10,
        *,
        tag_match_mode: TagMode = "any",
        user_id: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        cursor: str | None = None,
    ) -> Page[PassageHit]:
        """The agent's own passages and this user's, by meaning; the filters come before the limit.

        Dates are ISO 8601, both included; one without a time means all of that day in UTC. Blank text finds nothing.

        Raises:
            InputError: a name, a date, the limit or the cursor cannot be used.
            EmbeddingMismatch: the stored vectors are of another model than the configured one.
        """
        who, text = (check_agent(agent), checked_user(user_id)), check_storable(query, "query")
        return await self.archive.search(
            PassageQuery(
                *(who[0], text, who[1], checked_tags(tags), tag_match_mode, limit),
                span(start_date, end_date),
                cursor,
            )
        )

    async def get(self, passage_id: str) -> Passage:
        """One passage. Raises :class:`UnknownName`."""
        found = await self._store.get([passage_id])
        if not found:
            raise UnknownName("passage", passage_id)
        return found[0]

    async def list(
        self, agent: str, *, user_id: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[Passage]:
        """The agent's own passages, or those of one of its users; the newest first. Raises :class:`InputError`."""
        if not 1 <= limit <= MAX_RESULTS:
            raise InputError(f"limit {limit}: use 1 to {MAX_RESULTS}")
        ids, after = await self._store.newest(owner_of(check_agent(agent), checked_user(user_id)), limit, cursor)
        return Page.of(await self._store.get(ids), after)

    async def update(self, passage_id: str, *, text: str | None = None, tags: Sequence[str] | None = None) -> Passage:
        """Change what is given; ``[]`` clears the tags. Raises :class:`UnknownName`, :class:`InputError`."""
        found = await self.get(passage_id)
        fields = {}
        if text is not None:
            fields["text"] = checked_text(text)
        if tags is not None:
            fields["tags"] = dumps([*checked_tags(tags)])
        if fields:
            await self._store.change(found, fields)
            await self.archive.added(found.agent, found.user_id)
        return await self.get(passage_id)

    async def delete(self, passage_id: str) -> bool:
        """Delete a passage; whether it was there. Twice is fine."""
        found = await self._store.get([passage_id])
        return bool(found) and await self._store.delete(found[0])

    async def known(self, agent: str) -> None:
        """Check that there is an agent of this name, or an archive that one has left.

        Raises:
            UnknownName: neither; names the others.
        """
        names = {owner.partition("|")[0] for owner in await self._store.owners()}
        names.update(await DefinitionStore(self._store.store).names())
        if check_agent(agent) not in names:
            raise UnknownName("agent", agent, sorted(names))

    async def clear(self, agent: str) -> int:
        """Delete all passages of an agent, those of its users too; how many. 500 a command.

        Twice is fine, and so is a name that is registered no more. Killed in between: call it again for the rest.
        """
        return sum([await self._store.clear(owner) for owner in await self._store.owners(check_agent(agent))])

    async def reindex(self) -> int:
        """Make all vectors anew with the configured model; how many passages there are."""
        return await self.archive.reindex()


def passage_id(operation: str, number: int = 0) -> str:
    """The id of the passage that an operation adds."""
    return f"p-{derived_id('passage', operation, str(number))}"


def checked_text(text: str) -> str:
    """``text`` without blank ends. Raises :class:`InputError`."""
    text = check_storable(text, "passage").strip()
    if not text:
        raise InputError("a passage needs some text")
    if len(text) > MAX_CHARS:
        raise InputError(f"a passage has at most {MAX_CHARS} characters, this one has {len(text)}; add it in parts")
    return text


def checked_tags(tags: Sequence[str] | None) -> tuple[str, ...]:
    """The tags, each once, without blank ones. Raises :class:`InputError` for a string in place of a list."""
    if isinstance(tags, str):
        raise InputError(f"tags={tags!r}: give a list of tags")
    return tuple(dict.fromkeys(check_storable(tag, "tag").strip() for tag in tags or () if tag.strip()))


def checked_user(user_id: str | None) -> str | None:
    """``user_id`` if it can be one. Raises :class:`InputError` for an empty one."""
    if user_id == "":
        raise InputError("user_id is empty; leave it out for the agent's own passages")
    return user_id if user_id is None else check_user(user_id)


def checked_time(at: float) -> float:
    """Unix seconds within the years 1 to 9999. Raises :class:`InputError`."""
    if not YEAR_1 <= at < YEAR_10000:
        raise InputError(f"created_at {at}: give Unix seconds, between the years 1 and 9999")
    return at
