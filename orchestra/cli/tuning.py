"""``orchestra tune``: a sleep-time frequency experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestra.cli.options import Json


def tune(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="An experiment file, or the name of a shipped one: quick.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results, plots and the report go.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the experiment in DIR.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, whatever a provider will cost.")] = False,
    json: Json = False,
) -> None:
    """Find out how often memory should sleep: arms on the same conversations, a table, plots and a recommendation.

    A run that was killed goes on with --resume.
    """
    import importlib.util

    from orchestra.core.errors import InputError

    if importlib.util.find_spec("numpy") is None:
        raise InputError("experiments need the extra tune: pip install 'orchestra-runtime[tune]'")
    from orchestra.cli import tune_screen
    from orchestra.cli.console import err, print_json
    from orchestra.cli.console import out as stdout
    from orchestra.cli.places import experiment_path
    from orchestra.experiments.experiment_file import load_experiment
    from orchestra.experiments.tuning import tune as run

    loaded = load_experiment(experiment_path(experiment))
    console = err()

    def agree(money: float) -> bool:
        return yes or typer.confirm(f"This will cost about {money:.2f} by its price list. Go on?", err=True)

    with tune_screen.TuneScreen(console) as screen:
        tuned = run(loaded, out, resume=resume, tell=screen.tell, agree=agree)
    if json:
        print_json(tuned.to_json())
    else:
        tune_screen.show_tuned(tuned, stdout())
