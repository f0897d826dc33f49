"""Logs as recall reads them: which threads there are, and what was added to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import cast

from orchestra.store.connection import Store

BATCH = 1000
KEYS = 200


@dataclass(frozen=True, slots=True)
class News:
    """New entries of a log. ``first`` is the index of the first one; 0 means that what was known before is void.

    ``born`` tells the thread from another one that had its name before.
    """

    first: int
    total: int
    entries: tuple[str, ...]
    born: str


@dataclass(frozen=True, slots=True)
class Read:
    """What has been read of a log: so many entries, the last one's sequence number, and the thread's birth."""

    count: int = 0
    last: str = ""
    born: str = ""


class RecallStore:
    """Reads logs; writes nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def threads_of(self, user_id: str, agent: str) -> list[str]:
        """The threads of this agent in which this user has had a turn, sorted; other users may have them now."""
        found = cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.user_threads(user_id)))
        return sorted(thread for thread in found if thread.startswith(f"{agent}|"))

    async def all_threads(self, agent: str) -> list[str]:
        """All threads of this agent, sorted."""
        found = await self.store.scored(self.store.keys.threads)
        return sorted(thread for thread, _ in found if thread.startswith(f"{agent}|"))

    async def news(self, known: Mapping[str, Read], user_id: str | None = None) -> dict[str, News]:
        """What was added to each thread's log since it was read.

        With ``user_id`` a thread that is not this user's any more has nothing. At most 1,000 entries come at once;
        ``total`` tells whether there is more.
        """
        out: dict[str, News] = {}
        threads = list(known)
        for first in range(0, len(threads), KEYS):
            some = threads[first : first + KEYS]
            answer = await self.store.run(
                "news",
                [key for thread in some for key in (self.store.keys.head(thread), self.store.keys.log(thread))],
                [BATCH, user_id or "", *(part for thread in some for part in astuple(known[thread]))],
            )
            for thread, item in zip(some, answer[1:], strict=True):
                start, total, entries, born = cast("tuple[int, int, list[str], str]", item)
                out[thread] = News(int(start), int(total), tuple(entries), born)
        return out
