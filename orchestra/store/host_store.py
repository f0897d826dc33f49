"""Heartbeats of hosts, on the server's clock."""

from __future__ import annotations

from typing import cast

from orchestra.store.connection import Store

LIFE_MS = 10_000


class HostStore:
    """Who is alive. A host is named ``role-number@incarnation``; a restarted one is another."""

    def __init__(self, store: Store, *, life_ms: int = LIFE_MS) -> None:
        self.store, self.life_ms = store, life_ms

    async def join(self, host: str) -> None:
        """Be alive from now on."""
        await self.store.run("beat", [self.store.keys.hosts], ["join", host, self.life_ms])

    async def beat(self, host: str) -> bool:
        """Stay alive; False when this host was declared dead meanwhile: it must stop."""
        return (await self.store.run("beat", [self.store.keys.hosts], ["beat", host, self.life_ms]))[0] == "OK"

    async def leave(self, host: str) -> None:
        """Be gone; also how somebody who saw a host die frees its threads at once."""
        await self.store.run("beat", [self.store.keys.hosts], ["leave", host, 0])

    async def alive(self) -> list[str]:
        """All hosts that are alive, sorted."""
        return sorted(cast("list[str]", await self.store.run("beat", [self.store.keys.hosts], ["list", "", 0])))
