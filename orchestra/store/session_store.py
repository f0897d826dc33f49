"""The history of one session in Redis: one script per write, whoever else writes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeAlias, cast

from redis import exceptions

from orchestra.core.errors import InputError, SessionClosed, StoreUnavailable
from orchestra.core.names import check_session
from orchestra.core.settling import outlast
from orchestra.store.scripts import script
from orchestra.store.session_clients import SessionClients

Reply: TypeAlias = "list[bytes | list[bytes]]"
LONGEST_TTL_SECONDS = 100 * 366 * 86_400
SETTLE_SECONDS = 5.0

# Braces would end the hash tag, the colon separates prefix and id, "%" starts an escape: so no two ids share a key.
_ESCAPED = {ord(char): f"%{ord(char):02X}" for char in "%{}:"} | {code: f"%{code:02X}" for code in (*range(32), 127)}
_ESCAPED_PREFIX = {code: text for code, text in _ESCAPED.items() if code != ord(":")}


def session_keys(prefix: str, session_id: str) -> tuple[bytes, ...]:
    """The keys of a session: items, meta, and the two hashes of operations. One hash slot; no two sessions share one.

    Raises:
        InputError: the id is empty or longer than 256 characters, or one of the two cannot be written as UTF-8.
    """
    tag = f"{{{prefix.translate(_ESCAPED_PREFIX)}:{check_session(session_id).translate(_ESCAPED)}}}"
    try:
        return tuple(f"{tag}:{name}".encode() for name in ("items", "meta", "ops0", "ops1"))
    except UnicodeEncodeError:
        raise InputError(f"session id {session_id!r} or prefix {prefix!r} holds a lone surrogate") from None


def check_ttl(ttl: float | None) -> float | None:
    """``ttl`` in seconds if a store can keep it. Raises :class:`InputError`."""
    if ttl is not None and not 0.001 <= ttl <= LONGEST_TTL_SECONDS:
        raise InputError(f"ttl {ttl}: use 0.001 to {LONGEST_TTL_SECONDS} seconds, or None for ever")
    return ttl


class SessionStore:
    """One session's entries, as UTF-8 JSON texts that are never looked into.

    Every write carries an operation id: sent again within five minutes it changes nothing. A write that is cancelled is
    sent again with its id before the cancellation goes on, so its outcome is known: it was applied, once.
    """

    def __init__(self, clients: SessionClients, session_id: str, *, key_prefix: str, ttl: float | None = None) -> None:
        self.clients, self._session_id = clients, session_id
        self._keys = session_keys(key_prefix, session_id)
        self._ttl = b"" if check_ttl(ttl) is None else str(int((ttl or 0) * 1000)).encode()

    def check_open(self) -> None:
        """Raise :class:`SessionClosed` after :meth:`close` of an own client."""
        if self.clients.closed:
            raise SessionClosed(self._session_id)

    async def append(self, entries: Sequence[bytes], operation: str) -> None:
        """Add entries at the end, all or none."""
        await self._write("session_append", operation, entries)

    async def tail(self, count: int | None) -> list[bytes]:
        """All entries, or the last ``count``, oldest first."""
        return cast("list[bytes]", await self._send("LRANGE", self._keys[0], 0 if count is None else -count, -1))

    async def pop(self, operation: str) -> bytes | None:
        """Take the last entry away."""
        answer = await self._write("session_pop", operation)
        return cast("bytes", answer[1]) if len(answer) > 1 else None

    async def clear(self, operation: str) -> None:
        """Delete everything."""
        await self._write("session_clear", operation)

    async def assign(self, entries: Sequence[bytes], operation: str) -> None:
        """Replace all entries."""
        await self._write("session_assign", operation, entries)

    async def snapshot(self) -> tuple[str, list[bytes]]:
        """(generation, all entries) at one moment."""
        answer = await self._script("session_snapshot")
        return cast("bytes", answer[1]).decode(), cast("list[bytes]", answer[2])

    async def splice(self, generation: str, count: int, entries: Sequence[bytes], operation: str) -> bool:
        """Replace the first ``count`` entries of ``generation``; False: the history has moved, nothing is written."""
        given = (generation.encode(), str(count).encode(), *entries)
        return (await self._write("session_splice", operation, given))[0] != b"MOVED"

    async def times(self) -> tuple[float, float] | None:
        """(created, updated) in Unix seconds on the server's clock; ``None`` when nothing is stored."""
        found = cast("list[bytes | None]", await self._send("HMGET", self._keys[1], "created_at", "updated_at"))
        return None if found[0] is None or found[1] is None else (int(found[0]) / 1000, int(found[1]) / 1000)

    async def ping(self) -> bool:
        """Whether the server answers."""
        self.check_open()
        return await self.clients.ping()

    async def close(self) -> None:
        """Close the clients that were made here."""
        await self.clients.close()

    async def _write(self, name: str, operation: str, given: Sequence[bytes] = ()) -> Reply:
        arguments = (operation.encode(), self._ttl, *given)
        try:
            return await self._script(name, *arguments)
        except asyncio.CancelledError:
            # The command may have been applied, be under way or unsent: the same id again makes it applied once.
            with contextlib.suppress(Exception):
                await outlast(self._script(name, *arguments), seconds=SETTLE_SECONDS)
            raise

    async def _script(self, name: str, *arguments: bytes) -> Reply:
        made = script(name)
        try:
            answer = await self._send("EVALSHA", made.sha, len(self._keys), *self._keys, *arguments)
        except exceptions.NoScriptError:
            answer = await self._send("EVAL", made.text, len(self._keys), *self._keys, *arguments)
        return cast("Reply", answer)

    async def _send(self, *command: str | int | bytes) -> object:
        # Never decoded by the client: an injected one may decode or not, and one entry that is no UTF-8 would make a
        # decoding client fail the whole answer.
        self.check_open()
        try:
            return await self.clients.send(*command)
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            raise StoreUnavailable(self.clients.address, str(error) or type(error).__name__) from None
