"""``orchestra doctor``: what is here, what is missing and how to get it."""

from __future__ import annotations

import typer

from orchestra.cli.options import Cluster, Json

MARKS = {"fine": ("✓", "green"), "note": ("!", "yellow"), "broken": ("✗", "red")}


def doctor(cluster: Cluster = None, json: Json = False) -> None:
    """Say what is here, what is missing and how to get it. Exit code 1 when something needed is broken."""
    from dataclasses import asdict

    from rich.text import Text

    from orchestra.cli.console import out, print_indented, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cli.places import cluster_file, cluster_of
    from orchestra.cluster.doctor import examine

    findings = run_async(examine(cluster_of(cluster)))
    broken = any(one.state == "broken" for one in findings)
    if json:
        print_json({"ok": not broken, "findings": [asdict(one) for one in findings]})
    else:
        console = out()
        print_indented(console, Text(f"cluster file {cluster_file(cluster) or 'none; built-in values'}", "dim"), left=0)
        for one in findings:
            mark, style = MARKS[one.state]
            line = Text.assemble((f"{mark} ", style), (f"{one.name:<13}", "bold"), one.text)
            print_indented(console, line, left=0, hang=15)
            if one.hint:
                print_indented(console, Text(one.hint, "dim"), left=15)
    if broken:
        raise typer.Exit(1)
