"""Sixteen writers in one process, four batches of two items each: ``python -m … KIND WHERE PREFIX ID NUMBER``."""

from __future__ import annotations

import asyncio
import sys

from orchestra.memory import RedisSession, SQLiteSession


async def main(kind: str, where: str, prefix: str, session_id: str, number: str) -> None:
    session = (
        RedisSession(session_id, url=where, key_prefix=prefix) if kind == "redis" else SQLiteSession(session_id, where)
    )
    async with session:

        async def writer(name: int) -> None:
            for batch in range(4):
                await session.add_items([{"from": f"{number}.{name}.{batch}", "n": n} for n in range(2)])

        await asyncio.gather(*(writer(name) for name in range(16)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
