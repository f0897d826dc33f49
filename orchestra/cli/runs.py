"""``orchestra runs``: what is being worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Json
from orchestra.cli.resuming import cancel, resume
from orchestra.core.errors import RunNotFound

if TYPE_CHECKING:
    from orchestra.cli.run_tree import TreeItem
    from orchestra.store.connection import Store
    from orchestra.store.run_store import StoredRun

app = typer.Typer(
    help="Runs that are being worked on or wait for an answer, and those that have just ended.", no_args_is_help=True
)
app.command()(resume)
app.command()(cancel)


@app.command("list")
def list_(
    cluster: Cluster = None,
    json: Json = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Those that have ended too, as far as they are remembered.")
    ] = False,
) -> None:
    """List the runs that have not ended: those that are worked on, and those that wait for an answer."""
    from dataclasses import asdict

    from orchestra.cli.block_screen import moment
    from orchestra.cli.console import out, plain_table, print_json, print_table
    from orchestra.cli.opened import with_store
    from orchestra.core.names import split_thread
    from orchestra.store.run_store import RunStore

    async def look(store: Store) -> list[StoredRun]:
        runs = RunStore(store)
        return [*await runs.live(), *(await runs.ended() if all_ else ())]

    runs = with_store(cluster, look)
    if json:
        print_json([asdict(run) for run in runs])
        return
    console = out()
    if not runs:
        console.print("nothing is being worked on")
        return
    table = plain_table("run", "status", "agent", "session", "host", "since", whole=("run",))
    for run in runs:
        table.add_row(
            run.run_id, run.outcome or run.status, *split_thread(run.thread), run.host, moment(run.started_at)
        )
    print_table(console, table)


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Show a run, with what happened below it as a tree; it is remembered for 15 minutes after its end."""
    from dataclasses import asdict

    from rich.text import Text

    from orchestra.cli.console import out, print_indented, print_json, width_of
    from orchestra.cli.opened import with_store
    from orchestra.cli.run_record import stored_tree
    from orchestra.cli.tree_lines import tree_lines
    from orchestra.cluster.scenario.report import as_text
    from orchestra.core.jsontext import loads
    from orchestra.core.names import split_thread
    from orchestra.store.run_store import RunStore

    async def look(store: Store) -> tuple[StoredRun, str | None, TreeItem]:
        runs = RunStore(store)
        found = await runs.get(run)
        if found is None:
            raise RunNotFound(run)
        return found, await runs.answer(run), await stored_tree(store, found)

    found, answer, tree = with_store(cluster, look)
    result = loads(answer) if answer else None
    if json:
        print_json({**asdict(found), "result": result, "tree": tree.to_json()})
        return
    console, (agent, session) = out(), split_thread(found.thread)
    facts: dict[str, object] = {
        "run": found.run_id,
        "agent": agent,
        "session": session,
        "status": found.outcome or found.status,
    }
    if result:
        facts |= {"turn": result["turn"] or None, "answer": as_text(result["output"]), "error": result["error"]}
    for name, value in facts.items():
        if value not in ("", None):
            print_indented(console, Text.assemble((f"{name:<9}", "dim"), str(value)), left=0, hang=9)
    if found.status == "interrupted" and result:
        from orchestra.cli.answering import how_to_resume
        from orchestra.core.result import RunResult

        for text in how_to_resume(RunResult.from_json(result), needs_state=found.needs_invocation_state):
            print_indented(console, Text(text, "yellow"), left=0, hang=2)
    if tree.items:
        console.print()
        for line in tree_lines(tree, width_of(console), seconds=lambda item: item.seconds):
            console.print(line, soft_wrap=True)
