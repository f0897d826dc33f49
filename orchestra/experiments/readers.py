"""Who answers the questions at the end, from the memory alone: for answer F1 and exact match."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from orchestra.context.blocks import render
from orchestra.core.blocks import BlockView
from orchestra.core.errors import InputError
from orchestra.core.messages import Message
from orchestra.core.model import Model, ModelReply, ModelRequest, Usage
from orchestra.experiments.arms import Arm
from orchestra.experiments.probes import Probes
from orchestra.experiments.trial_record import Answers
from orchestra.experiments.workloads import Dialogue, Question
from orchestra.models.registry import resolve

#: Longer answers cannot be told right from wrong by their words.
_SHORT = 5
_ASK = "Answer from memory in as few words as possible. If you do not know, say: unknown."
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_OTHER = re.compile(r"[^\w\s]")


class Reader(Protocol):
    """Answers what can be answered in a few words."""

    async def answers(self, dialogue: Dialogue, arm: Arm, block: BlockView, probes: Probes) -> tuple[Answers, Usage]:
        """F1 and exact match of each question with a short answer that holds at the end; and what that cost."""


class NoReader:
    """Answers nothing."""

    async def answers(self, dialogue: Dialogue, arm: Arm, block: BlockView, probes: Probes) -> tuple[Answers, Usage]:
        """None."""
        return {}, Usage()


class ModelReader:
    """Shows a model the block, the window and what a search finds."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def answers(self, dialogue: Dialogue, arm: Arm, block: BlockView, probes: Probes) -> tuple[Answers, Usage]:
        """Each question in a request of its own."""
        out: dict[str, tuple[float, bool]] = {}
        usage = Usage()
        for question in probes.live:
            if question.text and 0 < len(question.answer.split()) <= _SHORT:
                reply = await self._reply(_request(question, dialogue, arm, block, probes))
                usage = usage + reply.usage
                out[question.id] = answer_score(reply.message.text, question.answer)
        return out, usage

    async def _reply(self, request: ModelRequest) -> ModelReply:
        async for part in self._model.stream(request):
            if isinstance(part, ModelReply):
                return part
        raise InputError(f"the model {self._model.name} gave no reply")


def reader_of(name: str, model: str) -> Reader:
    """The reader of that name. ``extractive`` quotes whole sentences, so its exact match is near 0."""
    if name == "none":
        return NoReader()
    return ModelReader(resolve(model if name == "llm" else "extractive"))


def answer_score(given: str, wanted: str) -> tuple[float, bool]:
    """(F1 of the words, whether they are the same), without case, punctuation and articles."""
    one, two = _words(given), _words(wanted)
    common = sum((Counter(one) & Counter(two)).values())
    if not common:
        return 0.0, one == two
    return round(2 * common / (len(one) + len(two)), 6), one == two


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", _OTHER.sub(" ", text.lower())).split()


def _request(question: Question, dialogue: Dialogue, arm: Arm, block: BlockView, probes: Probes) -> ModelRequest:
    said: Sequence[str]
    if arm.memory == "full":
        said = [one.text for one in dialogue.utterances]
    elif arm.memory == "search":
        said = [dialogue.utterances[int(key) - 1].text for key in probes.hits(question)]
    else:
        said = block.value.split("\n")
    recent = [] if arm.memory == "full" else [one.text for one in probes.recent]
    shown = block.model_copy(update={"value": "\n".join(dict.fromkeys([*said, *recent]))})
    system = f"{render([shown])}\n\n{_ASK}"
    return ModelRequest((Message("system", system), Message("user", question.text)))
