"""``orchestra up``, ``status`` and ``down``: a cluster whose hosts stay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestra.cli.options import Cluster, Json

ClusterFile = Annotated[
    Path | None,
    typer.Argument(metavar="CLUSTER", help="The cluster file; left out: the one that other commands would take."),
]


def up(cluster: ClusterFile = None, json: Json = False) -> None:
    """Start or join a cluster; its hosts stay when this command ends. Running it twice changes nothing."""
    from dataclasses import asdict

    from orchestra.cli import cluster_screen
    from orchestra.cli.console import err, out, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cli.places import cluster_of
    from orchestra.cluster.launch import up as launch

    config = cluster_of(cluster)
    with cluster_screen.busy(err(), "starting Ray, Redis and hosts"):
        launched = run_async(launch(config))
    if json:
        print_json(asdict(launched))
    else:
        cluster_screen.show_launched(launched, cluster, out())


def status(cluster: Cluster = None, json: Json = False) -> None:
    """Show what is up: Ray, hosts, the server with the data, passes that wait. Starts nothing."""
    from dataclasses import asdict

    from orchestra.cli import cluster_screen
    from orchestra.cli.console import out, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cli.places import cluster_of
    from orchestra.cluster.cluster_status import status as look

    found = run_async(look(cluster_of(cluster)))
    if json:
        print_json(asdict(found))
    else:
        cluster_screen.show_status(found, out())


def down(cluster: Cluster = None, json: Json = False) -> None:
    """End what up started, and nothing else. The data stays. Twice is fine."""
    from dataclasses import asdict

    from orchestra.cli import cluster_screen
    from orchestra.cli.console import err, out, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cli.places import cluster_of
    from orchestra.cluster.teardown import down as end

    config = cluster_of(cluster)
    with cluster_screen.busy(err(), "ending hosts, Ray and Redis"):
        ended = run_async(end(config))
    if json:
        print_json(asdict(ended))
    else:
        cluster_screen.show_ended(ended, out())
