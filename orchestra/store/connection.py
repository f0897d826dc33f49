"""The connection to Redis or Valkey: one client per process and event loop, one script call per write."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias, cast

import hiredis
from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff

from orchestra.core.errors import StoreIncompatible, StoreUnavailable
from orchestra.store.keys import Keys
from orchestra.store.scripts import script

Answer: TypeAlias = "list[Answer | str | int | None]"
SCHEMA = 1
OLDEST_SERVER = (7, 0)
ANSWER_SECONDS = 10.0
# What a server says that will not do now what it does at other times: its memory or disk is full, it is a replica, …
_REFUSALS = ("OOM", "READONLY", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "BUSY ")
_REFUSING = (
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.MasterDownError,
    exceptions.TryAgainError,
)
NEEDED = ("evalsha", "xadd", "hset", "zadd", "lrange", "pexpire")


class Store:
    """An open connection to one namespace. Made by :meth:`open`; use it on the event loop that made it.

    A command whose connection breaks is sent again with growing pauses for about ``patience`` seconds: every write
    carries an operation id, so a second arrival changes nothing. One that gets no answer at all (the server is frozen,
    or cut off without a word) is given up ``answer_seconds`` later.
    """

    def __init__(
        self,
        url: str,
        namespace: str,
        *,
        patience: float = 15.0,
        answer_seconds: float = ANSWER_SECONDS,
        connections: int = 64,
    ) -> None:
        self.url, self.keys = url, Keys(namespace)
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=None,
            decode_responses=True,
            protocol=2,
            socket_timeout=answer_seconds,
            socket_connect_timeout=5,
            retry=Retry(ExponentialBackoff(cap=0.5, base=0.01), int(patience / 0.5) + 6),
            retry_on_error=[exceptions.ConnectionError, exceptions.TimeoutError],
        )
        pool.connection_class = _adapted(pool.connection_class)
        self.answer_seconds, self._seconds = answer_seconds, patience + answer_seconds
        self.redis: Redis = Redis(connection_pool=pool)
        self.commands = 0

    @classmethod
    async def open(
        cls, url: str, namespace: str = "default", *, patience: float = 15.0, answer_seconds: float = ANSWER_SECONDS
    ) -> Store:
        """Connect, check the server's version and commands and the data's schema.

        Raises:
            StoreUnavailable: the server does not answer.
            StoreIncompatible: the server is too old, or its data was written by a newer version.
        """
        store = cls(url, namespace, patience=patience, answer_seconds=answer_seconds)
        try:
            await store._probe()
        except BaseException:
            await store.close()
            raise
        return store

    async def close(self) -> None:
        """Close all connections."""
        await self.redis.aclose()
        await self.redis.connection_pool.disconnect()

    @property
    def address(self) -> str:
        """The URL without a password, for messages."""
        return re.sub(r"//([^@/]*)@", "//…@", self.url)

    @contextmanager
    def typed(self) -> Iterator[None]:
        """Turn the client library's errors that pass by themselves into :class:`StoreUnavailable`."""
        try:
            yield
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            raise StoreUnavailable(self.address, str(error) or type(error).__name__) from None
        except exceptions.ResponseError as error:
            if isinstance(error, _REFUSING) or str(error).startswith(_REFUSALS):
                raise StoreUnavailable(self.address, f"it refuses commands for now: {error}") from None
            raise

    @asynccontextmanager
    async def answered(self) -> AsyncIterator[None]:
        """:meth:`typed`, and an end to the waiting."""
        with self.typed():
            async with asyncio.timeout(self._seconds):
                yield

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[str | int | float | bytes]) -> Answer:
        """Call one script. Its answer is an array whose first item is the status."""
        made = script(name)
        self.commands += 1
        with self.typed():
            async with asyncio.timeout(self._seconds):
                try:
                    answer = await self.redis.evalsha(made.sha, len(keys), *keys, *arguments)
                except exceptions.NoScriptError:
                    answer = await self.redis.eval(made.text, len(keys), *keys, *arguments)
        return cast("Answer", answer)

    async def read(self, command: str, *arguments: str | int | float | bytes) -> object:
        """Call one command that only reads."""
        self.commands += 1
        async with self.answered():
            return cast("object", await self.redis.execute_command(command, *arguments))  # type: ignore[no-untyped-call]

    async def fields(self, key: str) -> dict[str, str]:
        """All fields of a hash; empty when the key is not there."""
        self.commands += 1
        async with self.answered():
            return cast("dict[str, str]", await self.redis.hgetall(key))

    async def items(self, key: str, first: int = 0, last: int = -1) -> list[str]:
        """Items of a list by index, both ends included."""
        return cast("list[str]", await self.read("LRANGE", key, first, last))

    async def scored(self, key: str, limit: int = 0, *, newest: bool = False) -> list[tuple[str, float]]:
        """(member, score) of a sorted set, lowest score first (``newest``: highest first); ``limit`` 0 means all."""
        self.commands += 1
        async with self.answered():
            answer = await self.redis.zrange(key, 0, limit - 1, desc=newest, withscores=True)
        found = cast("list[tuple[str, float]]", answer)
        return [(str(member), float(score)) for member, score in found]

    async def lacks(self, *commands: str) -> list[str]:
        """Those of the commands that the server does not have."""
        async with self.answered():
            # As one word: the client library's own reading of this answer fails at a command that is not there.
            found = cast("list[object]", await self.redis.execute_command("COMMAND INFO", *commands))  # type: ignore[no-untyped-call]
        return [name for name, item in zip(commands, found, strict=True) if not item]

    async def now(self) -> float:
        """The server's clock, in Unix milliseconds."""
        time = cast("list[str]", await self.read("TIME"))
        return int(time[0]) * 1000 + int(time[1]) / 1000

    async def _probe(self) -> None:
        async with self.answered():
            try:
                info = cast("Mapping[str, object]", await self.redis.info("server"))
                lacking = await self.lacks(*NEEDED)
                schema = await self.redis.set(self.keys.schema, SCHEMA, nx=True, get=True)
            except exceptions.AuthenticationError as error:
                raise StoreIncompatible(self.address, f"it refuses the login: {error}") from None
            except exceptions.NoPermissionError as error:
                raise StoreIncompatible(self.address, f"this user lacks a permission: {error}") from None
        version = str(info.get("redis_version", "0"))
        numbers = tuple(int(part) for part in version.split(".")[:2])
        if numbers < OLDEST_SERVER:
            raise StoreIncompatible(self.address, f"it is version {version}; Redis 7.0 or newer, or Valkey, is needed")
        if lacking:
            raise StoreIncompatible(self.address, f"it lacks the commands {', '.join(lacking)}")
        if isinstance(schema, str) and int(schema) > SCHEMA:
            problem = f"its data has schema {schema}, this version knows {SCHEMA}; use a newer orchestra-runtime"
            raise StoreIncompatible(self.address, problem)


def _adapted(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    """The same kind of connection, with other ways to put commands together and to send them.

    hiredis puts them together: in Python that is a tenth of a turn.
    """

    class Adapted(kind):  # type: ignore[misc, valid-type]
        def pack_command(self, *args: str | int | float | bytes) -> list[bytes]:
            name = args[0]
            if not isinstance(name, str) or " " in name:
                return super().pack_command(*args)  # type: ignore[no-any-return]
            return [hiredis.pack_command(args)]  # type: ignore[arg-type]

        async def send_packed_command(self, command: str | bytes | list[bytes], check_health: bool = True) -> None:
            """Send it, and never lose a cancellation.

            The client library's own way waits by ``asyncio.wait_for``, which before Python 3.12 drops a cancellation
            that comes when the data is out and the sender has not gone on yet: the caller, told by nobody that it was
            cancelled, runs on, and whoever cancelled it waits for ever.
            """
            if not self.is_connected:
                await self.connect_check_health(check_health=False)
            if check_health:
                await self.check_health()
            parts = [command.encode()] if isinstance(command, str) else command
            try:
                async with asyncio.timeout(self.socket_timeout):
                    await self._send_packed_command([parts] if isinstance(parts, bytes) else parts)
            except BaseException as error:  # half a command may be out: nothing else can be said on this connection
                await self.disconnect(nowait=True)
                if isinstance(error, TimeoutError):
                    raise exceptions.TimeoutError("Timeout writing to socket") from None
                if isinstance(error, OSError):
                    raise exceptions.ConnectionError(f"Error while writing to socket: {error}") from error
                raise

    return Adapted


def pairs(flat: object) -> dict[str, str]:
    """A dict from the flat list in which a script returns a hash."""
    items = cast("list[str]", flat)
    return dict(zip(items[::2], items[1::2], strict=True))
