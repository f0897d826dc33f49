"""The feed of events: a capped stream that the scripts write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from orchestra.store.connection import Store


class EventFeed:
    """Events of a namespace as they happen: dicts with ``type`` (turn, block, pass) and ``id``.

    Reading blocks, so it has a connection of its own. ``key`` is another stream than that of all events: ``wake`` gets
    an entry when a pass becomes due, and nothing else. Raises :class:`StoreUnavailable` when the server is away.
    """

    def __init__(self, store: Store, key: str | None = None) -> None:
        self.store, self._key = store, key or store.keys.events
        # No patience of its own: who reads events looks again later, and must not hear of a lost server too late.
        once = Retry(NoBackoff(), 1)
        self._redis: Redis = Redis.from_url(
            store.url, decode_responses=True, protocol=2, socket_timeout=None, retry=once
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._redis.aclose()

    async def latest(self) -> str:
        """The id of the newest event, ``0-0`` when there is none."""
        with self.store.typed():
            async with asyncio.timeout(self.store.answer_seconds):
                found = await self._redis.xrevrange(self._key, count=1)
        newest = cast("list[tuple[str, dict[str, str]]]", found)
        return newest[0][0] if newest else "0-0"

    async def wait(self, after: str, *, seconds: float) -> list[dict[str, str]]:
        """Events after the id ``after``, waiting at most ``seconds`` for the first one."""
        block = max(1, int(seconds * 1000))
        with self.store.typed():
            # The server answers when the time is over. A line that was cut without a word is not listened to for ever.
            async with asyncio.timeout(seconds + self.store.answer_seconds):
                answer = await self._redis.xread({self._key: after}, count=500, block=block)
        entries = cast("list[tuple[str, list[tuple[str, dict[str, str]]]]]", answer or [])
        return [{"id": entry_id, **fields} for _, items in entries for entry_id, fields in items]

    async def follow(self, after: str | None = None) -> AsyncIterator[dict[str, str]]:
        """All events after ``after`` (default: from now on), without end."""
        last = after if after is not None else await self.latest()
        while True:
            for event in await self.wait(last, seconds=5):
                last = event["id"]
                yield event
