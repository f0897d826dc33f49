"""BEAM: chats of 100 thousand tokens and more, with probing questions and the ids of the messages that answer them.

Messages of the user end in markers of the plan that they were generated from (``->-> 1,2``): they leak the structure
and are cut off. Source ids come as a number, a list, or lists under names; some are used twice in one chat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from orchestra.core.errors import ConfigError
from orchestra.experiments.workloads.data_file import Item, read_json
from orchestra.experiments.workloads.dialogue import Dialogue, Question, Speaker, in_turns
from orchestra.runtime.text_file import shown

_MARKER = re.compile(r"\s*->->\s*[\d,.\s]*$")
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def load_beam(path: Path, *, workload: str = "beam") -> tuple[Dialogue, ...]:
    """The chats in ``path``: the folder of one (``chat.json``, ``probing_questions/``), or a folder of such folders.

    Abstention questions have no sources and are left out.

    Raises:
        ConfigError: there is no chat, or a file is not of that format; names line and field.
    """
    folders = [path] if (path / "chat.json").is_file() else sorted(f.parent for f in path.glob("*/chat.json"))
    if not folders:
        raise ConfigError("there is no chat.json in this folder or in one below it", shown(path))
    return tuple(_dialogue(folder, workload) for folder in folders)


def _dialogue(folder: Path, workload: str) -> Dialogue:
    defects: Counter[str] = Counter()
    said: list[tuple[Speaker, str, float]] = []
    places: dict[int, int] = {}
    for number, batch in enumerate(read_json(folder / "chat.json").items(), 1):
        for turn in batch["turns"].items():
            for message in turn.items():
                text, cut = _MARKER.subn("", message["content"].text())
                defects["plan markers, cut off"] += cut
                role = message["role"].text()
                if role not in ("user", "assistant"):
                    raise message["role"].fault(f"must be user or assistant, not {role!r}")
                said.append(("user" if role == "user" else "assistant", text, 86_400.0 * number))
                key = message["id"].number()
                defects["message ids that are used twice"] += key in places
                places.setdefault(key, len(said))
    utterances = in_turns(said)
    questions = []
    for kind, item in _asked(folder):
        source = item.maybe("source_chat_ids")
        ids = list(_ids(source, defects)) if source is not None else []
        evidence = tuple(sorted({places[one] for one in ids if one in places}))
        defects["source ids that lead nowhere"] += sum(one not in places for one in ids)
        if kind == "abstention" or not evidence:
            defects["questions without sources, left out"] += 1
            continue
        answer = next((found.words() for key in _ANSWERS if (found := item.maybe(key)) is not None), "")
        since = max(utterances[seq - 1].turn for seq in evidence)
        questions.append(
            Question(f"{kind} {item.path[-1]}", item["question"].text(), answer, evidence, since, None, kind)
        )
    return Dialogue(workload, folder.name, utterances, tuple(questions), (), dict(sorted(defects.items())))


def _asked(folder: Path) -> Iterator[tuple[str, Item]]:
    root = read_json(folder / "probing_questions" / "probing_questions.json")
    for kind in root.mapping():
        for item in root[kind].items():
            yield kind, item


def _ids(source: Item, defects: Counter[str]) -> Iterator[int]:
    """All numbers in a number, a list of numbers or lists, or an object of these."""
    if isinstance(source.value, dict):
        defects["source ids given as an object"] += 1
        for key in source.value:
            yield from _ids(source[key], Counter())
    elif isinstance(source.value, list):
        for item in source.items():
            yield from _ids(item, Counter())
    else:
        yield source.number()
