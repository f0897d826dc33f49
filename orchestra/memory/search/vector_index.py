"""Search by meaning: an exact scan over unit vectors in one matrix, with filters before the limit."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from orchestra.memory.search.filters import EVERYTHING, Filter

Vector: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.int64]
FIRST_ROWS = 64
#: Below this part of all rows it is cheaper to copy the wanted ones than to multiply them all.
FEW = 0.2


class VectorIndex:
    """Entries by key, float32 rows of ``dimension``. Owner: one thread at a time.

    A row is written once; an entry that changes gets a new row and its old one is dead, until half of them are and
    the matrix is packed.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._reset(FIRST_ROWS)

    def _reset(self, room: int) -> None:
        self._matrix: Vector = np.zeros((room, self.dimension), np.float32)
        self._at = np.zeros(room, np.float64)
        self._alive = np.zeros(room, np.bool_)
        self._keys: list[str] = []
        self._labels: list[tuple[str, ...]] = []
        self._row: dict[str, int] = {}
        self._labelled: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, key: str) -> bool:
        return key in self._row

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        labels = sum(len(rows) for rows in self._labelled.values())
        return self._matrix.nbytes + self._at.nbytes + 250 * len(self._keys) + 8 * labels

    def put(self, key: str, vector: Vector, at: float, labels: Sequence[str] = ()) -> None:
        """Add an entry, or replace it. ``vector`` has unit length; ``at``: Unix seconds."""
        self.drop(key)
        row = len(self._keys)
        if row == len(self._alive):
            self._grow(2 * row)
        self._matrix[row], self._at[row], self._alive[row] = vector, at, True
        self._keys.append(key)
        self._labels.append(tuple(dict.fromkeys(labels)))
        self._row[key] = row
        for label in self._labels[row]:
            self._labelled.setdefault(label, array("q")).append(row)

    def drop(self, key: str) -> None:
        """Forget an entry; one that is not there is fine."""
        row = self._row.pop(key, None)
        if row is not None:
            self._alive[row] = False
            if len(self._keys) > FIRST_ROWS and len(self._row) < len(self._keys) // 2:
                self._pack()

    def search(self, vector: Vector, count: int, only: Filter = EVERYTHING) -> list[tuple[str, float]]:
        """(key, cosine) of the ``count`` nearest entries that pass the filter, the nearest first."""
        used = len(self._keys)
        rows = self._passing(only)
        if rows is not None and rows.size < FEW * used:
            scores = self._matrix[rows] @ vector
        elif rows is not None:
            scores = (self._matrix[:used] @ vector)[rows]
        else:
            rows, scores = np.arange(used), self._matrix[:used] @ vector
        if rows.size > count:
            best = np.argpartition(scores, rows.size - count)[-count:]
            rows, scores = rows[best], scores[best]
        order = np.lexsort((rows, -scores))
        return [(self._keys[row], float(score)) for row, score in zip(rows[order], scores[order], strict=True)]

    def _passing(self, only: Filter) -> Rows | None:
        """The rows to look at; ``None``: all of them."""
        used = len(self._keys)
        start, end = only.span.start, only.span.end
        if not only.labels and start is None and end is None and len(self._row) == used:
            return None
        passing = self._alive[:used].copy()
        if only.labels:
            hits = np.zeros(used, np.uint16)
            for label in dict.fromkeys(only.labels):
                if label in self._labelled:
                    hits[np.frombuffer(self._labelled[label], np.int64)] += 1
            passing &= hits >= (len(set(only.labels)) if only.match == "all" else 1)
        if start is not None:
            passing &= self._at[:used] >= start
        if end is not None:
            passing &= self._at[:used] < end
        return np.flatnonzero(passing)

    def _grow(self, room: int) -> None:
        for name in ("_matrix", "_at", "_alive"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def _pack(self) -> None:
        matrix, at, labels, kept = self._matrix, self._at, self._labels, list(self._row.items())
        self._reset(max(FIRST_ROWS, 2 * len(kept)))
        for key, row in kept:
            self.put(key, matrix[row], float(at[row]), labels[row])
