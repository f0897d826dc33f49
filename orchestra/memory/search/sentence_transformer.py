"""The embedder of the extra ``semantic``. Importing its library takes about ten seconds: only :func:`load` does."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Before the import: the tokenizer's own threads make a process that forks afterwards warn.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from sentence_transformers import SentenceTransformer
from transformers.utils import logging

logging.disable_progress_bar()


class SentenceTransformerEmbedder:
    """A model of the library ``sentence-transformers``: ``place`` is a folder or a name on its hub."""

    def __init__(self, place: str, name: str) -> None:
        self.name = name
        # On the processor: a search embeds one short text, too little to gain anything on a graphics card.
        self._model = SentenceTransformer(place, device="cpu")
        self.dimension = int(self._model.get_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 vectors of unit length. What is longer than the model's window (256 pieces) counts by its start."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        found = self._model.encode(
            list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(found, np.float32)
