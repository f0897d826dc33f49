"""All that a server holds, as one text to search."""

from __future__ import annotations

import redis


def stored(url: str) -> str:
    """Every key of every namespace with its whole value."""
    client = redis.Redis.from_url(url)
    read = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        b"stream": client.xrange,
    }
    try:
        return str([(key, read[client.type(key)](key)) for key in client.scan_iter()])  # type: ignore[index]
    finally:
        client.close()
