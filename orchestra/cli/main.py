"""The command ``orchestra``: one application made of the command groups, and how every command ends."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Annotated

import typer

from orchestra.cli import archive, blocks, runs, sessions
from orchestra.cli.chatting import chat
from orchestra.cli.checking import doctor
from orchestra.cli.context import context
from orchestra.cli.ending import ended_by
from orchestra.cli.graphing import graph
from orchestra.cli.launching import down, status, up
from orchestra.cli.playing import run
from orchestra.cli.starting import init
from orchestra.cli.tuning import tune
from orchestra.cli.watching import watch

app = typer.Typer(
    name="orchestra",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and end, when it is asked for."""
    if wanted:
        try:
            print(f"orchestra {installed_version('orchestra-runtime')}")
        except PackageNotFoundError:
            print("orchestra, not installed")
        raise typer.Exit


@app.callback()
def orchestra(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """A multi-agent runtime with shared memory: agents on Ray, memory in Redis, tidied in the background."""


for command in (doctor, init, up, status, down, run, chat, graph, tune):
    app.command()(command)
app.add_typer(archive.app, name="archive")
app.add_typer(blocks.app, name="blocks")
app.add_typer(sessions.app, name="sessions")
app.add_typer(runs.app, name="runs")
app.command()(context)
app.command()(watch)


def main() -> None:
    """Run the command line and exit: 0 done, 1 the work failed, 2 the input is wrong, 130 interrupted."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        code = ended_by(error)
        if isinstance(error, BrokenPipeError):
            # Whoever read our output has gone; the interpreter must not try to flush what is left.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
