"""One connection of a client, kept between commands: taking it out of the pool each time costs as much as they do."""

from __future__ import annotations

import threading
import weakref
from typing import TypeAlias, cast

from hiredis import pack_command
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

Command: TypeAlias = "tuple[str | int | bytes, ...]"
# A smaller pool may need its last connection for something else.
SMALLEST_POOL = 8
# Below it a write goes to the socket's buffer at once, so a time limit on it would only cost a task.
SMALL_BYTES = 32_768


class Line:
    """The kept connection of one client. While it is in use, other commands take connections from the pool."""

    def __init__(self, client: Redis) -> None:
        # The client keeps its line alive, not the other way round.
        self._client = weakref.ref(client)
        self._kept: AbstractConnection | None = None

    async def send(self, client: Redis, command: Command) -> object:
        """The answer of one command, undecoded. Raises what the client library raises; nothing is retried."""
        packed = pack_command(cast("tuple[bytes]", command))
        connection, self._kept = self._kept, None
        pool = client.connection_pool
        if connection is None:
            connection = cast("AbstractConnection", await pool.get_connection())  # type: ignore[no-untyped-call]
        try:
            limit = connection.socket_timeout
            if len(packed) < SMALL_BYTES:
                connection.socket_timeout = None
            try:
                await connection.send_packed_command(packed)
            finally:
                connection.socket_timeout = limit
            return cast("object", await connection.read_response(disable_decoding=True))
        finally:
            # Broken or cancelled: the connection has closed itself, and connects again when it is used.
            if self._kept is None and pool.max_connections >= SMALLEST_POOL:
                self._kept = connection
            else:
                await pool.release(connection)

    async def release(self) -> None:
        """Give the kept connection back to the pool."""
        connection, self._kept = self._kept, None
        client = self._client()
        if connection is not None and client is not None:
            await client.connection_pool.release(connection)


_lines: weakref.WeakKeyDictionary[Redis, Line] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
BROKEN = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


def line_of(client: object) -> Line | None:
    """The line of a client, the same for all sessions on it; ``None`` for a cluster's and for kinds of one's own."""
    if type(client) is not Redis or client.connection is not None:
        return None
    with _lock:
        return _lines.setdefault(client, Line(client))
