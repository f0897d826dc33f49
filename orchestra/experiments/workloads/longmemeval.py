"""LongMemEval (the ``-cleaned`` files): a question for each long history of a user's sessions with an assistant."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from orchestra.experiments.workloads.data_file import Item, read_json
from orchestra.experiments.workloads.dialogue import Dialogue, Question, Speaker, in_turns


def load_longmemeval(path: Path, *, workload: str = "longmemeval") -> tuple[Dialogue, ...]:
    """One dialogue with one question for each entry; abstention questions (``…_abs``) are left out.

    The evidence are the messages marked ``has_answer``; where none is, all messages of the answer's sessions.

    Raises:
        ConfigError: the file is not of that format; names line and field.
    """
    return tuple(_dialogue(entry, workload) for entry in read_json(path).items())


def _dialogue(entry: Item, workload: str) -> Dialogue:
    defects: Counter[str] = Counter()
    name = entry["question_id"].text()
    wanted = {one.words() for one in entry["answer_session_ids"].items()}
    ids = [one.words() for one in entry["haystack_session_ids"].items()]
    sessions = list(entry["haystack_sessions"].items())
    if len(ids) != len(sessions):
        raise entry["haystack_session_ids"].fault(f"has {len(ids)} entries for {len(sessions)} sessions")
    said: list[tuple[Speaker, str, float]] = []
    marked, near = [], []
    for number, (session, session_id) in enumerate(zip(sessions, ids, strict=True), 1):
        for message in session.items():
            said.append((_role(message["role"]), message["content"].text(), 86_400.0 * number))
            if session_id in wanted:
                near.append(len(said))
                if (mark := message.maybe("has_answer")) is not None and mark.value is True:
                    marked.append(len(said))
    utterances = in_turns(said)
    evidence = tuple(marked or near)
    questions: tuple[Question, ...] = ()
    if name.endswith("_abs"):
        defects["abstention questions, left out"] += 1
    elif not evidence:
        defects["questions without evidence, left out"] += 1
    else:
        defects["questions whose evidence are whole sessions"] += not marked
        since = max(utterances[seq - 1].turn for seq in evidence)
        text, answer, kind = entry["question"].text(), entry["answer"].words(), entry["question_type"].text()
        questions = (Question(name, text, answer, evidence, since, None, kind),)
    return Dialogue(workload, name, utterances, questions, (), dict(sorted(defects.items())))


def _role(item: Item) -> Speaker:
    if item.text() not in ("user", "assistant"):
        raise item.fault(f"must be user or assistant, not {item.text()!r}")
    return "user" if item.text() == "user" else "assistant"
