"""``orchestra sessions``: what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli import snapshots
from orchestra.cli.options import Cluster, Json, SessionAgent, SessionId

if TYPE_CHECKING:
    from orchestra.core.blocks import BlockView
    from orchestra.core.messages import Message
    from orchestra.memory.sessions import Session
    from orchestra.store.connection import Store

app = typer.Typer(help="What was said: list, show, take back, branch, keep, bring back, delete.", no_args_is_help=True)

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
    count: Annotated[int, typer.Option(min=1, help="How many messages.")] = 1,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Take the last messages of a session away; what was learned from them is revised by the next pass."""
    from orchestra.cli import session_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.session_list import known_session

    async def take(store: Store) -> tuple[Session, list[Message]]:
        found = await known_session(store, session, agent)
        popped = [message for _ in range(count) if (message := await found.pop_item()) is not None]
        return found, popped[::-1]

    found, messages = with_store(cluster, take)
    if json:
        print_json([message.to_json() for message in messages])
    else:
        session_screen.show_messages(found, messages, out(), none="there was no message to take away")


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
