"""One owner's passages as a search uses them; here in the memory of this process: by meaning, or else by words."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TypeAlias

from orchestra.core.passages import MAX_RESULTS
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.on_thread import on_thread
from orchestra.memory.search.ranking import Ranking
from orchestra.memory.search.term_index import TermIndex
from orchestra.store.passage_store import StoredPassage

TYPE_BYTES = 400
Changed: TypeAlias = Mapping[str, StoredPassage | None]
#: (id, version, text) of a passage that has no vector of this edition.
Lacking: TypeAlias = tuple[str, int, str]


class ShelfMoved(Exception):
    """What a shelf stands for was emptied or given another model meanwhile: look again what is known, and go on."""


class Shelf:
    """Owner: the event loop of the search; the computing happens on ``thread``, and ``lock`` lets one in at a time.

    ``last`` is the change up to which it is complete, -1 when that is not known. ``edition`` is that of its vectors,
    0 when it is searched by words.
    """

    def __init__(self, owner: str, edition: int, dimension: int, thread: Executor) -> None:
        self.owner, self.edition, self.last, self.thread = owner, edition, -1, thread
        self.lock = asyncio.Lock()
        self._words_bytes = 0
        self._words = TermIndex() if edition == 0 else None
        if edition:
            import numpy as np

            from orchestra.memory.search.vector_index import VectorIndex

            self._numpy, self._vectors = np, VectorIndex(dimension)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._words_bytes if self._words is not None else self._vectors.size

    def close(self) -> None:
        """Free its memory; it is loaded anew at its next use."""
        self.last = -1

    async def known(self) -> int:
        """The change up to which it is complete, -1 for none: only what came later is to be told."""
        return self.last

    async def complete(self, last: int) -> None:
        """All changes up to ``last`` are taken over. Raises :class:`ShelfMoved`."""
        self.last = last

    async def clear(self) -> None:
        """Begin anew: everything is going to be told."""
        await on_thread(self.thread, self._clear)

    def _clear(self) -> None:
        if self._words is not None:
            self._words.close()
            self._words, self._words_bytes = TermIndex(), 0
        else:
            self._vectors.clear()

    async def apply(self, changed: Changed) -> list[Lacking]:
        """Take over passages as they are now; gives those that have no vector yet. Raises :class:`ShelfMoved`."""
        return await on_thread(self.thread, self._apply, changed)

    def _apply(self, changed: Changed) -> list[Lacking]:
        lacking = []
        for key, stored in changed.items():
            if stored is None:
                self._drop(key)
            elif self._words is not None:
                one = stored.passage
                self._words.put(key, one.text, one.created_at, one.tags)
                self._words_bytes += TYPE_BYTES + 3 * len(one.text)
            elif stored.edition != self.edition:
                self._drop(key)
                lacking.append((key, stored.version, stored.passage.text))
            else:
                raw = base64.b64decode(stored.embedding)
                vector = self._numpy.frombuffer(raw, "<f4")
                self._vectors.put(key, vector, stored.passage.created_at, stored.passage.tags)
        return lacking

    async def place(self, changed: Changed, vectors: Sequence[tuple[str, object]]) -> list[str]:
        """Take over vectors that were just made; each as the store keeps it. Raises :class:`ShelfMoved`."""
        return await on_thread(self.thread, self._place, changed, vectors)

    def _place(self, changed: Changed, vectors: Sequence[tuple[str, object]]) -> list[str]:
        out = []
        for key, vector in vectors:
            stored = changed[key]
            assert stored is not None
            made = self._numpy.asarray(vector, "<f4")
            self._vectors.put(key, made, stored.passage.created_at, stored.passage.tags)
            out.append(base64.b64encode(made.tobytes()).decode())
        return out

    def _drop(self, key: str) -> None:
        if self._words is not None:
            self._words.drop(key)
        else:
            self._vectors.drop(key)

    async def ranked(self, text: str, vector: object, only: Filter) -> Ranking:
        """(id, score) of what passes the filter, the best first. Raises :class:`ShelfMoved`."""
        return await on_thread(self.thread, self._ranked, text, vector, only)

    def _ranked(self, text: str, vector: object, only: Filter) -> Ranking:
        if self._words is not None:
            return self._words.search(text, MAX_RESULTS, only)
        return self._vectors.search(vector, MAX_RESULTS, only)  # type: ignore[arg-type]
