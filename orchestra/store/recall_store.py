"""Logs as recall reads them: which threads there are, and what was added to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from orchestra.store.connection import Store

BATCH = 1000
KEYS = 200


@dataclass(frozen=True, slots=True)
class News:
    """New entries of a log. ``first`` is the index of the first one; 0 means that what was known before is void."""

    first: int
    total: int
    entries: tuple[str, ...]


class RecallStore:
    """Reads logs; writes nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def threads_of(self, user_id: str, agent: str) -> list[str]:
        """The threads of this agent in which this user has had a turn, sorted."""
        found = cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.user_threads(user_id)))
        return sorted(thread for thread in found if thread.startswith(f"{agent}|"))

    async def all_threads(self, agent: str) -> list[str]:
        """All threads of this agent, sorted."""
        found = await self.store.scored(self.store.keys.threads)
        return sorted(thread for thread, _ in found if thread.startswith(f"{agent}|"))

    async def news(self, known: Mapping[str, tuple[int, str]]) -> dict[str, News]:
        """What was added to each thread's log after (entries known, the last one's sequence number).

        At most 1,000 entries come at once; ``total`` tells whether there is more.
        """
        out: dict[str, News] = {}
        threads = list(known)
        for first in range(0, len(threads), KEYS):
            some = threads[first : first + KEYS]
            answer = await self.store.run(
                "news",
                [self.store.keys.log(thread) for thread in some],
                [BATCH, *(part for thread in some for part in known[thread])],
            )
            for thread, item in zip(some, answer[1:], strict=True):
                start, total, entries = cast("tuple[int, int, list[str]]", item)
                out[thread] = News(int(start), int(total), tuple(entries))
        return out
