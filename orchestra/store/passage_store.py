"""The archive in Redis: passages, the shelf of each owner, and the vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from orchestra.core.errors import EmbeddingMismatch, InputError, UnknownName
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps, loads
from orchestra.core.passages import Passage
from orchestra.store.connection import Store

BATCH = 500
_FIELDS = ("text", "tags", "agent", "user", "source", "created_at", "updated_at")
_SCORE = re.compile(r"-?[0-9]{1,15}")
_ALL = (*_FIELDS, "version", "embedded", "embedding")


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to add. ``id`` is derived from the operation that adds it; ``created_at`` 0 means now."""

    id: str
    text: str
    tags: tuple[str, ...] = ()
    source: str = ""
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with its vector as base64 of little-endian float32, empty when it has none of that edition."""

    passage: Passage
    version: int
    edition: int
    embedding: str


@dataclass(frozen=True, slots=True)
class Change:
    """What changed on one shelf: up to change ``last``; ``anew``: load all of it, the changes are not told any more."""

    last: int
    anew: bool
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """The model whose vectors are stored; ``edition`` counts how often it was set. 0: there is none yet."""

    edition: int = 0
    model: str = ""
    dimension: int = 0


def owner_of(agent: str, user_id: str | None) -> str:
    """The owner of a shelf: the agent alone, or together with a user. The free id comes last."""
    return agent if user_id is None else f"{agent}|{user_id}"


def shelved(store: Store, passage: Passage | None) -> tuple[str, str, str, str]:
    """The keys of a passage and its place: passage, shelf, changes, vector set. Without one: keys of nothing."""
    k = store.keys
    owner = "" if passage is None else owner_of(passage.agent, passage.user_id)
    return k.passage("" if passage is None else passage.id), k.shelf(owner), k.changes(owner), k.vectors(owner)


class PassageStore:
    """Typed functions over the scripts of the archive."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def add(self, agent: str, user_id: str | None, passages: Sequence[NewPassage]) -> int:
        """Add passages, each once per id; how many are new. 500 a command."""
        k, owner, new = self.store.keys, owner_of(agent, user_id), 0
        for first in range(0, len(passages), BATCH):
            some = passages[first : first + BATCH]
            answer = await self.store.run(
                "shelve",
                [k.shelf(owner), k.changes(owner), k.archives, *(k.passage(one.id) for one in some)],
                [
                    *(owner, agent, user_id or ""),
                    *(
                        part
                        for one in some
                        for part in (one.id, one.text, dumps(list(one.tags)), one.source, _ms(one.created_at))
                    ),
                ],
            )
            new += int(cast("int", answer[1]))
        return new

    async def change(self, passage: Passage, fields: Mapping[str, str]) -> None:
        """Change the text or the tags. Raises :class:`UnknownName`."""
        flat = [part for item in fields.items() for part in item]
        answer = await self.store.run("reshelve", shelved(self.store, passage), ["update", passage.id, *flat])
        if answer[0] == "UNKNOWN":
            raise UnknownName("passage", passage.id)

    async def delete(self, passage: Passage) -> bool:
        """Delete it; whether it was there."""
        return (await self.store.run("reshelve", shelved(self.store, passage), ["delete", passage.id]))[0] == "OK"

    async def clear(self, owner: str) -> int:
        """Delete all passages of an owner, 500 a command; how many. Killed in between: call it again for the rest."""
        k, gone, left = self.store.keys, 0, 1
        while left:
            ids = cast("list[str]", await self.store.read("ZRANGE", k.shelf(owner), 0, BATCH - 1))
            keys = [k.shelf(owner), k.changes(owner), k.archives, k.vectored(owner), k.vectors(owner)]
            answer = await self.store.run("unshelve", [*keys, *(k.passage(one) for one in ids)], [owner, *ids])
            gone, left = gone + len(ids), int(cast("int", answer[1]))
            failpoint("archive.clearing")
        return gone

    async def get(self, ids: Sequence[str]) -> list[Passage]:
        """Those of the passages that exist, in the order of ``ids``."""
        found = await self._read(ids, _FIELDS)
        return [_passage(one, values) for one, values in zip(ids, found, strict=True) if values[0] is not None]

    async def load(self, ids: Sequence[str]) -> dict[str, StoredPassage | None]:
        """Passages with their vectors, as many as are asked for; ``None`` for one that is gone."""
        out: dict[str, StoredPassage | None] = {}
        for one, values in zip(ids, await self._read(ids, _ALL), strict=True):
            if values[0] is None:
                out[one] = None
            else:
                version, edition, vector = values[7:]
                out[one] = StoredPassage(_passage(one, values), int(version or 1), int(edition or 0), vector or "")
        return out

    async def _read(self, ids: Sequence[str], fields: Sequence[str]) -> list[list[str | None]]:
        out: list[list[str | None]] = []
        for first in range(0, len(ids), BATCH):
            some = ids[first : first + BATCH]
            answer = await self.store.run("passages", [self.store.keys.passage(one) for one in some], fields)
            out.extend(cast("list[list[str | None]]", answer[1]))
        return out

    async def owners(self, agent: str | None = None) -> list[str]:
        """All owners that have had passages, or those of one agent: itself and its users; sorted."""
        found = sorted(cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.archives)))
        return found if agent is None else [one for one in found if one.partition("|")[0] == agent]

    async def any(self, owners: Sequence[str]) -> bool:
        """Whether one of the owners has a passage."""
        return int(str(await self.store.read("EXISTS", *(self.store.keys.shelf(owner) for owner in owners)))) > 0

    async def ids(self, owner: str) -> list[str]:
        """The ids on a shelf, oldest first."""
        return cast("list[str]", await self.store.read("ZRANGE", self.store.keys.shelf(owner), 0, -1))

    async def newest(self, owner: str, limit: int, after: str | None) -> tuple[list[str], str | None]:
        """Ids on a shelf, newest first, and the cursor of those that follow."""
        key, start = self.store.keys.shelf(owner), 0
        if after:
            at, _, last = after.partition(" ")
            if not _SCORE.fullmatch(at) or not last:
                raise InputError(f"{after!r} is no cursor; use the one that came with the page before, or none")
            rank = await self.store.read("ZREVRANK", key, last)
            if rank is not None:
                start = int(str(rank)) + 1
            else:  # it was deleted meanwhile: go on behind the place where it was
                newer = await self.store.read("ZCOUNT", key, f"({at}", "+inf")
                beside = cast("list[str]", await self.store.read("ZRANGEBYSCORE", key, at, at))
                start = int(str(newer)) + sum(one > last for one in beside)
        flat = cast("list[str]", await self.store.read("ZREVRANGE", key, start, start + limit, "WITHSCORES"))
        ids, scores = flat[::2], flat[1::2]
        if len(ids) <= limit:
            return ids, None
        return ids[:limit], f"{int(float(scores[limit - 1]))} {ids[limit - 1]}"

    async def changes(self, known: Mapping[str, int]) -> tuple[Identity, dict[str, Change]]:
        """What happened on shelves since the changes that are ``known`` of each (-1: none). One command."""
        k = self.store.keys
        answer = await self.store.run(
            "changes", [k.embeddings, *(k.changes(owner) for owner in known)], list(known.values())
        )
        edition, model, dimension = (str(item) for item in answer[1:4])
        out = {}
        for owner, item in zip(known, answer[4:], strict=True):
            last, anew, *ids = cast("list[str]", item)
            out[owner] = Change(int(last), int(anew) == 1, tuple(dict.fromkeys(ids)))
        return Identity(int(edition), model, int(dimension)), out

    async def identify(self, model: str, dimension: int, *, replace: bool = False) -> int:
        """Say which model the vectors are of; the edition to store them under.

        Raises:
            EmbeddingMismatch: they are of another model, and ``replace`` is false.
        """
        arguments: list[str | int] = [model, dimension, "1" if replace else "0"]
        answer = await self.store.run("embeddings", [self.store.keys.embeddings], arguments)
        if answer[0] == "OTHER":
            raise EmbeddingMismatch(f"{answer[1]} ({answer[2]})", f"{model} ({dimension})")
        return int(cast("int", answer[1]))

    async def embedded(self, edition: int, vectors: Sequence[tuple[str, int, str]]) -> bool:
        """Store (id, version, vector) of passages; False when the archive has another edition now."""
        for first in range(0, len(vectors), BATCH):
            some = vectors[first : first + BATCH]
            k = self.store.keys
            arguments: list[str | int] = [edition]
            for _, version, vector in some:
                arguments += (version, vector)
            keys = [k.embeddings, *(k.passage(one) for one, _, _ in some)]
            answer = await self.store.run("embedded", keys, arguments)
            if answer[0] != "OK":
                return False
        return True


def _ms(at: float) -> str:
    return str(int(at * 1000)) if at else ""


def _passage(passage_id: str, values: Sequence[str | None]) -> Passage:
    text, tags, agent, user, source, created, updated = (value or "" for value in values[:7])
    at, changed = float(created or 0) / 1000, float(updated or 0) / 1000
    return Passage(passage_id, text, agent, user or None, tuple(loads(tags or "[]")), source, at, changed)
