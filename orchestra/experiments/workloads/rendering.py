"""A dialogue as text, so that a person can read what an experiment plays."""

from __future__ import annotations

from collections import defaultdict

from orchestra.experiments.workloads.dialogue import Dialogue, Question


def rendered(dialogue: Dialogue) -> str:
    """Turn by turn what is said, and below each turn what has become true (or untrue) by it."""
    made: dict[int, list[Question]] = defaultdict(list)
    for question in dialogue.questions:
        made[question.since].append(question)
    out = [f"# {dialogue.workload}, {dialogue.case}: {dialogue.turns} turns, {len(dialogue.questions)} questions", ""]
    for number, turn in enumerate(dialogue.by_turn(), 1):
        for one in turn:
            who = "user" if one.role == "user" else "    assistant"
            out.append(f"[{number:>3}] {who}: {one.text}")
        out.extend(f"          = {_gold(question)}" for question in made[number])
    return "\n".join(out) + "\n"


def _gold(question: Question) -> str:
    if question.kind == "retraction":
        return f"nothing any more: {question.text}"
    ends = f" (until turn {question.until - 1})" if question.until is not None else ""
    return f"{question.text} {question.answer}{ends}"
