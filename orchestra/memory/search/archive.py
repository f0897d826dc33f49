"""The archive and recall as everything above uses them: one small protocol, here within the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

from orchestra.core.cluster import EmbeddingsConfig
from orchestra.core.errors import OrchestraError, StoreIncompatible
from orchestra.core.passages import Page, PassageHit, PassageQuery, RecallQuery, Utterance
from orchestra.memory.search.embedder import Embeddings, Source
from orchestra.memory.search.passage_search import Index, PassageSearch
from orchestra.memory.search.recall_search import RecallSearch
from orchestra.store.connection import Store
from orchestra.store.passage_store import owner_of
from orchestra.store.vector_sets import COMMANDS

CACHE_BYTES = 512 << 20
_log = logging.getLogger("orchestra")
_told: set[str] = set()


def say_without(source: Source) -> None:
    """Log once per process that there is no model, if so: searching goes by words then."""
    if source.kind == "none" and source.why not in _told:
        _told.add(source.why)
        _log.info("no embeddings (%s): archive and recall search by words only", source.why)


class Archive(Protocol):
    """Searches the archive and what was said. Adding needs only the store; ``added`` tells that there is something."""

    async def search(self, query: PassageQuery) -> Page[PassageHit]:
        """Passages. Raises :class:`EmbeddingMismatch`, :class:`InputError`."""

    async def recall(self, query: RecallQuery) -> Page[Utterance]:
        """What was said. Raises :class:`InputError`."""

    async def added(self, agent: str, user_id: str | None) -> None:
        """Passages were added: their vectors may be made now, before somebody searches. Waits for nothing."""

    async def reindex(self) -> int:
        """Make all vectors anew with the configured model; how many passages there are."""


async def index_on(store: Store, wanted: Literal["scan", "vectorset", "auto"]) -> Index:
    """Who searches the vectors, of what the configuration wants.

    Raises:
        StoreIncompatible: ``vectorset``, and the server has none.
    """
    if wanted == "scan":
        return "scan"
    lacking = await store.lacks(*COMMANDS)
    if not lacking:
        return "vectorset"
    if wanted == "auto":
        return "scan"
    raise StoreIncompatible(
        store.address,
        f"embeddings.index is vectorset and it has no vector sets (it lacks {', '.join(lacking)}): "
        "use Redis 8 or newer by redis.url, or set embeddings: {index: scan}",
    )


class LocalArchive:
    """The archive within this process. Owner: the event loop that uses it. ``bound``: bytes of its caches."""

    def __init__(self, store: Store, model: str = "none", *, index: Index = "scan", bound: int = CACHE_BYTES) -> None:
        self.embeddings = Embeddings(model)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._passages = PassageSearch(store, self.embeddings, self._thread, bound // 2, index)
        self._recall = RecallSearch(store, self.embeddings, self._thread, bound // 2)
        self._tasks: set[asyncio.Task[Sequence[object]]] = set()

    @classmethod
    async def open(cls, store: Store, config: EmbeddingsConfig) -> LocalArchive:
        """As the configuration has it. Raises :class:`StoreIncompatible` for an index that the server lacks."""
        return cls(store, config.model, index=await index_on(store, config.index))

    async def search(self, query: PassageQuery) -> Page[PassageHit]:
        """Passages of the agent and of the user."""
        return await self._passages.search(query)

    async def recall(self, query: RecallQuery) -> Page[Utterance]:
        """What was said."""
        return await self._recall.search(query)

    async def added(self, agent: str, user_id: str | None) -> None:
        """Make the vectors of new passages in the background, where the model is loaded already."""
        if not self.embeddings.loaded:
            return
        task = asyncio.create_task(self._refreshed(owner_of(agent, user_id)), name="vectors of new passages")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refreshed(self, owner: str) -> Sequence[object]:
        try:
            return await self._passages.refreshed([owner])
        except OrchestraError as error:  # the search that needs them will raise it where somebody hears it
            _log.info("archive: %s", error)
            return ()

    async def reindex(self) -> int:
        """Make all vectors anew with the configured model."""
        return await self._passages.reindex()

    async def close(self) -> None:
        """Stop what runs in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._recall.close()
        await self.embeddings.close()
        await asyncio.to_thread(self._thread.shutdown)
