"""The embedding actor: one Ray process per node that holds the model, the matrices and the index of what was said."""

from __future__ import annotations

import asyncio
import os
import pickle
from contextlib import AsyncExitStack
from typing import cast

from orchestra.cluster.code_path import extend_path
from orchestra.cluster.envelope import Failed, as_failed
from orchestra.cluster.host_settings import HostSettings
from orchestra.cluster.server_use import use_server
from orchestra.core.passages import PassageQuery, RecallQuery
from orchestra.memory.search.archive import LocalArchive
from orchestra.store.connection import Store


class ArchiveActor:
    """Serves :class:`LocalArchive` to the hosts and programs of its node. It holds only caches."""

    def __init__(self, settings: HostSettings) -> None:
        extend_path(settings.code)
        self._settings = settings
        self._stack = AsyncExitStack()
        self._opening = asyncio.create_task(self._open(), name="opening the archive")

    async def _open(self) -> LocalArchive:
        settings = self._settings
        async with AsyncExitStack() as stack:
            url = await use_server(settings.redis, settings.data_dir, stack)
            store = await Store.open(url, settings.namespace)
            stack.push_async_callback(store.close)
            archive = await LocalArchive.open(store, settings.embeddings)
            stack.push_async_callback(archive.close)
            self._stack = stack.pop_all()
        return archive

    async def _archive(self) -> LocalArchive:
        if self._opening.done() and self._opening.exception() is not None:
            self._opening = asyncio.create_task(self._open(), name="opening the archive")  # what was wrong may be over
        return await asyncio.shield(self._opening)

    async def ask(self, data: bytes) -> bytes:
        """The answer to a pickled query: a page, or a :class:`Failed`. Bytes, so that Ray describes no argument."""
        answer: object
        try:
            archive, query = await self._archive(), pickle.loads(data)
            if isinstance(query, PassageQuery):
                answer = await archive.search(query)
            elif isinstance(query, RecallQuery):
                answer = await archive.recall(query)
            else:
                answer = await archive.reindex()
        except Exception as error:
            answer = as_failed(error, "archive")
        return pickle.dumps(answer, protocol=5)

    async def added(self, agent: str, user_id: str | None) -> None:
        """See :meth:`Archive.added`."""
        await (await self._archive()).added(agent, user_id)

    async def pid(self) -> int:
        """Its process."""
        return os.getpid()

    async def stop(self, drain: float = 0.0) -> None:
        """Close what is open."""
        self._opening.cancel()
        await asyncio.gather(self._opening, return_exceptions=True)
        await self._stack.aclose()


def answer_in(data: bytes) -> object:
    """What an answer holds. Raises the error that was the answer."""
    found = cast("object", pickle.loads(data))
    if isinstance(found, Failed):
        raise found.error
    return found
