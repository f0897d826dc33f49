"""All sessions of a namespace: listing them, and forgetting one with the blocks that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestra.core.blocks import BlockView, Scope
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.names import check_session, split_thread
from orchestra.memory.blocks import Blocks
from orchestra.memory.scopes import scoped_id, split_ref
from orchestra.memory.sessions import Session
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
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
            await forget_ended(store, thread)
    out = []
    for thread, used in await threads.threads(limit):
        agent, session_id = split_thread(thread)
        if not (head := await threads.head(thread)):
            continue  # it ended a moment ago
        count = int(str(await store.read("LLEN", store.keys.log(thread))))
        slept = int(head.get("watermark_turn", 0))
        out.append(SessionView(session_id, agent, head.get("user", ""), int(head.get("turn", 0)), count, slept, used))
    return out


async def forget_ended(store: Store, thread: str) -> bool:
    """Take a session that has ended by its time to live out of the lists, with its own blocks.

    False: it is there again, and nothing was changed.
    """
    agent, session_id = split_thread(thread)
    attached = await DefinitionStore(store).attachments(agent)
    labels = [found[1] for item in attached.items if (found := split_ref(item.ref)) and found[0] == "session"]
    ids = [scoped_id("session", label, session_id) for label in labels]
    return await ThreadStore(store).forget(thread, ids)


async def delete_session(
    store: Store, session: Session, *, user_id: str | None = None, scopes: Sequence[Scope] = ("session",)
) -> list[BlockView]:
    """Delete a session of one agent, its snapshots and its blocks of ``scopes``; the blocks that went. Twice is fine.

    A block of scope session goes only with the last agent that has the session; one of scope user is ``user_id``'s,
    whichever agents show it.
    """
    threads, blocks, snapshots = ThreadStore(store), Blocks(store), SnapshotStore(store)
    await threads.delete(session.thread)
    await snapshots.delete(await snapshots.of_thread(session.thread))
    others = await threads.agents_of(session.session_id)
    gone = []
    for block in await blocks.list(agent=session.agent, session_id=session.session_id, user_id=user_id):
        if block.scope in scopes and not (block.scope == "session" and others):
            await blocks.delete(block.id)
            gone.append(block)
    return gone


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
