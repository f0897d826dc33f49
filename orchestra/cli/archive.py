"""``orchestra archive``: what is kept to be found by its meaning."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from orchestra.cli.options import Cluster, Json

if TYPE_CHECKING:
    from orchestra.core.passages import Page, Passage, PassageHit
    from orchestra.memory.passages import Passages

T = TypeVar("T")
app = typer.Typer(help="What is kept to be found by its meaning: add, search, list, delete.", no_args_is_help=True)

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Whose archive.")]
User = Annotated[str | None, typer.Option("--user", help="Of this user; left out: the agent's own.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; give it several times for several.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="The next page: what the page before ended with.")]


@app.command()
def add(
    agent: Agent,
    text: Annotated[str, typer.Argument(help="The passage; - reads it from standard input.")],
    tag: Tags = None,
    user: User = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Add a passage. Its vector is made at the next search."""
    import sys
    from dataclasses import asdict

    from orchestra.cli.console import out, print_json

    content = sys.stdin.read() if text == "-" else text
    made = with_passages(cluster, lambda passages: passages.insert(agent, content, tag, user_id=user))
    if json:
        print_json(asdict(made))
    else:
        out().print(f"added {made.id} to the archive of {agent}" + (f" for {user}" if user else ""))


@app.command()
def search(
    agent: Agent,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    tag: Tags = None,
    all_tags: Annotated[bool, typer.Option("--all-tags", help="With all of the tags, not any of them.")] = False,
    user: User = None,
    since: Annotated[str | None, typer.Option(help="Added on this date or later, such as 2026-03-31.")] = None,
    until: Annotated[str | None, typer.Option(help="Added until this date; the day is included.")] = None,
    limit: Limit = 10,
    cursor: Cursor = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Search the agent's own passages, and those of a user: by meaning where a model is installed, else by words."""
    from dataclasses import asdict

    from orchestra.cli import archive_screen
    from orchestra.cli.console import out, print_json

    async def look(passages: Passages) -> Page[PassageHit]:
        await passages.known(agent)
        return await passages.search(
            *(agent, query, tag, limit),
            tag_match_mode="all" if all_tags else "any",
            user_id=user,
            start_date=since,
            end_date=until,
            cursor=cursor,
        )

    found = with_passages(cluster, look)
    if json:
        print_json({"results": [asdict(hit) for hit in found], "cursor": found.cursor})
    else:
        archive_screen.show_hits(found, out())


@app.command("list")
def list_(
    agent: Agent,
    user: User = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """List the agent's own passages, or those of one of its users; the newest first."""
    from dataclasses import asdict

    from orchestra.cli import archive_screen
    from orchestra.cli.console import out, print_json

    async def look(passages: Passages) -> Page[Passage]:
        await passages.known(agent)
        return await passages.list(agent, user_id=user, limit=limit, cursor=cursor)

    found = with_passages(cluster, look)
    if json:
        print_json({"passages": [asdict(one) for one in found], "cursor": found.cursor})
    else:
        archive_screen.show_list(found, out())


@app.command()
def delete(
    passage: Annotated[str, typer.Argument(metavar="ID", help="The passage's id.")],
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Delete a passage."""
    from orchestra.cli.console import out, print_json
    from orchestra.core.errors import UnknownName

    if not with_passages(cluster, lambda passages: passages.delete(passage)):
        raise UnknownName("passage", passage)
    if json:
        print_json({"deleted": passage})
    else:
        out().print(f"deleted {passage}")


@app.command()
def reindex(cluster: Cluster = None, json: Json = False) -> None:
    """Make all vectors of the namespace anew with the model that the cluster file names."""
    from orchestra.cli.console import out, print_json

    async def work(passages: Passages) -> tuple[int, str]:
        embedder = await passages.archive.embeddings.embedder()  # type: ignore[attr-defined]
        return await passages.reindex(), "" if embedder is None else embedder.name

    count, model = with_passages(cluster, work)
    if json:
        print_json({"passages": count, "model": model or None})
    elif model:
        out().print(f"made the vectors of {count} passages with {model}")
    else:
        out().print("there is no embedding model here, so there are no vectors to make; see orchestra doctor")


def with_passages(cluster: Path | None, work: Callable[[Passages], Awaitable[T]]) -> T:
    """What ``work`` gives with the archive, searched within this process."""
    from orchestra.cli.opened import with_store
    from orchestra.cli.places import cluster_of
    from orchestra.memory.passages import Passages
    from orchestra.memory.search.archive import LocalArchive
    from orchestra.store.connection import Store

    embeddings = cluster_of(cluster).embeddings

    async def command(store: Store) -> T:
        archive = await LocalArchive.open(store, embeddings)
        try:
            return await work(Passages(store, archive))
        finally:
            await archive.close()

    return with_store(cluster, command)
