"""One owner's passages in memory: by meaning where there is an embedder, else by words."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence

from orchestra.core.passages import MAX_RESULTS
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.ranking import Ranking
from orchestra.memory.search.term_index import TermIndex
from orchestra.store.passage_store import StoredPassage

TYPE_BYTES = 400


class Shelf:
    """Owner: the thread of the search, one call at a time; ``last`` and ``lock`` belong to the event loop.

    ``last`` is the change up to which it is complete, -1 when nothing was loaded. ``edition`` is that of its vectors,
    0 when it is searched by words.
    """

    def __init__(self, owner: str, edition: int, dimension: int) -> None:
        self.owner, self.edition, self.last = owner, edition, -1
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

    def clear(self) -> None:
        """Forget everything."""
        if self._words is not None:
            self._words.close()
            self._words, self._words_bytes = TermIndex(), 0
        else:
            self._vectors.clear()

    def apply(self, changed: Mapping[str, StoredPassage | None]) -> list[tuple[str, int, str]]:
        """Take over passages as they are now; those that have no vector yet, as (id, version, text)."""
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

    def place(self, changed: Mapping[str, StoredPassage | None], vectors: Sequence[tuple[str, object]]) -> list[str]:
        """Take over vectors that were just made; each as the store keeps it."""
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

    def ranked(self, text: str, vector: object, only: Filter) -> Ranking:
        """(id, score) of what passes the filter, the best first."""
        if self._words is not None:
            return self._words.search(text, MAX_RESULTS, only)
        return self._vectors.search(vector, MAX_RESULTS, only)  # type: ignore[arg-type]
