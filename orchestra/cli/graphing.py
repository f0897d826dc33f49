"""``orchestra graph``: the graphs, swarms and teams of a scenario as drawings, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Json
from orchestra.cli.places import scenario_path

if TYPE_CHECKING:
    from orchestra.cli.drawings import Drawing


def graph(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped one: report.")],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Only the Mermaid text, to put into a page.")] = False,
    json: Json = False,
) -> None:
    """Draw what a scenario runs: for the terminal, and as Mermaid text.

    Nodes that nothing leads to and loops without a bound are named. Exit code 2 when something is wrong with the file.
    """
    from orchestra.cli.console import print_json
    from orchestra.cli.drawings import drawings
    from orchestra.core.errors import ConfigErrors

    drawn, faults = drawings(scenario_path(scenario))
    if json:
        told = [{key: getattr(fault, key) for key in ("file", "line", "field", "problem", "hint")} for fault in faults]
        print_json({"ok": not faults, "drawings": [one.to_json() for one in drawn], "faults": told})
    else:
        _show(drawn, only_mermaid=mermaid)
    if faults:
        raise faults[0] if len(faults) == 1 else ConfigErrors(faults)


def _show(drawn: tuple[Drawing, ...], *, only_mermaid: bool) -> None:
    from rich.text import Text

    from orchestra.cli.console import out, print_indented

    console = out()
    for i, one in enumerate(drawn):
        if only_mermaid:
            print(one.mermaid, end="" if i == len(drawn) - 1 else "\n")
            continue
        if i:
            console.print()
        for line in one.terminal.rstrip("\n").split("\n"):
            style = "bold" if line == one.terminal.split("\n")[0] else "red" if line.startswith("! ") else ""
            print_indented(console, Text(line, style), left=0, hang=8)
        console.print()
        console.print(Text("as Mermaid", "dim"))
        print(one.mermaid, end="")
