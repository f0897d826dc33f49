"""Definitions of agents in Redis, and which blocks each agent has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from orchestra.core.blocks import Access
from orchestra.core.errors import UnknownBlock, UnknownName
from orchestra.store.connection import Store

# declared: by the definition; attached: by a developer; detached: declared, but a developer took it away
Kind: TypeAlias = Literal["declared", "attached", "detached"]
VERSION = "@version"


@dataclass(frozen=True, slots=True)
class Attachment:
    """One block of an agent. ``ref`` is a block id, or ``@scope:label`` for a block that each owner has one of."""

    ref: str
    order: int
    access: Access
    kind: Kind

    def to_text(self) -> str:
        """As the store keeps it."""
        return f"{self.order} {self.access} {self.kind}"


@dataclass(frozen=True, slots=True)
class Attachments:
    """All blocks of an agent, in order, and the version of the list (it grows with every change)."""

    version: str
    items: tuple[Attachment, ...]

    @property
    def shown(self) -> tuple[Attachment, ...]:
        """Those that stand in the prompt."""
        return tuple(item for item in self.items if item.kind != "detached")


def attachments_from(fields: Mapping[str, str]) -> Attachments:
    """The list from its hash."""
    items = []
    for ref, text in fields.items():
        if ref != VERSION:
            order, access, kind = text.split(" ")
            items.append(Attachment(ref, int(order), cast("Access", access), cast("Kind", kind)))
    return Attachments(fields.get(VERSION, "0"), tuple(sorted(items, key=lambda item: (item.order, item.ref))))


class DefinitionStore:
    """Typed functions over definitions and attachments."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def attachments(self, agent: str) -> Attachments:
        """The agent's blocks as they are now."""
        return attachments_from(await self.store.fields(self.store.keys.attach(agent)))

    async def put(self, name: str, text: str, digest: str, declared: Sequence[tuple[str, Access]]) -> bool:
        """Store a definition with the refs that it declares, in order; whether anything changed.

        What a developer attached or detached by hand stays. Two registrations at once: the second one sees that the
        list moved and computes its change again.
        """
        k = self.store.keys
        now = Attachments("0", ())  # right for a new name and for an unchanged definition; else looked up below
        while True:
            by_hand = {item.ref: item for item in now.items if item.kind != "declared"}
            old = [item.ref for item in now.items if item.kind == "declared"]
            new = [
                Attachment(ref, i, access, "declared") for i, (ref, access) in enumerate(declared) if ref not in by_hand
            ]
            answer = await self.store.run(
                "define",
                [
                    *(k.definition(name), k.attach(name), k.agents),
                    *(k.users(ref) for ref in old),
                    *(k.users(item.ref) for item in new),
                ],
                [
                    *(name, text, digest, now.version, len(old)),
                    *old,
                    *(part for item in new for part in (item.ref, item.to_text())),
                ],
            )
            if answer[0] != "STALE":
                return answer[0] == "OK"
            now = await self.attachments(name)

    async def get(self, name: str) -> tuple[str, str]:
        """(JSON, hash) of a definition. Raises :class:`UnknownName`."""
        found = cast(
            "list[str | None]", await self.store.read("HMGET", self.store.keys.definition(name), "json", "hash")
        )
        if found[0] is None:
            raise UnknownName("agent", name, await self.names())
        return found[0], str(found[1])

    async def names(self) -> list[str]:
        """All defined names, sorted."""
        return sorted(cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.agents)))

    async def change(
        self, agent: str, operation: Literal["attach", "detach"], item: Attachment, block_id: str, seen: str
    ) -> bool:
        """Attach or detach one block on the list version ``seen``; False when the list moved meanwhile.

        Raises:
            UnknownBlock: no such block, or not attached.
            UnknownName: no such agent.
        """
        k = self.store.keys
        text = "" if operation == "detach" and item.kind == "attached" else item.to_text()
        answer = await self.store.run(
            "attach",
            [k.attach(agent), k.users(item.ref), k.block(block_id), k.definition(agent)],
            [operation, agent, item.ref, seen, text],
        )
        if answer[0] == "UNKNOWN":
            raise UnknownBlock(item.ref, [other.ref for other in (await self.attachments(agent)).items])
        if answer[0] == "NOAGENT":
            raise UnknownName("agent", agent, await self.names())
        return answer[0] != "STALE"

    async def users(self, ref: str) -> list[str]:
        """The agents that a block or scoped label is attached to, sorted."""
        return sorted(cast("set[str]", await self.store.read("SMEMBERS", self.store.keys.users(ref))))

    async def delete(self, name: str, seen: Attachments, blocks: Mapping[str, str]) -> bool:
        """Forget a definition, its attachments and what its passes have worked through; twice is fine.

        Of ``blocks`` (id → the ref by which agents declare it, or the id again) those go that no other agent has, in
        the same step. Its sessions stay. False: the attachments are not those ``seen`` any more, and nothing changed.
        """
        k, refs = self.store.keys, [item.ref for item in seen.items]
        answer = await self.store.run(
            "undefine",
            [
                *(k.definition(name), k.attach(name), k.agents, k.sources(name), k.blocks),
                *(k.users(ref) for ref in refs),
                *(key for i, ref in blocks.items() for key in (k.block(i), k.history(i), k.users(i), k.users(ref))),
            ],
            [name, seen.version, len(refs), *blocks],
        )
        return answer[0] == "OK"
