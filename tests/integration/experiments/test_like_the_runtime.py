"""A trial's block is the one that the runtime makes of the same conversation."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Agent, Block, Runtime, Sleeptime
from orchestra.core.model import ModelRequest
from orchestra.experiments.arms import Arm
from orchestra.experiments.consolidators import LABEL
from orchestra.experiments.trial import DESCRIPTION, Options, play
from orchestra.experiments.workloads import Recipe, generate, terms
from orchestra.sleeptime.triggers import EveryTurns
from orchestra.testing import FunctionModel


@pytest.mark.parametrize(("every", "limit"), [(1, 5000), (3, 5000), (4, 500)])
async def test_the_same_block_at_the_end(runtime: Runtime, every: int, limit: int) -> None:
    dialogue = generate(Recipe(turns=24, filler=0.2, updates=0.3), 7)
    answers = {turn[0].text: turn[1].text for turn in dialogue.by_turn()}

    def answer(request: ModelRequest) -> str:
        return answers[request.messages[-1].text]

    block = Block(label=LABEL, description=DESCRIPTION, limit=limit)
    sleeptime = Sleeptime(every=every, consolidator="extractive")
    await runtime.register(Agent(name="a", model=FunctionModel(answer), blocks=(block,), sleeptime=sleeptime))
    for turn in dialogue.by_turn():
        await runtime.run("a", turn[0].text, session_id="s")
        await runtime.drain("s")
    (made,) = await runtime.blocks.list(agent="a", label=LABEL)

    arm = Arm("every", "fixed", EveryTurns(every), "block", "extractive", limit, 4)
    record = await asyncio.to_thread(play, dialogue, arm, Options((0,), 5, "extractive", "none"))
    assert record.block_chars == len(made.value)
    assert record.cost.passes == 24 // every
    lines = [text for text in made.value.split("\n") if text]
    standing = [one for one in record.traces if one.marked and one.true_at(24) and one.at(24).new]
    assert len(standing) > 3
    stating = {one.id: one for one in dialogue.questions}
    for trace in standing:
        (mark,) = stating[trace.id].now
        assert any(mark.stands_in(terms(line)) for line in lines)
