"""What an experiment will cost at a provider, before it starts, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestra.core.tokens import text_tokens
from orchestra.experiments.arms import Arm
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.trial import Options, play
from orchestra.experiments.trial_record import TrialRecord
from orchestra.experiments.workloads import Dialogue

#: A model with tools takes several requests for a pass, and reads the transcript in each.
REQUESTS_PER_PASS = 4
_ANSWER_TOKENS = 20


def estimate_spending(experiment: Experiment, found: Sequence[Dialogue], all_arms: Sequence[Arm]) -> float:
    """Money, by the price list; 0 when no model of a provider works.

    Passes are counted by playing each arm once with the extractive consolidator, on the first dialogue of each
    workload, and their tokens taken times :data:`REQUESTS_PER_PASS`.
    """
    price, total = experiment.prices.sleeptime, 0.0
    first = {dialogue.workload: dialogue for dialogue in reversed(found)}
    if "llm" in experiment.consolidator:
        options = Options((), experiment.k, "extractive", "none")
        for arm in all_arms:
            if arm.consolidator == "llm" and arm.kind in ("fixed", "trigger"):
                for name, dialogue in first.items():
                    stand_in = Arm(arm.name, arm.kind, arm.trigger, "block", "extractive", arm.block_limit, arm.window)
                    cost = play(dialogue, stand_in, options).cost
                    scale = sum(one.turns for one in found if one.workload == name) / dialogue.turns
                    total += scale * price.of(REQUESTS_PER_PASS * cost.sleep_in, 2 * cost.sleep_out)
    if experiment.reader == "llm":
        for dialogue in found:
            asked = sum(0 < len(one.answer.split()) <= 5 for one in dialogue.questions if one.text)
            whole = sum(text_tokens(one.text) for one in dialogue.utterances)
            for arm in all_arms:
                read = whole if arm.memory == "full" else arm.block_limit // 4
                total += asked * price.of(read, _ANSWER_TOKENS)
    return total


class Purse:
    """What the experiment has paid to a provider."""

    def __init__(self, experiment: Experiment, before: Iterable[TrialRecord]) -> None:
        self._price, self._cap = experiment.prices.sleeptime, experiment.spending.cap
        self.spent = sum(map(self._of, before))

    @property
    def empty(self) -> bool:
        """Whether the cap is reached."""
        return self.spent >= self._cap

    def pay(self, record: TrialRecord) -> None:
        """Count a finished trial."""
        self.spent += self._of(record)

    def _of(self, record: TrialRecord) -> float:
        return self._price.of(record.cost.spent.input_tokens, record.cost.spent.output_tokens)
