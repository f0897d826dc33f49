"""Letta core-memory worlds (JSON lines): ten facts, then facts that contradict some of them.

Only clean questions are asked: those whose new answer occurs in the contradicting fact and whose old one does not. Each
fact is one turn of the user.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from orchestra.experiments.workloads.data_file import Item, read_json_lines
from orchestra.experiments.workloads.dialogue import Dialogue, Mark, Question, Utterance, terms

#: A line states a fact when it has the answer and this share of the fact's words.
SHARE = 0.6


def load_letta_worlds(path: Path, *, workload: str = "letta_worlds") -> tuple[Dialogue, ...]:
    """One dialogue for each world.

    Raises:
        ConfigError: the file is not of that format; names line and field.
    """
    worlds = enumerate(read_json_lines(path), 1)
    return tuple(_dialogue(world, f"world {number}", workload) for number, world in worlds)


def _dialogue(world: Item, case: str, workload: str) -> Dialogue:
    defects: Counter[str] = Counter()
    facts = [_bare(one) for one in world["facts"].items()]
    against = [_bare(one) for one in world["contradicting_facts"].items()]
    told = enumerate((*facts, *against), 1)
    said = tuple(Utterance(turn, turn, "user", text, 60.0 * turn) for turn, text in told)
    questions: list[Question] = []
    ends: dict[int, int] = {}
    columns = [list(world[name].items()) for name in ("question", "answer", "contradicting_answers")]
    indices = list(world["supporting_fact_indices"].items())
    for name, column in (("supporting_fact_indices", indices), ("answer", columns[1]), ("question", columns[0])):
        if len(column) != len(against):
            raise world[name].fault(f"has {len(column)} entries for {len(against)} contradicting facts")
    for i, fact in enumerate(against):
        supporting = [one.number() for one in indices[i].items()]
        if any(not 0 <= one < len(facts) for one in supporting):
            raise indices[i].fault(f"must be numbers from 0 to {len(facts) - 1}")
        turn = len(facts) + i + 1
        for one in supporting:
            ends[one] = min(turn, ends.get(one, turn))
        old, new = columns[1][i].words(), columns[2][i].words()
        if new.lower() not in fact.lower() or old.lower() in fact.lower():
            defects["contradictions that are not clean, left out"] += 1
            continue
        now = (Mark(terms(new), (terms(fact),), SHARE),)
        before = tuple(Mark(terms(old), (terms(facts[one]),), SHARE) for one in supporting)
        question = columns[0][i].text()
        questions.append(Question(f"update {i}", question, new, (turn,), turn, None, "update", now, before, fact))
    for i, fact in enumerate(facts):
        now = (Mark(frozenset(), (terms(fact),), SHARE),)
        questions.append(Question(f"fact {i}", "", "", (i + 1,), i + 1, ends.get(i), "first", now, (), fact))
    return Dialogue(workload, case, said, tuple(questions), (), dict(sorted(defects.items())))


def _bare(item: Item) -> str:
    return item.text().strip('"')
