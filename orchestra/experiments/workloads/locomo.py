"""LoCoMo: long conversations of two people (``locomo10.json``), questions with the ids of the lines that answer them.

Its evidence ids are not all well-formed, most adversarial questions have no answer, and some labels are wrong; what is
done about it is counted. Both speakers are people, so all lines are a user's; two lines make a turn.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from orchestra.experiments.workloads.data_file import Item, read_json
from orchestra.experiments.workloads.dialogue import Dialogue, Observation, Question, Utterance

KINDS = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop", 5: "adversarial"}
_ID = re.compile(r"D:?(\d+):0*(\d+)")
_WELL_FORMED = re.compile(r"D\d+:[1-9]\d*")
_SESSION = re.compile(r"session_(\d+)")

Places = dict[tuple[int, int], Utterance]


def load_locomo(path: Path, *, workload: str = "locomo", audit: Path | None = None) -> tuple[Dialogue, ...]:
    """The conversations of the file. ``audit``: a list of wrong labels, each with what is right.

    Adversarial questions are left out: they ask for what was never said, and finding it must not be rewarded.

    Raises:
        ConfigError: a file is not of that format; names line and field.
    """
    corrections = _corrections(audit)
    return tuple(_dialogue(sample, workload, corrections) for sample in read_json(path).items())


def _dialogue(sample: Item, workload: str, corrections: dict[tuple[str, int], Item]) -> Dialogue:
    defects: Counter[str] = Counter()
    name = sample["sample_id"].text()
    said, places = _said(sample["conversation"])
    questions = []
    for number, item in enumerate(sample["qa"].items()):
        question = _question(item, number, places, corrections.get((name, number)), defects)
        if question is not None:
            questions.append(question)
    observations = _observations(sample, places, defects)
    return Dialogue(workload, name, tuple(said), tuple(questions), observations, dict(sorted(defects.items())))


def _said(talk: Item) -> tuple[list[Utterance], Places]:
    said: list[Utterance] = []
    places: Places = {}
    numbers = sorted(int(found[1]) for key in talk.mapping() if (found := _SESSION.fullmatch(key)))
    for session in numbers:
        for line in talk[f"session_{session}"].items():
            seq = len(said) + 1
            one = Utterance(
                seq, (seq + 1) // 2, "user", line["text"].text(), 86_400.0 * session, line["speaker"].text()
            )
            said.append(one)
            if (found := _ID.fullmatch(line["dia_id"].text())) is None:
                raise line["dia_id"].fault("must be of the form D1:2")
            places[int(found[1]), int(found[2])] = one
    return said, places


def _question(
    item: Item, number: int, places: Places, correction: Item | None, defects: Counter[str]
) -> Question | None:
    category = item["category"].number()
    if category not in KINDS:
        raise item["category"].fault(f"must be one of {', '.join(map(str, KINDS))}")
    answer = item.maybe("answer")
    if category == 5:
        defects["adversarial questions, left out"] += 1
        defects["adversarial questions without an answer"] += answer is None
        return None
    text = item["question"].text()
    wanted, reply = item["evidence"], item["answer"].words()
    if correction is not None:
        if correction["question"].text() == text:
            defects["labels corrected by the audit"] += 1
            wanted, reply = correction["correct_evidence"], correction["correct_answer"].words()
        else:
            defects["entries of the audit that fit no question"] += 1
    found = _evidence(wanted, places, defects)
    if not found:
        defects["questions without evidence, left out"] += 1
        return None
    evidence = tuple(sorted({one.seq for one in found}))
    return Question(f"q{number}", text, reply, evidence, max(one.turn for one in found), None, KINDS[category])


def _evidence(ids: Item, places: Places, defects: Counter[str]) -> list[Utterance]:
    out = []
    for entry in ids.items():
        defects["malformed evidence ids"] += _WELL_FORMED.fullmatch(entry.words()) is None
        for session, line in _ID.findall(entry.words()):
            one = places.get((int(session), int(line)))
            defects["evidence ids that lead nowhere"] += one is None
            out += [one] if one is not None else []
    return out


def _observations(sample: Item, places: Places, defects: Counter[str]) -> tuple[Observation, ...]:
    """The data set's own notes, for the consolidator ``replay``."""
    out = []
    notes = sample.maybe("observation")
    for key in notes.mapping() if notes is not None else ():
        assert notes is not None
        for speaker in notes[key].mapping():
            for entry in notes[key][speaker].items():
                text, ids = (*entry.items(), None, None)[:2]
                if text is None or ids is None:
                    raise entry.fault("must be a note and the ids of its lines")
                found = _ID.findall(str(ids.value))
                sources = {places[int(a), int(b)].seq for a, b in found if (int(a), int(b)) in places}
                if sources:
                    out.append(Observation(text.text(), tuple(sorted(sources))))
                else:
                    defects["observations without a source, left out"] += 1
    return tuple(out)


def _corrections(audit: Path | None) -> dict[tuple[str, int], Item]:
    if audit is None:
        return {}
    return {(one["sample_id"].text(), one["qa_index"].number()): one for one in read_json(audit).items()}
