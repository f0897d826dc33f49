"""Scores the extractive consolidator: ``python benchmarks/extractive.py [--data DIR]``.

Four tables. *Worlds*: facts, then facts that contradict some of them (needs ``letta_worlds_dev.jsonl``).
*Dialogues*: evidence recall of the block after long conversations (needs ``locomo_dev.json``). *Slots*: generated
conversations about invented slots. *Gold*: the short dialogues of ``tests/data/dialogues``. Sample data is looked for
in ``--data``, ``$ORCHESTRA_DATA`` and ``../shared/data`` beside the repository; a table whose data is missing is left
out with a line that says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from orchestra.core.terms import content  # noqa: E402
from orchestra.sleeptime.extractive import Line, Said, consolidate  # noqa: E402
from tests.unit.sleeptime.dialogues import load, names, outcome, remembered  # noqa: E402
from tests.unit.sleeptime.slots import HELD_OUT, REVIEWED, TUNED, Phrases, conversation, score  # noqa: E402

Consolidate = Callable[[Sequence[Line], Sequence[Said], int], tuple[Line, ...]]
EVIDENCE = re.compile(r"D(\d+):0*(\d+)")


def superseding(lines: Sequence[Line], said: Sequence[Said], limit: int) -> tuple[Line, ...]:
    return consolidate(lines, said, limit=limit)


def appending(lines: Sequence[Line], said: Sequence[Said], limit: int) -> tuple[Line, ...]:
    return consolidate(lines, said, limit=limit, supersede=False)


ARMS: dict[str, Consolidate] = {"superseding": superseding, "append-only": appending}


def data_directory(named: str | None = None) -> Path | None:
    """Where the sample data is, if anywhere."""
    places = [named, os.environ.get("ORCHESTRA_DATA"), ROOT.parent / "shared" / "data"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def passes(said: Sequence[Said], *, every: int, limit: int, run: Consolidate) -> tuple[Line, ...]:
    """The block after one pass for each ``every`` messages."""
    lines: tuple[Line, ...] = ()
    for start in range(0, len(said), every):
        lines = run(lines, said[start : start + every], limit)
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


def holds(block: Sequence[frozenset[str]], fact: str, answer: str) -> bool:
    """Whether one line holds the fact: the answer's terms all, and at least 0.6 of the fact's terms."""
    terms, needed = frozenset(content(fact)), frozenset(content(answer))
    return any(needed <= line and len(terms & line) >= 0.6 * len(terms) for line in block)


def worlds(path: Path, *, limit: int, run: Consolidate, clean: bool = True) -> WorldScore:
    """Facts first, one message each, five messages a pass; then the contradicting ones.

    A question is clean when its new answer occurs in the contradicting fact and its old answer does not. It counts as
    *new* when the block holds the contradicting fact (see :func:`holds`) and none of its supporting facts together with
    the old answer.
    """
    total = WorldScore()
    for raw in path.read_text(encoding="utf-8").splitlines():
        world = json.loads(raw)
        texts = [*world["facts"], *world["contradicting_facts"]]
        said = [Said(i + 1, "user", text.strip('"')) for i, text in enumerate(texts)]
        lines = passes(said, every=5, limit=limit, run=run)
        block = [frozenset(content(line.text)) for line in lines]
        contradicted: set[int] = set()
        rows = zip(
            world["answer"],
            world["contradicting_facts"],
            world["contradicting_answers"],
            world["supporting_fact_indices"],
            strict=True,
        )
        for answer, fact, new_answer, supporting in rows:
            contradicted.update(supporting)
            old_answer, new_answer = str(answer), str(new_answer)
            is_clean = new_answer.lower() in fact.lower() and old_answer.lower() not in fact.lower()
            if is_clean is not clean:
                continue
            has_new = holds(block, fact.strip('"'), new_answer if clean else "")
            has_old = any(holds(block, world["facts"][i], old_answer) for i in supporting if clean) or (
                not clean and any(holds(block, world["facts"][i], "") for i in supporting)
            )
            if has_new and has_old:
                total.both += 1
            elif has_new:
                total.new += 1
            elif has_old:
                total.old += 1
            else:
                total.neither += 1
        for i, fact in enumerate(world["facts"]):
            if i not in contradicted:
                total.untouched += 1
                total.kept += holds(block, fact, "")
    return total


# --- dialogues ------------------------------------------------------------------------------------------------------


def evidence(ids: object) -> tuple[list[tuple[int, int]], int]:
    """The well-formed evidence ids of a question and how many entries were not of the form ``D1:2``."""
    found: list[tuple[int, int]] = []
    malformed = 0
    for entry in ids if isinstance(ids, list) else [ids]:
        parts = EVIDENCE.findall(str(entry))
        malformed += re.fullmatch(r"D\d+:[1-9]\d*", str(entry)) is None
        found.extend((int(session), int(turn)) for session, turn in parts)
    return found, malformed


def dialogues(
    path: Path, *, every: int, limit: int, run: Consolidate, speakers: str = "both"
) -> tuple[float, int, int, float]:
    """Evidence recall at the end over questions of categories 1 to 4: (recall, questions, malformed ids, seconds).

    Both speakers are people here, so both are given as users, unless ``speakers`` says that only the first one is.
    """
    recall = 0.0
    questions = malformed = 0
    began = time.perf_counter()
    for sample in json.loads(path.read_text(encoding="utf-8")):
        said, places = transcript(sample["conversation"], speakers=speakers)
        lines = passes(said, every=2 * every, limit=limit, run=run)
        sources = {seq for line in lines for seq in line.sources}
        for item in sample["qa"]:
            ids, wrong = evidence(item.get("evidence", []))
            malformed += wrong
            wanted = {places[place] for place in ids if place in places}
            if item["category"] == 5 or not wanted:
                continue
            questions += 1
            recall += len(wanted & sources) / len(wanted)
    return recall / max(1, questions), questions, malformed, time.perf_counter() - began


def transcript(talk: dict[str, object], *, speakers: str) -> tuple[list[Said], dict[tuple[int, int], int]]:
    said: list[Said] = []
    places: dict[tuple[int, int], int] = {}
    for session in sorted(int(key.split("_")[1]) for key, value in talk.items() if isinstance(value, list)):
        turns = talk[f"session_{session}"]
        assert isinstance(turns, list)
        for turn in turns:
            said.append(
                Said(
                    len(said) + 1,
                    "user" if speakers == "both" or turn["speaker"] == talk["speaker_a"] else "assistant",
                    turn["text"],
                )
            )
            if match := EVIDENCE.search(turn["dia_id"]):
                places[int(match[1]), int(match[2])] = len(said)
    return said, places


# --- slots ----------------------------------------------------------------------------------------------------------


def slots(phrases: Phrases, *, seeds: int, run: Consolidate, limit: int = 5000, every: int = 10) -> dict[str, float]:
    """Shares over ``seeds`` conversations: fresh, stale, left after a withdrawal; other lines per conversation."""
    totals = [0] * 7
    for seed in range(seeds):
        made = conversation(seed, phrases)
        said = [Said(i + 1, message.role, message.text) for i, message in enumerate(made.messages)]
        lines = passes(said, every=every, limit=limit, run=run)
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
