"""Programs that the tests of workspaces kill.

``python -m tests.integration.memory.workspace_user COMMAND …`` with ``snapshot STORE FOLDER``,
``restore STORE FOLDER MANIFEST``, ``steps FOLDER STAGE`` (a replacement in two steps), ``swing STORE FOLDER ONE OTHER``
(restores the two in turn until it is killed, and says so line by line), ``session URL NAMESPACE DATA SNAPSHOT``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from orchestra import Runtime
from orchestra.memory.folder_swap import replace_in_two_steps
from orchestra.memory.workspace import WorkspaceStore


async def swing(store: WorkspaceStore, folder: str, manifests: list[str]) -> None:
    while True:
        for manifest in manifests:
            await store.restore(manifest, folder)
            print(manifest, flush=True)


async def session(url: str, namespace: str, data: str, snapshot: str) -> None:
    config = {"redis": {"url": url}, "namespace": namespace, "data_dir": data, "hosts": {"sleeptime": 0}}
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.restore(snapshot)


def main(command: str, *rest: str) -> None:
    if command == "steps":
        replace_in_two_steps(Path(rest[0]), Path(rest[1]))
    elif command == "session":
        asyncio.run(session(*rest))
    elif command == "snapshot":
        asyncio.run(WorkspaceStore(rest[0]).snapshot(rest[1]))
    elif command == "restore":
        asyncio.run(WorkspaceStore(rest[0]).restore(rest[2], rest[1]))
    else:
        asyncio.run(swing(WorkspaceStore(rest[0]), rest[1], list(rest[2:])))


if __name__ == "__main__":
    main(*sys.argv[1:])
