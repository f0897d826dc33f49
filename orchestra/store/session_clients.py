"""Clients of a session that works on any event loop: one per loop, an injected one left open."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping
from typing import TypeAlias, cast

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff

from orchestra.core.errors import InputError
from orchestra.store.session_line import BROKEN, Line, line_of

RedisClient: TypeAlias = "Redis | RedisCluster"
PATIENCE_SECONDS = 15.0
PING_SECONDS = 5.0
COPIED_POOLS = (ConnectionPool, BlockingConnectionPool)


class SessionClients:
    """The clients of one server. Give it ``client``, which stays the caller's, or ``url``.

    A client's connections belong to one event loop. The injected client serves the loop that runs when this object is
    made, else the first that uses it; every other loop gets a client of its own with the same settings.
    """

    def __init__(
        self, *, client: RedisClient | None = None, url: str | None = None, options: Mapping[str, object] | None = None
    ) -> None:
        if (client is None) == (url is None):
            raise InputError("a session needs redis_client= or url=, one of the two")
        self._injected, self._url, self._options = client, url, dict(options or {})
        self._lock = threading.Lock()
        self._own: dict[asyncio.AbstractEventLoop, Redis] = {}
        self._home: asyncio.AbstractEventLoop | None = None
        self._last: tuple[asyncio.AbstractEventLoop, RedisClient, Line | None] | None = None
        self.closed = False
        if client is not None:
            try:
                self._home = asyncio.get_running_loop()
            except RuntimeError:
                self._home = None

    @property
    def owned(self) -> bool:
        """Whether closing ends the sessions on it: the client was made here from a URL."""
        return self._injected is None

    @property
    def address(self) -> str:
        """Where the server is, without a password, for messages."""
        if self._url is not None:
            return re.sub(r"//([^@/]*)@", "//…@", self._url)
        if not isinstance(self._injected, Redis):
            return "cluster"
        where = cast("dict[str, object]", self._injected.connection_pool.connection_kwargs)
        return str(where["path"]) if "path" in where else f"{where.get('host')}:{where.get('port')}"

    def here(self) -> tuple[RedisClient, Line | None]:
        """The client of the running event loop, and its line if it has one."""
        loop = asyncio.get_running_loop()
        last = self._last
        if last is not None and last[0] is loop:
            return last[1], last[2]
        with self._lock:
            client = self._client_of(loop)
        line = line_of(client)
        self._last = (loop, client, line)
        return client, line

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> RedisClient:
        if self._injected is not None:
            if self._home is None:
                self._home = loop
            if self._home is loop:
                return self._injected
        if loop not in self._own:
            # Nothing can be awaited on a loop that has ended: its sockets close with the objects.
            self._own = {known: kept for known, kept in self._own.items() if not known.is_closed()}
            self._own[loop] = self._made() if self._injected is None else _twin(self._injected)
        return self._own[loop]

    def _made(self) -> Redis:
        options: dict[str, object] = {
            "max_connections": 64,
            "timeout": None,
            "protocol": 2,
            "socket_timeout": 10,
            "socket_connect_timeout": 5,
            "retry": Retry(ExponentialBackoff(cap=0.5, base=0.01), int(PATIENCE_SECONDS / 0.5) + 6),
            "retry_on_error": [exceptions.ConnectionError, exceptions.TimeoutError],
        }
        pool = BlockingConnectionPool.from_url(self._url or "", **{**options, **self._options})
        return Redis(connection_pool=pool)

    async def send(self, *command: str | int | bytes) -> object:
        """The answer of one command, undecoded whatever the client's settings.

        The first try goes over the client's line. When that connection is broken, the client's own way with its
        retries takes over: writes carry an operation id, so being sent twice is harmless.
        """
        client, line = self.here()
        if line is not None and isinstance(client, Redis):
            try:
                return await line.send(client, command)
            except BROKEN:
                pass
        return cast("object", await client.execute_command(*command, NEVER_DECODE=True))

    async def ping(self) -> bool:
        """Whether the server answers a ``PING`` now, without the patience that commands have."""
        client, _ = self.here()
        probe = _twin(client, patient=False) if isinstance(client, Redis) and client is not self._injected else None
        try:
            async with asyncio.timeout(PING_SECONDS):
                return bool(await (probe or client).ping())
        except (exceptions.RedisError, OSError, TimeoutError):
            return False
        finally:
            if probe is not None:
                await _close(probe)

    async def close(self) -> None:
        """Close the clients made here, each on its own loop; the injected one is left alone. Twice is fine."""
        with self._lock:
            self.closed = self.closed or self._injected is None
            mine, last, self._own, self._last = self._own, self._last, {}, None
        here = asyncio.get_running_loop()
        if last is not None and last[0] is here and last[1] is self._injected and last[2] is not None:
            await last[2].release()
        for loop, client in mine.items():
            if loop is here:
                await _close(client)
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_close(client), loop))


async def _close(client: Redis) -> None:
    await client.aclose()
    await client.connection_pool.disconnect()


def _twin(client: RedisClient, *, patient: bool = True) -> Redis:
    if not isinstance(client, Redis) or type(client.connection_pool) not in COPIED_POOLS:
        kind = type(client).__name__
        raise InputError(f"this {kind} belongs to another event loop: give each loop its own session, or use url=")
    pool = client.connection_pool
    settings = {**pool.connection_kwargs, "max_connections": pool.max_connections}
    if isinstance(pool, BlockingConnectionPool):
        settings["timeout"] = pool.timeout
    if not patient:
        settings.update(retry=Retry(NoBackoff(), 0), retry_on_error=[])
    return Redis(connection_pool=type(pool)(connection_class=pool.connection_class, **settings))
