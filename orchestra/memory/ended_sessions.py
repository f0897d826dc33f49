"""What a session leaves behind when it ends by its time to live: its place in the lists, and its own blocks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from orchestra.memory.scopes import scoped_id, split_ref
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.thread_store import SessionLeft, ThreadStore

T = TypeVar("T")


async def forget_ended(store: Store, session_id: str, *agents: str) -> None:
    """Take a session that has ended by its time to live out of the lists, with its own blocks.

    It is that of all agents that have it (and of ``agents``). Of one whose session is there (again) nothing changes,
    and the blocks stay as long as there is one.
    """
    threads = ThreadStore(store)
    members = sorted({*await threads.members(session_id), *agents})
    await threads.forget(session_id, members, await session_blocks(store, session_id, *members))


async def forgotten_first(store: Store, session_id: str, write: Callable[[], Awaitable[T]]) -> T:
    """``write``; when it finds that an ended session of this id has left something, that is forgotten before it.

    Else whoever takes the id next, another user perhaps, would find the blocks of the session that has ended.
    """
    while True:
        try:
            return await write()
        except SessionLeft:
            await forget_ended(store, session_id)


async def session_blocks(store: Store, session_id: str, *agents: str) -> Sequence[str]:
    """The ids that blocks of scope session have in a session, by what its agents (and ``agents``) declare.

    What an agent declared that is deleted is not known any more: then all blocks are looked through.
    """
    definitions, blocks = DefinitionStore(store), BlockStore(store)
    found: dict[str, None] = {}
    for agent in {*await ThreadStore(store).members(session_id), *agents}:
        attached = await definitions.attachments(agent)
        for item in attached.items:
            scope, label = split_ref(item.ref) or ("", "")
            if scope == "session":
                found[scoped_id("session", label, session_id)] = None
        if attached.version == "0":
            for block_id in await blocks.ids():
                block = await blocks.read(block_id)
                if block is not None and block.scope == "session" and block.owner == session_id:
                    found[block_id] = None
    return list(found)
