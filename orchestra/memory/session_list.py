"""All sessions of a namespace: listing them, and forgetting one with the blocks that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestra.core.blocks import BlockView, Scope
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.names import check_session, split_thread
from orchestra.memory.blocks import Blocks
from orchestra.memory.ended_sessions import forget_ended, session_blocks
from orchestra.memory.sessions import Session
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.snapshot_store import SnapshotStore
from orchestra.store.thread_store import ThreadStore


@dataclass(frozen=True, slots=True)
class SessionView:
    """One agent's session. ``updated_at`` is Unix seconds on the server's clock; ``turns`` counts completed ones."""

    session_id: str
    agent: str
    user: str
    turns: int
    messages: int
    slept_until: int
    updated_at: float


async def list_sessions(store: Store, *, limit: int = 100) -> list[SessionView]:
    """The sessions, last used first. ``slept_until`` is the last turn that a sleep-time pass has covered.

    Sessions whose time to live has ended leave the lists here, with their own blocks.
    """
    threads = ThreadStore(store)
    while ended := [name for name, _ in await threads.threads(limit) if not await threads.exists(name)]:
        for thread in ended:
            agent, session_id = split_thread(thread)
            await forget_ended(store, session_id, agent)
    out = []
    for thread, used in await threads.threads(limit):
        agent, session_id = split_thread(thread)
        if not (head := await threads.head(thread)):
            continue  # it ended a moment ago
        count = int(str(await store.read("LLEN", store.keys.log(thread))))
        slept = int(head.get("watermark_turn", 0))
        out.append(SessionView(session_id, agent, head.get("user", ""), int(head.get("turn", 0)), count, slept, used))
    return out


async def delete_session(
    store: Store, session: Session, *, user_id: str | None = None, scopes: Sequence[Scope] = ("session",)
) -> list[BlockView]:
    """Delete a session of one agent, its snapshots and its blocks of ``scopes``; the blocks that went. Twice is fine.

    A block of scope session goes only with the last agent that has the session; one of scope user is ``user_id``'s,
    whichever agents show it.
    """
    threads, blocks, snapshots = ThreadStore(store), Blocks(store), SnapshotStore(store)
    gone: dict[str, BlockView] = {}

    async def delete_blocks() -> None:
        others = set(await threads.agents_of(session.session_id)) - {session.agent}
        shown = await blocks.list(agent=session.agent, session_id=session.session_id, user_id=user_id)
        found = {block.id for block in shown if block.scope in scopes and block.scope != "session"}
        if "session" in scopes and not others:
            found.update(await session_blocks(store, session.session_id, session.agent))
        for block_id in sorted(found):
            if (block := await BlockStore(store).read(block_id)) is not None:
                await blocks.delete(block_id)
                gone[block_id] = block

    # The thread goes last, since by it the session is found: who dies in between leaves one that can be deleted again.
    await delete_blocks()
    await snapshots.delete(await snapshots.of_thread(session.thread))
    await threads.delete(session.thread)
    await delete_blocks()  # a turn that was at work meanwhile may have made one again
    return list(gone.values())


async def known_session(store: Store, session_id: str, agent: str | None) -> Session:
    """The session that somebody typed. Errors name what there is."""
    agents = await ThreadStore(store).agents_of(check_session(session_id))
    if not agents or (agent is not None and agent not in agents):
        every = [one.session_id for one in await list_sessions(store, limit=20)]
        name = session_id if agent is None else f"{session_id} of {agent}"
        raise UnknownName("session", name, list(dict.fromkeys(every)))
    if agent is None and len(agents) > 1:
        raise InputError(f"several agents have session {session_id!r} ({', '.join(agents)}): name one with --agent")
    return Session(store, session_id, agent or agents[0])
