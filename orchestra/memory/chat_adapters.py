"""Any chat-memory provider as a session, any session as a provider."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from orchestra.core.names import check_session
from orchestra.memory.chat_history import ChatHistoryProvider
from orchestra.memory.chat_preprocessors import without_system
from orchestra.memory.session_items import Item, decoded, encoded
from orchestra.memory.session_settings import check_limit, settings_from
from orchestra.memory.wrapped_session import Session, can_replace, replaceable


class ProviderSession:
    """One conversation of a provider as a session.

    A provider can only replace, so each change loads and stores everything: one at a time in this object, the later
    one wins between processes. Stored system prompts are kept but not given out: the agent has its current one.
    """

    session_id: str
    session_settings: Any

    def __init__(self, provider: ChatHistoryProvider, conversation_id: str, session_settings: object = None) -> None:
        self.session_id = check_session(conversation_id)
        self.session_settings = settings_from(session_settings)
        self._provider = provider
        # A lock belongs to the event loop that first waits for it.
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The messages, or the last ``limit``, oldest first. Raises :class:`InputError` for a negative limit."""
        wanted = check_limit(limit if limit is not None else settings_from(self.session_settings).limit)
        if wanted == 0:
            return []
        items = without_system(await self._provider.load(self.session_id))
        return items if wanted is None else items[-wanted:]

    async def add_items(self, items: Sequence[Item]) -> None:
        """Load, append and store. Raises :class:`InputError` when an item is no JSON object."""
        if items:
            copies = [decoded(text) for text in encoded(items)]
            async with self._lock():
                await self._provider.store(self.session_id, [*await self._provider.load(self.session_id), *copies])

    async def pop_item(self) -> Item | None:
        """Take the newest message away that is no system prompt, or ``None``."""
        async with self._lock():
            items = await self._provider.load(self.session_id)
            if not (found := without_system(items)):
                return None
            place = max(number for number, item in enumerate(items) if item is found[-1])
            await self._provider.store(self.session_id, [*items[:place], *items[place + 1 :]])
            return found[-1]

    async def clear_session(self) -> None:
        """Store an empty history."""
        async with self._lock():
            await self._provider.store(self.session_id, [])

    def _lock(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class SessionProvider:
    """Sessions as a provider: one session per conversation, made by ``factory``."""

    def __init__(self, factory: Callable[[str], Session]) -> None:
        self._factory = factory

    async def store(self, conversation_id: str, messages: Sequence[Item]) -> None:
        """Replace the history: in one step where the session can, else by clearing and adding.

        With a session that cannot, an error while adding puts the old history back; a process that dies in between
        leaves it empty.
        """
        session = self._factory(conversation_id)
        if can_replace(session):
            await replaceable(session).set_items(messages)
            return
        old = await session.get_items()
        await session.clear_session()
        try:
            await session.add_items(list(messages))
        except BaseException:
            await session.add_items(old)
            raise

    async def load(self, conversation_id: str) -> list[Item]:
        """The history; empty when there is none."""
        return await self._factory(conversation_id).get_items()


def provider_session(
    provider: ChatHistoryProvider, conversation_id: str, *, session_settings: object = None
) -> ProviderSession:
    """A session over one conversation of ``provider``."""
    return ProviderSession(provider, conversation_id, session_settings)


def session_provider(factory: Callable[[str], Session]) -> SessionProvider:
    """A provider whose conversations are the sessions that ``factory(conversation_id)`` makes."""
    return SessionProvider(factory)
