"""Searching the archive: shelves, here or in the server, that are brought up to date at each search."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Literal, TypeAlias

from orchestra.core.errors import EmbeddingMismatch
from orchestra.core.passages import MAX_RESULTS, Page, PassageHit, PassageQuery
from orchestra.memory.search.embedder import BATCH, Embedder, Embeddings
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.ranking import Ranking, Rankings, fused
from orchestra.memory.search.recent import Recent
from orchestra.memory.search.set_shelf import SetShelf
from orchestra.memory.search.shelf import Shelf, ShelfMoved
from orchestra.store.connection import Store
from orchestra.store.passage_store import Change, Identity, PassageStore, owner_of
from orchestra.store.vector_sets import VectorSets

CHUNK = 500
Index: TypeAlias = Literal["scan", "vectorset"]
AnyShelf: TypeAlias = Shelf | SetShelf


class PassageSearch:
    """Owner: one event loop; the computing happens on ``thread``, one piece at a time. ``index``: who searches vectors.

    A search asks Redis what has changed (one command), so it sees every passage that was added before it began, by
    whichever process. A passage without a vector gets one then, and it is stored for all.
    """

    def __init__(
        self, store: Store, embeddings: Embeddings, thread: Executor, bound: int, index: Index = "scan"
    ) -> None:
        self._store, self._embeddings, self._thread = PassageStore(store), embeddings, thread
        self._sets = VectorSets(store) if index == "vectorset" else None
        self._shelves: Recent[AnyShelf] = Recent(bound)
        self._edition = 0
        self._rankings = Rankings()

    async def search(self, query: PassageQuery) -> Page[PassageHit]:
        """Passages of the agent and of the user, the best first; blank text finds nothing.

        Raises:
            EmbeddingMismatch: the stored vectors are of another model.
            InputError: the cursor or the limit is wrong.
        """
        if not query.text.strip():
            return Page.of([], None)
        span = query.span
        what = [
            query.agent,
            query.user_id or "",
            query.text,
            query.tag_match_mode,
            *query.tags,
            str((span.start, span.end)),
        ]
        ranking, cursor = await self._rankings.page(what, query.cursor, query.limit, lambda: self._ranked(query))
        if not ranking:
            return Page.of([], None)
        scores = dict(ranking)
        by: Literal["meaning", "words"] = "words" if await self._embeddings.embedder() is None else "meaning"
        found = await self._store.get(list(scores))
        return Page.of([PassageHit(one, scores[one.id], by) for one in found], cursor)

    async def _ranked(self, query: PassageQuery) -> Ranking:
        if not self._embeddings.loaded and not await self._store.any(_owners(query)):
            return []  # not worth the ten seconds that loading a model takes
        only = Filter(tuple(query.tags), query.tag_match_mode, query.span)
        while True:
            shelves = await self.refreshed(_owners(query))
            vector: object = None
            if await self._embeddings.embedder() is not None:
                vector = await self._embeddings.query(query.text)
            try:
                rankings = [await shelf.ranked(query.text, vector, only) for shelf in shelves]
                break
            except ShelfMoved:
                continue
        if len(rankings) == 1:
            return rankings[0]
        if vector is None:  # the weights of words differ from shelf to shelf, so only their ranks can be compared
            return fused(rankings)
        both = [item for ranking in rankings for item in ranking]
        return sorted(both, key=lambda item: -item[1])[:MAX_RESULTS]

    async def refreshed(self, owners: Sequence[str]) -> list[AnyShelf]:
        """The shelves of the owners as they are now, with a vector for each passage."""
        embedder = await self._embeddings.embedder()
        while True:
            known = {shelf.owner: shelf.last for shelf in (self._shelf(owner, embedder) for owner in owners)}
            identity, changes = await self._store.changes(known)
            edition = await self._edition_of(identity, embedder, changes)
            if edition != self._edition:
                self._shelves.clear()
                self._edition = edition
                continue
            shelves = [self._shelf(owner, embedder) for owner in owners]
            behind = [one for one in shelves if changes[one.owner].anew or changes[one.owner].last != one.last]
            if not behind:
                return shelves
            for shelf in behind:
                with suppress(ShelfMoved):  # looked at again above
                    await self._catch_up(shelf)
            self._shelves.trim()

    def _shelf(self, owner: str, embedder: Embedder | None) -> AnyShelf:
        def make() -> AnyShelf:
            if self._sets is not None and self._edition:
                return SetShelf(owner, self._edition, self._sets)
            return Shelf(owner, self._edition, 0 if embedder is None else embedder.dimension, self._thread)

        return self._shelves.get(owner, make)

    async def _edition_of(self, identity: Identity, embedder: Embedder | None, changes: dict[str, Change]) -> int:
        if embedder is None:
            return 0
        if identity.edition == 0:
            return await self._store.identify(embedder.name, embedder.dimension)
        if (identity.model, identity.dimension) != (embedder.name, embedder.dimension):
            raise EmbeddingMismatch(
                f"{identity.model} ({identity.dimension})", f"{embedder.name} ({embedder.dimension})"
            )
        return identity.edition

    async def _catch_up(self, shelf: AnyShelf) -> None:
        async with shelf.lock:
            known = await shelf.known()
            _, changes = await self._store.changes({shelf.owner: known})
            change = changes[shelf.owner]
            if not change.anew and change.last == known:
                shelf.last = known
                return  # another search has done it meanwhile
            ids: Sequence[str] = change.ids
            if change.anew:
                # What is added after the number was read and before the ids are is told again: taking it over twice is
                # the same as once.
                await shelf.clear()
                ids = await self._store.ids(shelf.owner)
            for first in range(0, len(ids), CHUNK):
                changed = await self._store.load(ids[first : first + CHUNK])
                lacking = await shelf.apply(changed)
                for start in range(0, len(lacking), BATCH):
                    some = lacking[start : start + BATCH]
                    vectors = await self._embeddings.texts([text for _, _, text in some])
                    pairs = list(zip((key for key, _, _ in some), vectors, strict=True))
                    texts = await shelf.place(changed, pairs)
                    made = [(key, version, text) for (key, version, _), text in zip(some, texts, strict=True)]
                    if not await self._store.embedded(shelf.edition, made):
                        return  # given another model meanwhile: `last` stays, and the edition is looked at again
            await shelf.complete(change.last)

    async def reindex(self) -> int:
        """Make all vectors anew with the model of the configuration; how many passages there are.

        Dies in between: what has no new vector yet gets it at its next search. Without an embedder there is nothing
        to do.
        """
        embedder = await self._embeddings.embedder()
        if embedder is None:
            return 0
        await self._store.identify(embedder.name, embedder.dimension, replace=True)
        count = 0
        for owner in await self._store.owners():
            if self._sets is None:  # of a time when the server searched: only memory that nobody uses any more
                await VectorSets(self._store.store).drop(owner)
            await self.refreshed([owner])
            count += len(await self._store.ids(owner))
        return count


def _owners(query: PassageQuery) -> list[str]:
    return list(dict.fromkeys([query.agent, owner_of(query.agent, query.user_id)]))
