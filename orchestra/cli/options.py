"""Options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Cluster: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cluster",
        metavar="FILE",
        help="The cluster file. Default: the scenario's own; else cluster.yaml, configs/cluster.yaml or "
        "configs/clusters/local.yaml here; else the shipped one for this machine.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")]
Inline: TypeAlias = Annotated[bool, typer.Option("--inline", envvar="ORCHESTRA_INLINE", help="No Ray: one process.")]
SessionId: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
SessionAgent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", help="Whose, when several agents have the session.")
]
