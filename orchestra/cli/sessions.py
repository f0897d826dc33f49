"""``orchestra sessions``: what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from orchestra.cli import snapshots
from orchestra.cli.options import Cluster, Json, SessionAgent, SessionId

if TYPE_CHECKING:
    from orchestra.core.blocks import BlockView
    from orchestra.core.messages import Message
    from orchestra.memory.retraction import LearnedLine
    from orchestra.memory.sessions import Session
    from orchestra.store.connection import Store

    Taken: TypeAlias = tuple[Session, list[Message], list[LearnedLine]]

app = typer.Typer(
    help="What was said: list, show, take back, branch, close, keep, bring back, delete.", no_args_is_help=True
)
RevertMemory: TypeAlias = Annotated[
    bool,
    typer.Option("--revert-memory", help="Take out of the blocks what only these messages speak for, as new edits."),
]

for command in (snapshots.fork, snapshots.snapshot, snapshots.snapshots, snapshots.restore):
    app.command()(command)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, last used first.")] = 100,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """List sessions, last used first."""
    from dataclasses import asdict

    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import list_sessions

    found = with_store(cluster, lambda store: list_sessions(store, limit=limit))
    if json:
        print_json([asdict(one) for one in found])
    else:
        session_screen.show_list(found, out())


@app.command()
def show(
    session: SessionId,
    agent: SessionAgent = None,
    last: Annotated[int | None, typer.Option(min=1, help="Only the last so many messages.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Show the messages of a session."""
    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session

    async def look(store: Store) -> tuple[Session, list[Message]]:
        found = await known_session(store, session, agent)
        return found, await found.get_items(last)

    found, messages = with_store(cluster, look)
    if json:
        listed = [message.to_json() for message in messages]
        print_json({"session": found.session_id, "agent": found.agent, "messages": listed})
    else:
        session_screen.show_messages(found, messages, out())


@app.command()
def pop(
    session: SessionId,
    agent: SessionAgent = None,
    count: Annotated[int, typer.Option(min=0, help="How many messages; 0: only revert memory.")] = 1,
    revert_memory: RevertMemory = False,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Take the last messages of a session away, and tell what memory has made of them; the next pass revises that."""
    from orchestra.cli.opened import with_store
    from orchestra.core.errors import InputError
    from orchestra.memory.session_list import known_session

    if count == 0 and not revert_memory:
        raise InputError("--count 0 takes no message away; it is for --revert-memory")

    async def take(store: Store) -> Taken:
        found = await known_session(store, session, agent)
        popped = [message for _ in range(count) if (message := await found.pop_item()) is not None]
        return await _taken(store, found, popped[::-1], revert=revert_memory)

    _show_taken(*with_store(cluster, take), json=json)


@app.command()
def rewind(
    session: SessionId,
    turn: Annotated[int | None, typer.Option(min=1, help="The number of the turn; left out: the last one.")] = None,
    run: Annotated[str | None, typer.Option(help="The turn's run id in place of its number.")] = None,
    agent: SessionAgent = None,
    revert_memory: RevertMemory = False,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Take a turn and all that came after it away, with what they changed in the agent's state."""
    from orchestra.cli.opened import with_store
    from orchestra.core.errors import InputError
    from orchestra.memory.session_list import known_session

    if turn is not None and run is not None:
        raise InputError("give --turn or --run, not both")

    async def take(store: Store) -> Taken:
        found = await known_session(store, session, agent)
        return await _taken(store, found, await found.rewind(run if turn is None else turn), revert=revert_memory)

    _show_taken(*with_store(cluster, take), json=json)


async def _taken(store: Store, session: Session, messages: list[Message], *, revert: bool) -> Taken:
    from orchestra.memory.retraction import learned_from, unlearn

    # With --revert-memory all that was ever taken away: the command that named the lines has taken the messages.
    seqs = None if revert else {message.meta.seq for message in messages}
    return session, messages, await (unlearn if revert else learned_from)(store, session, seqs)


def _show_taken(session: Session, messages: list[Message], learned: list[LearnedLine], *, json: bool) -> None:
    from dataclasses import asdict

    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json

    if json:
        listed = [message.to_json() for message in messages]
        print_json({"messages": listed, "memory": [asdict(line) for line in learned]})
    else:
        session_screen.show_messages(session, messages, out(), none="no message was taken away")
        session_screen.show_learned(session, learned, out())


@app.command()
def close(session: SessionId, agent: SessionAgent = None, cluster: Cluster = None, json: Json = False) -> None:
    """Close a session: a sleep-time host leaves its summary in the archive. The next turn opens it again."""
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session
    from orchestra.store.closing_store import ClosingStore

    async def ask(store: Store) -> tuple[Session, bool]:
        found = await known_session(store, session, agent)
        return found, await ClosingStore(store).ask(found.thread)

    found, asked = with_store(cluster, ask)
    if json:
        print_json({"session": found.session_id, "agent": found.agent, "asked": asked})
    elif asked:
        out().print(f"session {found.session_id} of {found.agent} is being closed, in the background; its summary is")
        out().print("in the archive then, see orchestra archive list")
    else:
        out().print(f"session {found.session_id} of {found.agent} is closed already; nothing was said since")


@app.command()
def delete(session: SessionId, agent: SessionAgent = None, cluster: Cluster = None, json: Json = False) -> None:
    """Delete a session with its log, state, passes, snapshots and blocks of scope session. Blocks of a user stay."""
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import delete_session, known_session

    async def remove(store: Store) -> tuple[Session, list[BlockView]]:
        found = await known_session(store, session, agent)
        return found, await delete_session(store, found)

    found, blocks = with_store(cluster, remove)
    if json:
        ids = [block.id for block in blocks]
        print_json({"session": found.session_id, "agent": found.agent, "deleted_blocks": ids})
    else:
        labels = ", ".join(block.label for block in blocks) or "none"
        out().print(f"deleted session {found.session_id} of {found.agent}; blocks deleted with it: {labels}")
