"""What a reader of an experiment's results must know beside the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.experiments.experiment import Experiment
from orchestra.experiments.running import Trial
from orchestra.experiments.trial_record import TrialRecord

#: Of fewer conversations a workload says little about others.
FEW = 3


def notes(experiment: Experiment, trials: Sequence[Trial], records: Sequence[TrialRecord]) -> list[str]:
    """Sentences; none when there is nothing to say."""
    out = []
    if len(records) < len(trials):
        why = "the cap on spending was reached" if experiment.search == "grid" else "the searcher chose not to"
        out.append(f"{len(trials) - len(records)} of {len(trials)} trials were not played: {why}.")
    longest = max((every for every in experiment.every if every is not None), default=0)
    if experiment.every and any(window >= longest for window in experiment.window):
        wide = f"a window of {max(experiment.window)} turns holds all that a pass every {longest} turns has not read"
        out.append(f"In block and window together the arms look alike: {wide}.")
    played = {(trial.dialogue.workload, trial.dialogue.case) for trial in trials}
    few = [one.label for one in experiment.workloads if sum(name == one.label for name, _ in played) < FEW]
    if few:
        out.append(
            f"Fewer than {FEW} conversations of {', '.join(few)}: the intervals are over questions and do not tell how"
            " much conversations differ."
        )
    silver = [one.label for one in experiment.workloads if one.dataset == "transcript"]
    if silver:
        out.append(
            f"The facts of {', '.join(silver)} are the lines that extractive passes after every turn make: they tell"
            " what is late, not what is overlooked, and every 1 with extractive is right by definition."
        )
    return out
