"""A program that works on an archive, to be killed by a test: ``URL NAMESPACE search|delete``."""

from __future__ import annotations

import asyncio
import sys

from orchestra import Runtime


async def main(url: str, namespace: str, work: str) -> None:
    config = {
        "redis": {"url": url},
        "namespace": namespace,
        "embeddings": {"model": "tests.meanings:make", "index": "auto"},
    }
    async with Runtime.start(config, inline=True) as runtime:
        if work == "search":
            await runtime.passages.search("a", "boat")
        else:
            await runtime.delete_agent("a", cascade=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
