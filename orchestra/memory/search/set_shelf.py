"""One owner's passages by meaning, searched by the server in a vector set: nothing of them in this process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence

from orchestra.core.passages import MAX_RESULTS
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.ranking import Ranking
from orchestra.memory.search.shelf import Changed, Lacking, ShelfMoved
from orchestra.store.passage_store import StoredPassage
from orchestra.store.vector_sets import VectorSets

SET_BYTES = 1000


class SetShelf:
    """The same as :class:`Shelf`, for the search. Owner: its event loop.

    The set is shared by all processes and is brought up to date by the first that searches after a change; how far it
    is stands beside it. ``born`` is the set that this process knows.
    """

    def __init__(self, owner: str, edition: int, sets: VectorSets) -> None:
        self.owner, self.edition, self.last = owner, edition, -1
        self.lock = asyncio.Lock()
        self._sets, self._born = sets, ""

    @property
    def size(self) -> int:
        """About how many bytes it takes here."""
        return SET_BYTES

    def close(self) -> None:
        """Nothing to free."""
        self.last = -1

    async def known(self) -> int:
        """As the server has it: another process may have gone on."""
        state = await self._sets.state(self.owner, self.edition)
        self._born = state.born
        return state.last

    async def complete(self, last: int) -> None:
        """All changes up to ``last`` are taken over."""
        await self._put((), last)
        self.last = last

    async def clear(self) -> None:
        """Nothing: a deleted passage leaves the set in the script that deletes it, and the others are put over."""

    async def apply(self, changed: Changed) -> list[Lacking]:
        """Put those in that have a vector; gives the others."""
        lacking, there = [], []
        for key, stored in changed.items():
            if stored is None:
                continue
            if stored.edition != self.edition:
                lacking.append((key, stored.version, stored.passage.text))
            else:
                there.append((stored, base64.b64decode(stored.embedding)))
        if there:
            await self._put(there)
        return lacking

    async def place(self, changed: Changed, vectors: Sequence[tuple[str, object]]) -> list[str]:
        """Put in vectors that were just made. Killed before the store has them too: they are made again."""
        there = []
        for key, vector in vectors:
            stored = changed[key]
            assert stored is not None
            there.append((stored, _bytes(vector)))
        await self._put(there)
        return [base64.b64encode(raw).decode() for _, raw in there]

    async def _put(self, passages: Sequence[tuple[StoredPassage, bytes]], last: int | None = None) -> None:
        outcome, self._born = await self._sets.put(self.owner, self.edition, self._born, passages, last=last)
        if outcome != "ok":
            self.last = -1
            raise ShelfMoved(self.owner)

    async def ranked(self, text: str, vector: object, only: Filter) -> Ranking:
        """Asks the server. Emptied meanwhile, by a deletion or for another model: what came is of no use."""
        born, span = self._born, only.span  # another search of this process may learn of a newer set meanwhile
        if not born:
            return []
        labels = list(dict.fromkeys(only.labels))
        found = await self._sets.nearest(self.owner, _bytes(vector), MAX_RESULTS, labels, only.match, span)
        state = await self._sets.state(self.owner, self.edition)
        if state.born != born:
            self.last = -1
            raise ShelfMoved(self.owner)
        return found


def _bytes(vector: object) -> bytes:
    import numpy as np

    return np.asarray(vector, "<f4").tobytes()
