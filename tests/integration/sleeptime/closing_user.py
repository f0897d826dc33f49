"""A program with a sleep-time worker, to be killed while it closes a session. Arguments: URL, namespace."""

from __future__ import annotations

import asyncio
import sys

from orchestra.runtime.host import Host
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.connection import Store


async def main(url: str, namespace: str) -> None:
    store = await Store.open(url, namespace)
    host = Host(store, "sleeptime-0", beat_seconds=0.1)
    await host.start()
    worker = SleepWorker(host, lease_ms=300)
    await worker.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
