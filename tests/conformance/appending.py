"""Sixteen writers in one process, each appending four lines: ``python -m … URL NAMESPACE BLOCK NUMBER``."""

from __future__ import annotations

import asyncio
import sys

from orchestra.memory.blocks import Blocks
from orchestra.store.connection import Store


async def main(url: str, namespace: str, block_id: str, number: str) -> None:
    store = await Store.open(url, namespace)
    try:

        async def writer(name: int) -> None:
            for line in range(4):
                await Blocks(store).append(block_id, f"{number}.{name}.{line} ☕")

        await asyncio.gather(*(writer(name) for name in range(16)))
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
