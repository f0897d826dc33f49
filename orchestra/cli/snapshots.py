"""``orchestra sessions fork|snapshot|snapshots|restore``: a session as it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Json, SessionAgent, SessionId

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orchestra.memory.sessions import Session
    from orchestra.memory.snapshots import Restored, Snapshots, SnapshotView
    from orchestra.store.connection import Store

SnapshotId = Annotated[str, typer.Argument(metavar="SNAPSHOT", help="The snapshot's id, as `snapshots` lists it.")]


def fork(
    session: SessionId,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new session.")],
    turn: Annotated[int, typer.Option("--turn", min=0, help="The last turn that it has; 0: none.")],
    agent: SessionAgent = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Make a new session that begins as this one was after a turn, with the state of then."""
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session

    async def branch(store: Store) -> Session:
        return await (await known_session(store, session, agent)).fork(turn, new)

    made = with_store(cluster, branch)
    if json:
        print_json({"session": made.session_id, "agent": made.agent, "from": session, "turn": turn})
    else:
        out().print(f"session {made.session_id} of {made.agent} begins as {session} was after turn {turn}")


def snapshot(
    session: SessionId,
    agent: SessionAgent = None,
    ttl: Annotated[str | None, typer.Option(help="How long it is kept, such as 30d; else as the cluster says.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Keep a session as it is now: messages, state, blocks, and the files of its workspace."""
    from dataclasses import asdict

    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session

    seconds = None if ttl is None else _seconds(ttl)

    async def keep(store: Store) -> SnapshotView:
        found = await known_session(store, session, agent)
        snapshots = _snapshots(store, cluster)
        return await snapshots.get(await snapshots.make(found.thread, ttl=seconds))

    made = with_store(cluster, keep)
    if json:
        print_json(asdict(made))
    else:
        session_screen.show_snapshots([made], out())


def snapshots(session: SessionId, agent: SessionAgent = None, cluster: Cluster = None, json: Json = False) -> None:
    """List the snapshots of a session, oldest first. Of one that has ended, name the agent."""
    from dataclasses import asdict

    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session
    from orchestra.memory.sessions import Session

    async def look(store: Store) -> Sequence[SnapshotView]:
        found = await known_session(store, session, None) if agent is None else Session(store, session, agent)
        return await _snapshots(store, cluster).of_thread(found.thread)

    found = with_store(cluster, look)
    if json:
        print_json([asdict(one) for one in found])
    else:
        session_screen.show_snapshots(found, out())


def restore(
    snapshot: SnapshotId,
    blocks: Annotated[
        str, typer.Option(help="session: the session's own blocks; all: every block of then; none: no block.")
    ] = "session",
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Bring a session back to a snapshot, and tell what changed. Refused while a run works on it."""
    from dataclasses import asdict

    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store

    async def back(store: Store) -> Restored:
        return await _snapshots(store, cluster).restore(snapshot, blocks=blocks)  # type: ignore[arg-type]

    done = with_store(cluster, back)
    if json:
        print_json({**asdict(done), "folder": None if done.folder is None else str(done.folder)})
    else:
        session_screen.show_restored(done, out())


def _snapshots(store: Store, cluster: Path | None) -> Snapshots:
    from orchestra.cli.places import cluster_of
    from orchestra.memory.snapshots import Snapshots
    from orchestra.memory.workspace import WorkspaceStore

    config = cluster_of(cluster)
    return Snapshots(store, WorkspaceStore.of(config), ttl=config.snapshots.ttl)


def _seconds(text: str) -> float:
    from pydantic import TypeAdapter, ValidationError

    from orchestra.core.durations import Seconds
    from orchestra.core.errors import InputError

    try:
        return TypeAdapter(Seconds).validate_python(text)
    except ValidationError:
        raise InputError(f"--ttl {text!r}: give seconds, or a number with s, m, h or d behind it") from None
