"""Searching what was said: read from the logs at a search and, in the background, after each turn. Never by a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from orchestra.core.errors import OrchestraError
from orchestra.core.names import thread_name
from orchestra.core.passages import Page, RecallQuery, Utterance
from orchestra.memory.search.conversation import Conversation
from orchestra.memory.search.embedder import BATCH, Embeddings
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.on_thread import on_thread
from orchestra.memory.search.ranking import Ranking, Rankings
from orchestra.memory.search.recent import Recent
from orchestra.store.connection import Store
from orchestra.store.event_store import EventFeed
from orchestra.store.recall_store import Read, RecallStore

#: So many utterances without a vector are embedded within a search; of more, the older ones follow in the background
#: and are found by their words until then.
WITHIN_A_SEARCH = 64
PAUSE_SECONDS = 1.0


class RecallSearch:
    """Owner: one event loop; the computing happens on ``thread``, one piece at a time.

    A search asks Redis which threads there are and what was added to them (two commands), so it sees every turn that
    was stored before it began.
    """

    def __init__(self, store: Store, embeddings: Embeddings, thread: Executor, bound: int) -> None:
        self._store, self._logs, self._embeddings, self._thread = store, RecallStore(store), embeddings, thread
        self._kept: Recent[Conversation] = Recent(bound)
        self._rankings = Rankings()
        self._following: asyncio.Task[None] | None = None

    async def search(self, query: RecallQuery) -> Page[Utterance]:
        """What was said, the best first; blank text finds nothing. Raises :class:`InputError` for cursor and limit."""
        if not query.text.strip():
            return Page.of([], None)
        where = self._where(query)
        span = (query.span.start, query.span.end)
        what = [*where, query.text, *query.roles, str(span)]
        embedder = await self._embeddings.embedder()
        dimension = 0 if embedder is None else embedder.dimension
        user_id = where[2] if where[0] == "user" else None
        talk = self._kept.get("\n".join(where), lambda: Conversation(dimension, user_id))
        await self._refresh(talk, await self._threads(query))
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name="recall follows the turns")

        async def ranked() -> Ranking:
            vector = await self._embeddings.query(query.text) if dimension else None
            return await on_thread(self._thread, talk.ranked, query.text, vector, Filter(query.roles, span=query.span))

        ranking, cursor = await self._rankings.page(what, query.cursor, query.limit, ranked)
        self._kept.trim()
        return Page.of(await on_thread(self._thread, talk.said, ranking), cursor)

    @staticmethod
    def _where(query: RecallQuery) -> tuple[str, str, str]:
        """The name of the conversation that is searched."""
        if query.scope == "agent":
            return ("agent", query.agent, "")
        if query.scope == "user" and query.user_id is not None:
            return ("user", query.agent, query.user_id)
        return ("session", query.agent, query.session_id or "")

    async def _threads(self, query: RecallQuery) -> Sequence[str]:
        kind, agent, name = self._where(query)
        if kind == "agent":
            return await self._logs.all_threads(agent)
        if kind == "user":
            return await self._logs.threads_of(name, agent)
        return [thread_name(agent, name)] if name else []

    async def _refresh(
        self, talk: Conversation, threads: Sequence[str] | None = None, *, embed: int = WITHIN_A_SEARCH
    ) -> None:
        async with talk.lock:
            threads = list(talk.known) if threads is None else threads
            await on_thread(self._thread, talk.keep, threads)
            more = True
            while more:
                news = await self._logs.news({one: talk.known.get(one, Read()) for one in threads}, talk.user_id)
                more = await on_thread(self._thread, talk.read, news)
        if await self._embeddings.embedder() is not None:
            await self._embed(talk, embed)

    async def _embed(self, talk: Conversation, count: int) -> None:
        while count > 0 and (some := await on_thread(self._thread, talk.to_embed, min(BATCH, count))):
            vectors = await self._embeddings.texts([text for _, text in some])
            made = list(zip((key for key, _ in some), vectors, strict=True))
            await on_thread(self._thread, talk.place, made)
            count -= len(some)

    async def _follow(self) -> None:
        """After each turn, and while something lacks its vector, bring what is in memory up to date."""
        feed = EventFeed(self._store)
        last = ""
        try:
            while True:
                try:
                    last = last or await feed.latest()
                    lacking = [talk for talk in self._kept.values() if talk.lacking]
                    for talk in lacking:
                        await self._embed(talk, BATCH)
                    events = await feed.wait(last, seconds=0.001 if lacking else 5.0)
                    last = events[-1]["id"] if events else last
                    threads = {event["thread"] for event in events if event["type"] == "turn"}
                    for talk in self._kept.values():
                        if any(thread in talk for thread in threads):
                            await self._refresh(talk, embed=BATCH)
                except (OrchestraError, OSError):
                    await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await feed.close()

    async def close(self) -> None:
        """Stop following."""
        while self._following is not None and not self._following.done():
            self._following.cancel()
            # A client library may swallow a cancellation while it reads, so it is asked again until it has ended.
            await asyncio.wait({self._following}, timeout=0.1)
