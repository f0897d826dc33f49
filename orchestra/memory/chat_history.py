"""Chat memory: whole histories, loaded at the start and replaced at the end of a run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from orchestra.core.errors import SessionClosed
from orchestra.core.names import check_session
from orchestra.memory.chat_preprocessors import Preprocessor, applied
from orchestra.memory.in_memory_session import InMemorySession
from orchestra.memory.session_items import Item, decoded, encoded
from orchestra.memory.stored_session import StoredSession
from orchestra.store.session_clients import RedisClient, SessionClients
from orchestra.store.session_store import SessionStore, check_ttl


@runtime_checkable
class ChatHistoryProvider(Protocol):
    """The contract. Messages are JSON objects, oldest first.

    A run that dies before :meth:`store` leaves the history as it was; there is no half of one. Two runs at once on one
    conversation: the later ``store`` wins, so use a session where that matters.
    """

    async def store(self, conversation_id: str, messages: Sequence[Item]) -> None:
        """Replace the whole history in one step."""

    async def load(self, conversation_id: str) -> list[Item]:
        """The history; empty when there is none, never ``None``."""


class _ChatHistory:
    """Preprocessors around one session per conversation."""

    def __init__(self, preprocessors: Sequence[Preprocessor]) -> None:
        self.preprocessors = tuple(preprocessors)

    def _session(self, conversation_id: str) -> StoredSession:
        raise NotImplementedError

    async def store(self, conversation_id: str, messages: Sequence[Item]) -> None:
        """Replace the whole history with what the preprocessors leave of ``messages``.

        Raises:
            InputError: a message is no JSON object; the old history stays.
        """
        copies = [decoded(text) for text in encoded(messages)]
        await self._session(conversation_id).set_items(applied(self.preprocessors, copies))

    async def load(self, conversation_id: str) -> list[Item]:
        """What the preprocessors leave of the history; empty when there is none."""
        return applied(self.preprocessors, await self._session(conversation_id).get_items())

    async def delete(self, conversation_id: str) -> None:
        """Forget a conversation; one that is not there is fine."""
        await self._session(conversation_id).clear_session()


class InMemoryChatHistory(_ChatHistory):
    """Chat memory in this process.

    Args:
        preprocessors: applied in order when loading and before storing.
    """

    def __init__(self, *, preprocessors: Sequence[Preprocessor] = ()) -> None:
        super().__init__(preprocessors)
        self._lock = threading.Lock()
        self._sessions: dict[str, InMemorySession] = {}

    def _session(self, conversation_id: str) -> StoredSession:
        with self._lock:
            return self._sessions.setdefault(conversation_id, InMemorySession(conversation_id))

    async def delete(self, conversation_id: str) -> None:
        """Forget a conversation; one that is not there is fine."""
        check_session(conversation_id)
        with self._lock:
            self._sessions.pop(conversation_id, None)


class RedisChatHistory(_ChatHistory):
    """Chat memory in Redis: one command to store, one to load.

    Args:
        redis_client: an asyncio client; it stays yours.
        url: instead of a client, an address.
        key_prefix: conversations of two prefixes share nothing.
        ttl: seconds after the last store at which a conversation is gone.
        preprocessors: applied in order when loading and before storing.

    Raises:
        InputError: ``ttl`` is out of range, or not exactly one of ``redis_client`` and ``url`` is given.
        StoreUnavailable: from :meth:`store` and :meth:`load`, when the server cannot be reached.
    """

    def __init__(
        self,
        *,
        redis_client: RedisClient | None = None,
        url: str | None = None,
        key_prefix: str = "orchestra:chat",
        ttl: float | None = None,
        preprocessors: Sequence[Preprocessor] = (),
    ) -> None:
        super().__init__(preprocessors)
        self._clients = SessionClients(client=redis_client, url=url)
        self._prefix, self._ttl = key_prefix, check_ttl(ttl)

    def _session(self, conversation_id: str) -> StoredSession:
        log = SessionStore(self._clients, conversation_id, key_prefix=self._prefix, ttl=self._ttl)
        return StoredSession(conversation_id, log)

    async def ping(self) -> bool:
        """Whether the server answers."""
        if self._clients.closed:
            raise SessionClosed(self._prefix)
        return await self._clients.ping()

    async def close(self) -> None:
        """Close the client that was made here; twice is fine."""
        await self._clients.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
