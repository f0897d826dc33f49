"""``orchestra watch``: events as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster

if TYPE_CHECKING:
    from orchestra.store.connection import Store


def watch(
    session: Annotated[str | None, typer.Option(help="Only turns and passes of this session.")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many events.")] = None,
    cluster: Cluster = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object to a line, as they happen.")] = False,
) -> None:
    """Show turns, passes and edits of blocks as they happen, on every host, until Ctrl-C."""
    from orchestra.cli.console import err, out
    from orchestra.cli.event_screen import event_line
    from orchestra.cli.opened import with_store
    from orchestra.core.jsontext import dumps
    from orchestra.core.names import split_thread
    from orchestra.store.event_store import EventFeed

    async def follow(store: Store) -> None:
        feed, left, console = EventFeed(store), count, out()
        try:
            last = await feed.latest()
            if not json:
                err().print(f"watching namespace {store.keys.namespace}; Ctrl-C ends it", style="dim")
            async for event in feed.follow(last):
                if session is not None and split_thread(event.get("thread", ""))[1] != session:
                    continue
                if json:
                    print(dumps(event), flush=True)
                else:
                    console.print(event_line(event), soft_wrap=True)
                if left is not None and (left := left - 1) == 0:
                    return
        finally:
            await feed.close()

    with_store(cluster, follow)
