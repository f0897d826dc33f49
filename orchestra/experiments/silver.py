"""Questions for conversations that come without any: what the consolidator notes when it sleeps after every turn."""

from __future__ import annotations

from dataclasses import replace

from orchestra.experiments.workloads import Dialogue, Question
from orchestra.sleeptime.extractive import Line, Said, consolidate

_NO_LIMIT = 1_000_000


def with_questions(dialogue: Dialogue) -> Dialogue:
    """The dialogue with a question for each line that passes after every turn make.

    A line is true from the turn in which it is made to the one in which it is replaced or withdrawn. It tells what is
    late, not what is overlooked: what the extractive consolidator never notes is not asked for.
    """
    lines: tuple[Line, ...] = ()
    open_: dict[str, Question] = {}
    closed: list[Question] = []
    for number, turn in enumerate(dialogue.by_turn(), 1):
        said = [Said(one.seq, one.role, one.text) for one in turn]
        lines = consolidate(lines, said, limit=_NO_LIMIT)
        now = {line.text: line for line in lines if line.sources}
        gone = [text for text in open_ if text not in now]
        closed.extend(replace(open_.pop(text), until=number) for text in gone)
        for text, line in now.items():
            if text not in open_:
                name = f"line {len(open_) + len(closed) + 1}"
                open_[text] = Question(name, text, "", line.sources[-1:], number, None, "line", line=text)
    questions = sorted([*closed, *open_.values()], key=lambda one: int(one.id.split()[1]))
    kept = [one for one in questions if one.until is None or one.until > one.since]
    return replace(dialogue, questions=tuple(kept))
