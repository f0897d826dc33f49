"""Where an embedder comes from, and how requests share it."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from orchestra.core.errors import ConfigError, EmbeddingsUnavailable
from orchestra.memory.search.embedder import BATCH, Embeddings, find, load
from tests.meanings import MeaningEmbedder


def test_a_folder_comes_before_a_package(tmp_path: Path) -> None:
    folder = tmp_path / "all-MiniLM-L6-v2"
    folder.mkdir()
    assert (find(str(folder)).kind, find(str(folder)).name) == ("folder", "all-MiniLM-L6-v2")
    assert find("none").kind == "none"
    assert find("tests.meanings:make").kind == "factory"


def test_without_the_library_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert find("auto").why == "sentence-transformers is not installed"


def test_looking_for_it_imports_nothing_heavy() -> None:
    code = (
        "import sys; from orchestra.memory.search.embedder import find; find('auto');"
        "from orchestra.memory.search.archive import LocalArchive;"
        "print(*[name for name in ('torch', 'numpy', 'sentence_transformers', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def nothing() -> object:
    return object()


def test_what_is_no_embedder_is_refused() -> None:
    with pytest.raises(ConfigError, match="name, dimension and embed"):
        load(find(f"{__name__}:nothing"))
    with pytest.raises(EmbeddingsUnavailable, match="AttributeError"):
        load(find(f"{__name__}:missing"))


async def test_a_named_model_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    named, auto = Embeddings("some-model"), Embeddings("auto")
    with pytest.raises(EmbeddingsUnavailable, match=r"orchestra-runtime\[semantic\]"):
        await named.embedder()
    assert await auto.embedder() is None
    await named.close()
    await auto.close()


async def test_texts_that_come_together_are_embedded_together() -> None:
    embeddings = Embeddings("tests.meanings:MeaningEmbedder")
    embedder = await embeddings.embedder()
    assert isinstance(embedder, MeaningEmbedder)
    calls = embedder.calls
    many, query = await asyncio.gather(
        embeddings.texts([f"text {number}" for number in range(3 * BATCH)]), embeddings.query("boat")
    )
    assert embedder.calls - calls <= 5
    assert np.allclose(query, embedder.embed(["boat"])[0])
    assert np.allclose(many[100], embedder.embed(["text 100"])[0])
    await embeddings.close()


class Broken(MeaningEmbedder):
    def embed(self, texts: object) -> object:  # type: ignore[override]
        raise RuntimeError("out of memory")


async def test_an_embedder_that_fails_is_a_typed_error() -> None:
    embeddings = Embeddings(f"{__name__}:Broken")
    await embeddings.embedder()
    with pytest.raises(EmbeddingsUnavailable, match="out of memory"):
        await embeddings.query("boat")
    await embeddings.close()


class Odd(MeaningEmbedder):
    """Says one dimension and gives another."""

    def __init__(self) -> None:
        super().__init__("odd", 8)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 7), np.float32)


async def test_vectors_of_another_dimension_than_it_says_are_refused() -> None:
    embeddings = Embeddings(f"{__name__}:Odd")
    assert await embeddings.embedder() is not None
    with pytest.raises(EmbeddingsUnavailable, match=r"1 vectors of 8 were due, it gave \(1, 7\)"):
        await embeddings.query("boat")
    await embeddings.close()
