"""What was said in some threads, in memory: by words, and by meaning where there is an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestra.core.messages import Message
from orchestra.core.names import split_thread
from orchestra.core.passages import MAX_RESULTS, Utterance
from orchestra.memory.search.filters import Filter
from orchestra.memory.search.ranking import Ranking, fused
from orchestra.memory.search.term_index import TermIndex
from orchestra.memory.sessions import readable
from orchestra.store.recall_store import News, Read

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from orchestra.memory.search.vector_index import VectorIndex

ENTRY_BYTES = 800
#: What a search gave is not searched again: it would be found in place of what was said.
OWN_TOOLS = ("conversation_search", "archival_memory_search")
EMBEDDED_ROLES = ("user", "assistant")
EMBEDDED_CHARS = 2000


class Conversation:
    """The utterances of several threads. Owner: the thread of the search; ``lock`` belongs to the event loop.

    With ``user_id`` only what is this user's is in it.
    """

    def __init__(self, dimension: int, user_id: str | None = None) -> None:
        self.lock, self.user_id = asyncio.Lock(), user_id
        self.known: dict[str, Read] = {}
        self._said: dict[str, Utterance] = {}
        self._of: dict[str, set[str]] = {}
        self._words = TermIndex()
        self._vectors: VectorIndex | None = None
        #: Keys that have no vector yet, the newest last.
        self.lacking: dict[str, None] = {}
        self._chars = 0
        if dimension:
            from orchestra.memory.search.vector_index import VectorIndex

            self._vectors = VectorIndex(dimension)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        vectors = 0 if self._vectors is None else self._vectors.size
        return vectors + ENTRY_BYTES * len(self._said) + 4 * self._chars

    def close(self) -> None:
        """Free its memory; it is read anew at its next use."""
        self.known = {}

    def __contains__(self, thread: str) -> bool:
        return thread in self.known

    def keep(self, threads: Sequence[str]) -> None:
        """Forget threads that are not among these: their sessions were deleted."""
        for thread in set(self.known) - set(threads):
            self._forget(thread)

    def read(self, news: Mapping[str, News]) -> bool:
        """Take over what was added to the logs; whether more is to come."""
        more = False
        for thread, one in news.items():
            read = self.known.get(thread, Read())
            count, last = read.count, read.last
            if one.first == 0 and count:
                self._forget(thread)
            if one.entries:
                count, last = one.first + len(one.entries), _number(one.entries[-1])
                for _, message in readable(one.entries):
                    self._add(thread, message)
            elif one.first == 0:
                count, last = 0, ""
            self.known[thread] = Read(count, last, one.born)
            more = more or count < one.total
        return more

    def _add(self, thread: str, message: Message) -> None:
        text = message.text.strip()
        if not text or (message.role == "tool" and message.name in OWN_TOOLS):
            return
        meta = message.meta
        agent, session_id = split_thread(thread)
        key = f"{thread}\n{meta.seq}"
        labels = (message.role,)
        self._said[key] = Utterance(text, message.role, agent, session_id, meta.seq, meta.turn, meta.created_at)
        self._of.setdefault(thread, set()).add(key)
        self._words.put(key, text, meta.created_at, labels)
        self._chars += len(text)
        if self._vectors is not None and message.role in EMBEDDED_ROLES:
            self.lacking[key] = None

    def _forget(self, thread: str) -> None:
        self.known.pop(thread, None)
        for key in self._of.pop(thread, ()):
            self._chars -= len(self._said.pop(key).text)
            self._words.drop(key)
            self.lacking.pop(key, None)
            if self._vectors is not None:
                self._vectors.drop(key)

    def to_embed(self, count: int) -> list[tuple[str, str]]:
        """(key, text) of the newest ones that have no vector yet."""
        keys = list(self.lacking)[-count:]
        return [(key, self._said[key].text[:EMBEDDED_CHARS]) for key in keys]

    def place(self, vectors: Sequence[tuple[str, NDArray[np.float32]]]) -> None:
        """Take over vectors; those of what was forgotten meanwhile are dropped."""
        assert self._vectors is not None
        for key, vector in vectors:
            if key in self.lacking:
                del self.lacking[key]
                said = self._said[key]
                self._vectors.put(key, vector, said.at, (said.role,))

    def ranked(self, text: str, vector: NDArray[np.float32] | None, only: Filter) -> Ranking:
        """(key, score) of what passes the filter: by words and by meaning, joined by reciprocal rank."""
        words = self._words.search(text, MAX_RESULTS, only)
        if self._vectors is None or vector is None:
            return words
        return fused([words, self._vectors.search(vector, MAX_RESULTS, only)])

    def said(self, ranking: Ranking) -> list[Utterance]:
        """The utterances of a ranking; what was retracted since it was made is left out."""
        return [replace(self._said[key], score=score) for key, score in ranking if key in self._said]


def _number(entry: str) -> str:
    """The sequence number as ``news.lua`` reads it: of an entry that is not one, nothing."""
    head, space, _ = entry.partition(" ")
    return head if space and head.isascii() and head.isdigit() else ""
