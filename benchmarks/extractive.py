"""Scores the extractive consolidator: ``python benchmarks/extractive.py [--data DIR]``.

Four tables. *Worlds*: facts, then facts that contradict some of them (needs ``letta_worlds_dev.jsonl``).
*Dialogues*: evidence recall of the block after long conversations (needs ``locomo_dev.json``). *Slots*: generated
conversations about invented slots. *Gold*: the short dialogues of ``tests/data/dialogues``. Sample data is looked for
in ``--data``, ``$ORCHESTRA_DATA`` and ``../shared/data`` beside the repository; a table whose data is missing is left
out with a line that says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from orchestra.experiments.workloads import Dialogue, Mark, load_letta_worlds, load_locomo, terms  # noqa: E402
from orchestra.sleeptime.extractive import Line, Said, consolidate  # noqa: E402
from tests.unit.sleeptime.dialogues import load, names, outcome, remembered  # noqa: E402
from tests.unit.sleeptime.slots import HELD_OUT, REVIEWED, TUNED, Phrases, conversation, score  # noqa: E402

Consolidate = Callable[[Sequence[Line], Sequence[Said], int], tuple[Line, ...]]


def superseding(lines: Sequence[Line], said: Sequence[Said], limit: int) -> tuple[Line, ...]:
    return consolidate(lines, said, limit=limit)


def appending(lines: Sequence[Line], said: Sequence[Said], limit: int) -> tuple[Line, ...]:
    return consolidate(lines, said, limit=limit, supersede=False)


ARMS: dict[str, Consolidate] = {"superseding": superseding, "append-only": appending}


def data_directory(named: str | None = None) -> Path | None:
    """Where the sample data is, if anywhere."""
    places = [named, os.environ.get("ORCHESTRA_DATA"), ROOT.parent / "shared" / "data"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def passes(heard: Sequence[Said], *, every: int, limit: int, run: Consolidate) -> tuple[Line, ...]:
    """The block after one pass for each ``every`` messages."""
    lines: tuple[Line, ...] = ()
    for start in range(0, len(heard), every):
        lines = run(lines, heard[start : start + every], limit)
    return lines


# --- worlds ---------------------------------------------------------------------------------------------------------


@dataclass
class WorldScore:
    """Counts of questions by what the block holds, and of facts that nothing contradicts."""

    new: int = 0
    old: int = 0
    both: int = 0
    neither: int = 0
    untouched: int = 0
    kept: int = 0

    @property
    def questions(self) -> int:
        return self.new + self.old + self.both + self.neither


def worlds(path: Path, *, limit: int, run: Consolidate) -> WorldScore:
    """Facts first, one message each, five messages a pass; then the contradicting ones. Clean questions only."""
    total = WorldScore()
    for world in load_letta_worlds(path):
        block = [terms(line.text) for line in passes(said(world), every=5, limit=limit, run=run)]
        for question in world.questions:
            new, old = stands(question.now, block), stands(question.before, block)
            if question.kind == "update":
                total.both += new and old
                total.new += new and not old
                total.old += old and not new
                total.neither += not (new or old)
            elif question.until is None:
                total.untouched += 1
                total.kept += new
    return total


def stands(marks: Sequence[Mark], block: Sequence[frozenset[str]]) -> bool:
    return any(mark.stands_in(line) for mark in marks for line in block)


def said(dialogue: Dialogue) -> list[Said]:
    return [Said(one.seq, one.role, one.text) for one in dialogue.utterances]


# --- dialogues ------------------------------------------------------------------------------------------------------


def dialogues(path: Path, *, every: int, limit: int, run: Consolidate) -> tuple[float, int, int, float]:
    """Evidence recall at the end over questions of categories 1 to 4: (recall, questions, malformed ids, seconds)."""
    recall: list[float] = []
    malformed = 0
    began = time.perf_counter()
    for dialogue in load_locomo(path):
        lines = passes(said(dialogue), every=2 * every, limit=limit, run=run)
        sources = {seq for line in lines for seq in line.sources}
        malformed += dialogue.defects.get("malformed evidence ids", 0)
        recall += [len(sources.intersection(one.evidence)) / len(one.evidence) for one in dialogue.questions]
    return sum(recall) / max(1, len(recall)), len(recall), malformed, time.perf_counter() - began


# --- slots ----------------------------------------------------------------------------------------------------------


def slots(phrases: Phrases, *, seeds: int, run: Consolidate, limit: int = 5000, every: int = 10) -> dict[str, float]:
    """Shares over ``seeds`` conversations: fresh, stale, left after a withdrawal; other lines per conversation."""
    totals = [0] * 7
    for seed in range(seeds):
        made = conversation(seed, phrases)
        heard = [Said(i + 1, message.role, message.text) for i, message in enumerate(made.messages)]
        lines = passes(heard, every=every, limit=limit, run=run)
        totals = [a + b for a, b in zip(totals, score(made.facts, [line.text for line in lines]), strict=True)]
    true, right, changed, stale, taken, left, noise = totals
    return {"fresh": right / true, "stale": stale / changed, "left": left / max(1, taken), "noise": noise / seeds}


def report(data: Path | None, seeds: int) -> Iterator[str]:
    path = data / "letta_worlds_dev.jsonl" if data else None
    if path and path.exists():
        yield "worlds (clean questions)    limit  new   old   both  neither  questions  untouched facts kept"
        for limit in (5000, 1000):
            for name, run in ARMS.items():
                s = worlds(path, limit=limit, run=run)
                n = s.questions
                shares = f"{s.new / n:.2f}  {s.old / n:.2f}  {s.both / n:.2f}  {s.neither / n:>7.2f}"
                yield f"{name:<26} {limit:>6}  {shares}  {n:>9}  {s.kept / s.untouched:>20.2f}"
    else:
        yield "worlds: no letta_worlds_dev.jsonl, left out"
    path = data / "locomo_dev.json" if data else None
    if path and path.exists():
        yield "\ndialogues, N=5, limit 5000  evidence recall  questions  malformed ids  seconds"
        for name, run in ARMS.items():
            recall, questions, malformed, seconds = dialogues(path, every=5, limit=5000, run=run)
            yield f"{name:<26} {recall:>16.3f}  {questions:>9}  {malformed:>13}  {seconds:>7.2f}"
    else:
        yield "dialogues: no locomo_dev.json, left out"
    yield "\nslots                       templates  fresh  stale  left after withdrawal  other lines"
    for name, run in ARMS.items():
        for label, phrases in (("tuned", TUNED), ("reviewed", REVIEWED), ("held out", HELD_OUT)):
            s2 = slots(phrases, seeds=seeds, run=run)
            shares = f"{s2['fresh']:.3f}  {s2['stale']:.3f}  {s2['left']:>21.3f}  {s2['noise']:>11.2f}"
            yield f"{name:<26} {label:>10}  {shares}"
    yield "\ngold                        dialogue (use)            stands   left  answers  other lines"
    for name in ARMS:
        for dialogue in map(load, names()):
            lines = remembered(dialogue, supersede=name == "superseding")
            got = outcome(dialogue, lines)
            stands = f"{len(dialogue.stand) - len(got.missing)}/{len(dialogue.stand)}"
            left, right = (
                f"{len(got.left)}/{len(dialogue.gone)}",
                f"{len(dialogue.ask) - len(got.wrong)}/{len(dialogue.ask)}",
            )
            label = f"{dialogue.name} ({dialogue.use})"
            yield f"{name:<27} {label:<24} {stands:>7} {left:>6} {right:>8}  {len(got.other):>5} of {len(lines)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="directory with the sample data")
    parser.add_argument("--seeds", type=int, default=40, help="generated conversations per row")
    options = parser.parse_args()
    for line in report(data_directory(options.data), options.seeds):
        print(line)
