"""A program that does the passes that are due, to be killed by a test: ``URL NAMESPACE``."""

from __future__ import annotations

import asyncio
import sys

from orchestra import Runtime


async def main(url: str, namespace: str) -> None:
    async with Runtime.start({"redis": {"url": url}, "namespace": namespace}, inline=True) as runtime:
        await runtime.drain()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
