"""Dialogues with what a careful reader would remember of them at the end: played pass by pass and scored.

The first line of a file is its gold: ``use`` ("tuned" or "held out"), ``stand`` (sets of texts of which one line must
have all), ``gone`` (sets of texts that no line may have all of) and ``ask`` (a question with the texts that the answer
must have). Case does not count. The other lines are the user's messages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestra.context.blocks import render
from orchestra.core.blocks import BlockView
from orchestra.core.messages import Message
from orchestra.core.model import ModelRequest
from orchestra.models.extractive import ExtractiveModel
from orchestra.sleeptime.extractive import Line, Said, consolidate

DIRECTORY = Path(__file__).resolve().parents[2] / "data" / "dialogues"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue and its gold."""

    name: str
    use: str
    said: tuple[Said, ...]
    stand: tuple[tuple[str, ...], ...]
    gone: tuple[tuple[str, ...], ...]
    ask: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: the missing sets, the left sets, the wrong answers, and lines that belong to no set."""

    missing: tuple[tuple[str, ...], ...]
    left: tuple[tuple[str, ...], ...]
    wrong: tuple[tuple[str, str], ...]
    other: tuple[str, ...]


def load(name: str) -> Dialogue:
    """The dialogue of that file name."""
    gold, *turns = map(json.loads, (DIRECTORY / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return Dialogue(
        name,
        gold["use"],
        tuple(Said(2 * i + 1, turn["role"], turn["content"]) for i, turn in enumerate(turns)),
        tuple(map(tuple, gold["stand"])),
        tuple(map(tuple, gold["gone"])),
        tuple((question, tuple(wanted)) for question, wanted in gold["ask"]),
    )


def names() -> list[str]:
    """The names of all dialogues."""
    return sorted(path.stem for path in DIRECTORY.glob("*.jsonl"))


def remembered(dialogue: Dialogue, *, every: int = 5, limit: int = 4000, supersede: bool = True) -> tuple[Line, ...]:
    """The block after one pass for each ``every`` messages."""
    lines: tuple[Line, ...] = ()
    for start in range(0, len(dialogue.said), every):
        lines = consolidate(lines, dialogue.said[start : start + every], limit=limit, supersede=supersede)
    return lines


def outcome(dialogue: Dialogue, lines: Sequence[Line]) -> Outcome:
    """The score of ``lines`` against the gold; questions are answered from the lines alone."""
    low = [line.text.lower() for line in lines]

    def holds(texts: tuple[str, ...]) -> bool:
        return any(all(text in line for text in texts) for line in low)

    wrong = []
    for question, wanted in dialogue.ask:
        answer = answered(question, lines)
        if not all(text.lower() in answer.lower() for text in wanted):
            wrong.append((question, answer))
    return Outcome(
        tuple(texts for texts in dialogue.stand if not holds(texts)),
        tuple(texts for texts in dialogue.gone if holds(texts)),
        tuple(wrong),
        tuple(
            line.text
            for line in lines
            if not any(all(text in line.text.lower() for text in texts) for texts in dialogue.stand)
        ),
    )


def answered(question: str, lines: Sequence[Line]) -> str:
    """What the extractive model answers when it sees nothing but ``lines``."""
    value = "\n".join(line.text for line in lines)
    system = render([BlockView(id="b", label="notes", value=value, limit=max(5000, len(value)))])
    return ExtractiveModel().answer(ModelRequest((Message("system", system), Message("user", question))))
