"""``orchestra blocks``: what agents remember, where it came from, and changing it by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Json
from orchestra.core.errors import InputError

if TYPE_CHECKING:
    from orchestra.core.blocks import BlockView
    from orchestra.store.connection import Store

app = typer.Typer(help="What agents remember: list, show, change, and where each line came from.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="BLOCK", help="A block's id, or its label when only one block has it.")]


@app.command("list")
def list_(
    label: Annotated[str | None, typer.Option(help="Only blocks with this label.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only blocks of this agent, in the order of its prompt.")] = None,
    user: Annotated[str | None, typer.Option(help="With --agent: whose blocks of scope user.")] = None,
    session: Annotated[str | None, typer.Option(help="With --agent: of which session.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only blocks with one of these tags.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """List blocks."""
    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import list_blocks

    found = with_store(
        cluster,
        lambda store: list_blocks(store, label=label, agent=agent, user_id=user, session_id=session, tags=tag or ()),
    )
    if json:
        print_json([block.model_dump(mode="json") for block in found])
    else:
        block_screen.show_list(found, out())


@app.command()
def show(name: Name, cluster: Cluster = None, json: Json = False) -> None:
    """Show a block: its text, limit, version, and the agents that have it in their prompts."""
    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks

    async def look(store: Store) -> tuple[BlockView, list[str]]:
        blocks = Blocks(store)
        block = await find_block(blocks, name)
        return block, list(await blocks.agents(block.id))

    block, agents = with_store(cluster, look)
    if json:
        print_json({**block.model_dump(mode="json"), "agents": agents})
    else:
        block_screen.show_block(block, agents, out())


@app.command("set")
def set_(
    name: Name,
    value: Annotated[str | None, typer.Argument(help="The new text; - reads it from standard input.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Read the new text from a file.")] = None,
    limit: Annotated[int | None, typer.Option(help="How many characters it may hold.")] = None,
    description: Annotated[str | None, typer.Option(help="What belongs in it; the agent reads this.")] = None,
    read_only: Annotated[bool | None, typer.Option("--read-only/--writable", help="Who may change it.")] = None,
    version: Annotated[int | None, typer.Option("--version", help="Only if the block is at this version.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Change a block: its text, limit, description, or who may write it."""
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks

    text = _text(value, file)
    if all(item is None for item in (text, limit, description, read_only)):
        raise InputError("nothing to set: give a text, --file, --limit, --description, --read-only or --writable")

    async def write(store: Store) -> tuple[BlockView, BlockView]:
        blocks = Blocks(store)
        before = await find_block(blocks, name)
        after = await blocks.update(
            before.id, value=text, limit=limit, description=description, read_only=read_only, expected_version=version
        )
        return before, after

    _written(*with_store(cluster, write), json=json)


@app.command()
def log(name: Name, cluster: Cluster = None, json: Json = False) -> None:
    """List the versions of a block, newest last: when, by whom, by which run or pass."""
    from dataclasses import asdict

    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks
    from orchestra.store.block_store import Version

    async def look(store: Store) -> list[Version]:
        blocks = Blocks(store)
        return list(await blocks.log((await find_block(blocks, name)).id))

    versions = with_store(cluster, look)
    if json:
        print_json([asdict(one) for one in versions])
    else:
        block_screen.show_log(versions, out())


@app.command()
def blame(name: Name, cluster: Cluster = None, json: Json = False) -> None:
    """Show each line of a block with the edit that wrote it and the messages it came from."""
    from dataclasses import asdict

    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks
    from orchestra.memory.lineage import BlameLine

    async def look(store: Store) -> list[BlameLine]:
        blocks = Blocks(store)
        return list(await blocks.blame((await find_block(blocks, name)).id))

    lines = with_store(cluster, look)
    if json:
        print_json([asdict(line) for line in lines])
    else:
        block_screen.show_blame(lines, out())


@app.command()
def diff(
    name: Name,
    before: Annotated[int | None, typer.Argument(help="A version; left out: the one before the last.")] = None,
    after: Annotated[int | None, typer.Argument(help="A later version; left out: the last one.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of a block."""
    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks

    async def look(store: Store) -> tuple[int, int, str]:
        blocks = Blocks(store)
        block = await find_block(blocks, name)
        last = block.version if after is None else after
        first = max(1, last - 1) if before is None else before
        return first, last, await blocks.diff(block.id, first, last)

    first, last, text = with_store(cluster, look)
    if json:
        print_json({"before": first, "after": last, "diff": text})
    else:
        block_screen.show_versions(first, last, text, out())


@app.command()
def revert(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="Go back to this version.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Undo what this run or pass did.")] = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Go back to a version, or undo one run or pass. That is a new version; the history stays."""
    from orchestra.cli.opened import with_store
    from orchestra.memory.block_lookup import find_block
    from orchestra.memory.blocks import Blocks

    if (version is None) == (run is None):
        raise InputError("give either --version or --run (orchestra blocks log shows both)")

    async def write(store: Store) -> tuple[BlockView, BlockView]:
        blocks = Blocks(store)
        before = await find_block(blocks, name)
        return before, await blocks.revert(before.id, version=version, run=run)

    _written(*with_store(cluster, write), json=json)


def _written(before: BlockView, after: BlockView, *, json: bool) -> None:
    from orchestra.cli import block_screen
    from orchestra.cli.console import out, print_json
    from orchestra.memory.lineage import diff as diff_of

    if json:
        print_json(after.model_dump(mode="json"))
        return
    text = diff_of(before.value, after.value)
    block_screen.show_versions(before.version, after.version, text, out(), label=after.label)


def _text(value: str | None, file: Path | None) -> str | None:
    if file is not None:
        if value is not None:
            raise InputError("give the text or --file, not both")
        try:
            return file.read_text(encoding="utf-8").removesuffix("\n")
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{file}: it is not UTF-8 text") from None
    return sys.stdin.read().removesuffix("\n") if value == "-" else value
