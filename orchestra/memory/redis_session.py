"""A session in Redis that needs nothing else of Orchestra: also a session of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from orchestra.core.names import check_session
from orchestra.memory.stored_session import StoredSession
from orchestra.store.session_clients import RedisClient, SessionClients
from orchestra.store.session_store import SessionStore

KEY_PREFIX = "orchestra:session"


class RedisSession(StoredSession):
    """A session in Redis or Valkey (7.0 or newer), of one server or a cluster.

    Any number of processes, threads and event loops may use one session id at the same time: every write is one
    command, whoever else writes, and stands whole. A write that is cancelled or whose answer is lost is applied once.

    Args:
        session_id: 1 to 256 characters, any.
        redis_client: an asyncio client, decoding or not; it stays yours and survives :meth:`close`.
        url: instead of a client, an address: a client is made for each event loop, and closed by :meth:`close`.
        key_prefix: sessions of two prefixes share nothing.
        ttl: seconds after the last write at which the session is gone; ``None`` keeps it.
        session_settings: settings or a dict, such as ``{"limit": 40}``.
        redis_kwargs: further options of the client that ``url`` makes.

    Raises:
        InputError: a wrong id, ``ttl`` or setting, or not exactly one of ``redis_client`` and ``url``.
        StoreUnavailable: from every operation, when the server cannot be reached.
        SessionClosed: from every operation, after :meth:`close` of a session made from a URL.
    """

    def __init__(
        self,
        session_id: str,
        *,
        redis_client: RedisClient | None = None,
        url: str | None = None,
        key_prefix: str = KEY_PREFIX,
        ttl: float | None = None,
        session_settings: object = None,
        redis_kwargs: Mapping[str, object] | None = None,
    ) -> None:
        clients = SessionClients(client=redis_client, url=url, options=redis_kwargs)
        log = SessionStore(clients, check_session(session_id), key_prefix=key_prefix, ttl=ttl)
        super().__init__(session_id, log, session_settings)

    @classmethod
    def from_url(
        cls,
        session_id: str,
        *,
        url: str,
        key_prefix: str = KEY_PREFIX,
        ttl: float | None = None,
        session_settings: object = None,
        redis_kwargs: Mapping[str, object] | None = None,
    ) -> Self:
        """A session with a client of its own. Arguments and errors as of the class."""
        return cls(
            session_id,
            url=url,
            key_prefix=key_prefix,
            ttl=ttl,
            session_settings=session_settings,
            redis_kwargs=redis_kwargs,
        )
