"""What does the work of a pass in an experiment: the runtime's own consolidators, and those that know the gold."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.model import Usage
from orchestra.experiments.experiment import ConsolidatorName
from orchestra.experiments.workloads import Dialogue
from orchestra.models.registry import resolve
from orchestra.sleeptime.extractive_consolidator import ExtractiveConsolidator
from orchestra.sleeptime.llm_consolidator import LlmConsolidator
from orchestra.sleeptime.work import Consolidator, Work

LABEL = "memory"


def consolidator_of(name: ConsolidatorName, dialogue: Dialogue, model: str) -> Consolidator:
    """The consolidator of that name, for passes over ``dialogue``."""
    if name == "gold":
        return GoldConsolidator(dialogue)
    if name == "replay":
        return ReplayConsolidator(dialogue)
    if name == "llm":
        return LlmConsolidator(resolve(model))
    return ExtractiveConsolidator(supersede=name == "extractive")


class GoldConsolidator:
    """Writes down exactly what is true; of what does not fit, the newest. The ceiling of a block."""

    name = "gold"

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue

    async def consolidate(self, work: Work) -> Usage:
        """The facts that are true at the end of the transcript, the oldest first."""
        turn = work.transcript.upto_turn
        true = [one for one in self._dialogue.questions if one.is_fact and one.kind != "derived" and one.true_at(turn)]
        lines = [(one.line or f"{one.text} {one.answer}", one.evidence) for one in true]
        await work.rewrite(LABEL, _newest(sorted(lines, key=lambda line: line[1][-1]), work.blocks[0].limit))
        return Usage()


class ReplayConsolidator:
    """Adds the data set's own notes on the messages that a pass reads; of what does not fit, the newest stay."""

    name = "replay"

    def __init__(self, dialogue: Dialogue) -> None:
        self._notes = dialogue.observations

    async def consolidate(self, work: Work) -> Usage:
        """The lines as they were, and the notes whose last message is in the transcript."""
        read = {message.meta.seq for message in work.transcript.messages}
        known = work.known_sources.get(LABEL, {})
        lines = [(text, known.get(text, ())) for text in work.blocks[0].value.split("\n") if text]
        there = {text for text, _ in lines}
        for note in self._notes:
            text = note.text.replace("\n", " ")
            if note.sources[-1] in read and text not in there:
                there.add(text)
                lines.append((text, note.sources))
        await work.rewrite(LABEL, _newest(lines, work.blocks[0].limit))
        return Usage()


def _newest(lines: Sequence[tuple[str, tuple[int, ...]]], limit: int) -> list[tuple[str, tuple[int, ...]]]:
    kept: list[tuple[str, tuple[int, ...]]] = []
    size = -1
    for text, sources in reversed(lines):
        size += len(text) + 1
        if size > limit:
            break
        kept.append((text, sources))
    return kept[::-1]
