"""A small deterministic embedder for tests: words of one meaning share a direction, all others have their own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MEANINGS = (
    {"implanted", "artificial", "planted"},
    {"memories", "recollections", "remembrance"},
    {"boat", "ship", "vessel"},
    {"doctor", "physician"},
    {"eat", "food", "meal", "dinner"},
)


class MeaningEmbedder:
    """``embedded`` counts the texts, ``calls`` the calls."""

    def __init__(self, name: str = "meanings", dimension: int = 64) -> None:
        self.name, self.dimension = name, dimension
        self.embedded = self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        self.embedded += len(texts)
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                meaning = next((str(i) for i, words in enumerate(MEANINGS) if word in words), word)
                seed = int.from_bytes(hashlib.blake2b(meaning.encode(), digest_size=8).digest())
                out[row] += np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
            out[row] /= np.linalg.norm(out[row]) or 1
        return out


def make() -> MeaningEmbedder:
    return MeaningEmbedder()


def other() -> MeaningEmbedder:
    return MeaningEmbedder("other", 32)
