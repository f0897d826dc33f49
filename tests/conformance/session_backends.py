"""The kinds of sessions that the conformance cases run over, and how each one's storage is damaged for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agents import SQLiteSession as SdkSQLiteSession
from agents.extensions.memory.redis_session import RedisSession as SdkRedisSession
from redis.asyncio import Redis

from orchestra.memory import (
    CompactionSession,
    EncryptedSession,
    InMemorySession,
    RedisChatHistory,
    RedisSession,
    SQLiteSession,
    provider_session,
)
from orchestra.store.session_store import session_keys

KEY = b"sixteen bytes, or a few more"


class Clock:
    """Unix seconds that stand still until they are set."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    """Where the sessions of one test live."""

    url: str
    client: Redis
    decoding: Redis
    folder: Path
    prefix: str
    clock: Clock = field(default_factory=Clock)
    made: list[Any] = field(default_factory=list)


class Maker(Protocol):
    def __call__(self, place: Place, session_id: str, /, **options: Any) -> Any: ...


@dataclass(frozen=True)
class Backend:
    """``make(place, id, ttl=…, session_settings=…, key_prefix=…)``; ``plant`` puts raw bytes behind the last item."""

    name: str
    make: Maker
    plant: Callable[[Place, str, bytes], Any]


def keys(place: Place, session_id: str) -> tuple[bytes, ...]:
    return session_keys(place.prefix, session_id)


async def plant_redis(place: Place, session_id: str, raw: bytes) -> None:
    await place.client.rpush(keys(place, session_id)[0], raw)  # type: ignore[misc]


async def plant_sdk_redis(place: Place, session_id: str, raw: bytes) -> None:
    await place.client.rpush(f"{place.prefix}:{session_id}:messages", raw)  # type: ignore[misc]


async def plant_sqlite(place: Place, session_id: str, raw: bytes) -> None:
    with sqlite3.connect(place.folder / "ours.db") as db:
        db.execute(
            "INSERT INTO orchestra_items SELECT ?1, COALESCE(MAX(place), 0) + 1, ?2 FROM orchestra_items"
            " WHERE session_id = ?1",
            (session_id, raw),
        )
    db.close()


async def plant_sdk_sqlite(place: Place, session_id: str, raw: bytes) -> None:
    with sqlite3.connect(place.folder / "sdk.db") as db:
        db.execute("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session_id, raw))
    db.close()


async def plant_memory(place: Place, session_id: str, raw: bytes) -> None:
    session = next(one for one in reversed(place.made) if one.session_id == session_id)
    while not isinstance(session, InMemorySession):
        session = session.session
    session._log._entries.append(raw)  # type: ignore[attr-defined]


def redis_client(place: Place, session_id: str, /, **options: Any) -> RedisSession:
    return RedisSession(session_id, redis_client=place.client, **{"key_prefix": place.prefix, **options})


def redis_decoding(place: Place, session_id: str, /, **options: Any) -> RedisSession:
    return RedisSession(session_id, redis_client=place.decoding, **{"key_prefix": place.prefix, **options})


def redis_url(place: Place, session_id: str, /, **options: Any) -> RedisSession:
    return RedisSession.from_url(session_id, url=place.url, **{"key_prefix": place.prefix, **options})


def in_memory(place: Place, session_id: str, /, **options: Any) -> InMemorySession:
    options.pop("key_prefix", None)
    return InMemorySession(session_id, clock=place.clock, **options)


def sqlite(place: Place, session_id: str, /, **options: Any) -> SQLiteSession:
    name = options.pop("key_prefix", "ours")
    return SQLiteSession(session_id, place.folder / f"{name}.db", clock=place.clock, **options)


def encrypted(place: Place, session_id: str, /, **options: Any) -> EncryptedSession:
    return EncryptedSession(redis_client(place, session_id, **options), KEY)


def compacting(place: Place, session_id: str, /, **options: Any) -> CompactionSession:
    inner = in_memory(place, session_id, **options)
    return CompactionSession(inner, lambda items: False, lambda items: [{"role": "user", "content": "all of it"}])


def provider(place: Place, session_id: str, /, **options: Any) -> Any:
    history = RedisChatHistory(redis_client=place.client, key_prefix=options.pop("key_prefix", place.prefix))
    return provider_session(history, session_id, **options)


def sdk_redis(place: Place, session_id: str, /, **options: Any) -> Any:
    return SdkRedisSession(session_id, redis_client=place.client, **{"key_prefix": place.prefix, **options})


def sdk_sqlite(place: Place, session_id: str, /, **options: Any) -> Any:
    name = options.pop("key_prefix", "sdk")
    return SdkSQLiteSession(session_id, place.folder / f"{name}.db", **options)


REDIS = Backend("redis", redis_client, plant_redis)
REDIS_DECODING = Backend("redis-decoding", redis_decoding, plant_redis)
REDIS_URL = Backend("redis-url", redis_url, plant_redis)
MEMORY = Backend("memory", in_memory, plant_memory)
SQLITE = Backend("sqlite", sqlite, plant_sqlite)
ENCRYPTED = Backend("encrypted", encrypted, plant_redis)
COMPACTING = Backend("compacting", compacting, plant_memory)
PROVIDER = Backend("provider", provider, plant_redis)
SDK_REDIS = Backend("sdk-redis", sdk_redis, plant_sdk_redis)
SDK_SQLITE = Backend("sdk-sqlite", sdk_sqlite, plant_sdk_sqlite)

COUNTING = (REDIS, REDIS_DECODING, REDIS_URL, MEMORY, SQLITE, ENCRYPTED, COMPACTING)
OURS = (*COUNTING, PROVIDER)
ALL = (*OURS, SDK_REDIS, SDK_SQLITE)

# Where the SDK's own sessions give another answer to a case. The test must fail there: strictly expected failures.
DIFFERENCES = {
    ("sdk-redis", "s04b"): "a negative limit gives [] instead of an error",
    ("sdk-sqlite", "s04b"): "a negative limit gives everything instead of an error",
    ("sdk-redis", "s15b"): "keys are the plain id with a suffix: s1:messages is the list of s1",
    ("sdk-redis", "s22"): "a JSON scalar is given out as an item",
    ("sdk-sqlite", "s22"): "a JSON scalar is given out as an item",
    ("sdk-redis", "s23b"): "a scalar is stored as an item",
    ("sdk-sqlite", "s23b"): "a scalar is stored as an item",
}
