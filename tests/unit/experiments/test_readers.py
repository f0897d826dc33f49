"""Answers are scored by their words, and a reader sees memory and window, nothing else."""

from __future__ import annotations

import asyncio

import pytest

from orchestra.core.blocks import BlockView
from orchestra.core.model import ModelRequest
from orchestra.experiments.arms import Arm
from orchestra.experiments.probes import Probes
from orchestra.experiments.readers import ModelReader, answer_score
from orchestra.experiments.workloads import Recipe, generate
from orchestra.sleeptime.triggers import Never
from orchestra.testing import FunctionModel


@pytest.mark.parametrize(
    ("given", "wanted", "f1", "same"),
    [
        ("The red mug.", "red mug", 1.0, True),
        ("a red one", "red mug", 0.5, False),
        ("blue", "red", 0.0, False),
        ("", "red", 0.0, False),
    ],
)
def test_scores(given: str, wanted: str, f1: float, same: bool) -> None:
    assert answer_score(given, wanted) == (f1, same)


def test_a_model_reads_block_and_window() -> None:
    dialogue = generate(Recipe(turns=20), 3)
    arm = Arm("off", "off", Never(), "block", "extractive", 5000, 2)
    probes = Probes(dialogue, arm, lags=(0,), k=5)
    for number, turn in enumerate(dialogue.by_turn(), 1):
        probes.said(turn)
        probes.look(number, [])
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return "red"

    block = BlockView(id="m", label="memory", value="My work mug is red.", limit=5000)
    answers, usage = asyncio.run(ModelReader(FunctionModel(answer)).answers(dialogue, arm, block, probes))
    asked = {one.id: one for one in probes.live if one.answer}
    assert set(answers) == set(asked)
    assert usage.input_tokens > 0
    said = [turn[0].text for turn in dialogue.by_turn()]
    for request in seen:
        system = request.messages[0].text
        assert "My work mug is red." in system
        assert said[-1] in system
        assert said[-3] not in system or said[-3] in said[-2:]
