"""``orchestra run``: play a scenario."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from orchestra.cli.options import Cluster, Inline, Json
from orchestra.cli.places import scenario_path

if TYPE_CHECKING:
    from orchestra.cli.play_screen import PlayScreen
    from orchestra.cluster.scenario import PlayReport
    from orchestra.runtime.scenario_file import LoadedScenario


def run(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped one: quickstart.")],
    cluster: Cluster = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Another value for a key of the scenario, cluster.… or agents.NAME.…"
        ),
    ] = None,
    json: Json = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete the session, its blocks and the user's, and start over.")
    ] = False,
    inline: Inline = False,
) -> None:
    """Play a scenario: its turns, or, when they have been played, its follow-up questions.

    A play that was interrupted goes on where it stopped. A run that waits for an answer asks in the
    terminal. Exit code 1 when a turn fails or an expectation is missed.
    """
    from orchestra.cli.console import err, out, print_json
    from orchestra.cli.loop import run_async
    from orchestra.cli.next_steps import next_steps
    from orchestra.cli.play_screen import PlayScreen
    from orchestra.cli.play_summary import show_summary
    from orchestra.runtime.scenario_file import load_scenario

    path = scenario_path(scenario)
    loaded = load_scenario(path, overrides=set_ or [], cluster=cluster)
    with PlayScreen(err(), ray=not inline) as screen:
        report = run_async(_play(loaded, screen, fresh=fresh, inline=inline))
    steps = next_steps(report, given=scenario, cluster=cluster, inline=inline, overrides=set_ or ())
    if json:
        print_json({**report.to_json(), "next": [step.command for step in steps]})
    else:
        show_summary(report, steps, out())
    if not report.ok:
        raise typer.Exit(1)


async def _play(loaded: LoadedScenario, screen: PlayScreen, *, fresh: bool, inline: bool) -> PlayReport:
    from orchestra.cluster.runtime import Runtime
    from orchestra.cluster.scenario import ScenarioPlayer

    ask = screen.ask if sys.stdin.isatty() else None
    async with Runtime.start(loaded.cluster, inline=inline) as runtime:
        return await ScenarioPlayer(runtime, loaded, tell=screen.tell, ask=ask).play(fresh=fresh)
