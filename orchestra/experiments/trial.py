"""One trial: one arm plays one dialogue, with the real consolidators on blocks in the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestra.context.blocks import render
from orchestra.core.blocks import BlockView
from orchestra.core.messages import Message, Meta
from orchestra.core.tokens import message_tokens, text_tokens
from orchestra.experiments.arms import Arm
from orchestra.experiments.consolidators import LABEL, consolidator_of
from orchestra.experiments.memory_drafts import MemoryDrafts
from orchestra.experiments.probes import Probes
from orchestra.experiments.readers import reader_of
from orchestra.experiments.trial_record import Cost, TrialRecord
from orchestra.experiments.workloads import Dialogue, Utterance
from orchestra.sleeptime.extractive import Line
from orchestra.sleeptime.llm_consolidator import INSTRUCTIONS
from orchestra.sleeptime.transcript import Transcript
from orchestra.sleeptime.triggers import Counters
from orchestra.sleeptime.work import Consolidator, Work

DESCRIPTION = "Lasting facts about the people and the task."
#: What a model reads before the transcript, and writes besides the lines that it changes, in tokens.
_INSTRUCTIONS_TOKENS = text_tokens(INSTRUCTIONS)
_EDIT_TOKENS = 25


@dataclass(frozen=True, slots=True)
class Options:
    """What all trials of an experiment have in common."""

    lags: tuple[int, ...]
    k: int
    model: str
    reader: str


@dataclass(slots=True)
class _Memory:
    """The block of a trial. Owner: the trial."""

    block: BlockView
    sources: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        """Its lines, each with the messages it came from."""
        return [Line(text, self.sources.get(text, ())) for text in self.block.value.split("\n") if text]


def play(dialogue: Dialogue, arm: Arm, options: Options) -> TrialRecord:
    """Play ``dialogue`` to its end and tell what the memory held, turn by turn.

    Deterministic, unless the model is one of a provider.
    """
    return asyncio.run(_play(dialogue, arm, options))


async def _play(dialogue: Dialogue, arm: Arm, options: Options) -> TrialRecord:
    began = time.perf_counter()
    memory = _Memory(BlockView(id=LABEL, label=LABEL, value="", limit=arm.block_limit, description=DESCRIPTION))
    consolidator = consolidator_of(arm.consolidator, dialogue, options.model)
    probes = Probes(dialogue, arm, lags=options.lags, k=options.k)
    cost = Cost()
    named = len({one.writer for one in dialogue.utterances}) > 1
    turns = dialogue.by_turn()
    waiting: list[Utterance] = []
    counters, kept = Counters(0), 0
    for number, turn in enumerate(turns, 1):
        _primary(cost, memory, arm, turns, number)
        waiting += turn
        kept += 1
        counters = Counters(
            counters.turns + 1,
            counters.tokens + sum(message_tokens(_message(one)) for one in turn),
            turns[number][0].at - turn[-1].at if number < len(turns) else float("inf"),
            kept > 2 * arm.window,
            counters.interval,
        )
        if counters.compacting:
            kept = arm.window
        probes.said(turn)
        if arm.trigger.due(counters):
            changes = await _pass(consolidator, memory, waiting, cost, named=named)
            counters = Counters(0, interval=arm.trigger.interval_after(counters, changes))
            waiting = []
        probes.look(number, memory.lines)
    read = reader_of(options.reader, options.model)
    cost.search_in = probes.search_tokens
    answers, reading = await read.answers(dialogue, arm, memory.block, probes)
    if waiting and arm.kind in ("fixed", "trigger"):
        await _pass(consolidator, memory, waiting, Cost(), named=named)
    probes.flushed(memory.lines)
    cost.spent = cost.spent + reading
    return TrialRecord(
        workload=dialogue.workload,
        case=dialogue.case,
        arm=arm.name,
        turns=len(turns),
        units=len(dialogue.utterances),
        traces=probes.traces(),
        answers=answers,
        cost=cost,
        block_chars=len(memory.block.value),
        seconds=time.perf_counter() - began,
    )


async def _pass(
    consolidator: Consolidator, memory: _Memory, said: Sequence[Utterance], cost: Cost, *, named: bool
) -> int:
    """One pass over ``said``; the number of lines that it changed."""
    before = memory.block
    messages = tuple(_message(one, named=consolidator.name == "llm" and named) for one in said)
    transcript = Transcript(messages, said[-1].seq, said[-1].turn, False)
    drafts = MemoryDrafts(before)

    async def reread() -> Sequence[BlockView]:
        return drafts.ordered

    work = Work(LABEL, "experiment", None, transcript, drafts, "", {LABEL: dict(memory.sources)}, reread)
    usage = await consolidator.consolidate(work)
    after = drafts.by_label(LABEL)
    known = work.line_sources.get(LABEL, {})
    seqs = tuple(one.seq for one in said)
    old, new = before.value.split("\n"), after.value.split("\n")
    memory.block = after
    memory.sources = {text: known.get(text, memory.sources.get(text, seqs)) for text in new if text}
    added, removed = [text for text in new if text not in set(old)], [text for text in old if text not in set(new)]
    changes = max(len([text for text in added if text]), len([text for text in removed if text]))
    cost.passes += 1
    cost.idle_passes += changes == 0
    cost.spent = cost.spent + usage
    if usage.model_calls:
        cost.sleep_in, cost.sleep_out = cost.sleep_in + usage.input_tokens, cost.sleep_out + usage.output_tokens
    else:
        # What a model would have read and written in one request: the same estimate for every consolidator.
        cost.sleep_in += _INSTRUCTIONS_TOKENS + text_tokens(render([before])) + text_tokens(transcript.text())
        cost.sleep_out += sum(_EDIT_TOKENS + text_tokens(text) for text in added if text) + _EDIT_TOKENS
    return changes


def _primary(cost: Cost, memory: _Memory, arm: Arm, turns: Sequence[Sequence[Utterance]], number: int) -> None:
    """What the primary agent reads and writes in this turn: block, window and input; its answer."""
    first = 0 if arm.memory == "full" else max(0, number - 1 - arm.window)
    before = [one for turn in turns[first : number - 1] for one in turn]
    now = turns[number - 1]
    read = [*before, *(one for one in now if one.role == "user")]
    cost.primary_in += sum(text_tokens(one.text) for one in read)
    cost.primary_in += text_tokens(render([memory.block])) if arm.memory == "block" and arm.kind != "off" else 0
    cost.primary_out += sum(text_tokens(one.text) for one in now if one.role == "assistant")


def _message(one: Utterance, *, named: bool = False) -> Message:
    text = f"{one.writer}: {one.text}" if named else one.text
    return Message(one.role, text, meta=Meta(seq=one.seq, turn=one.turn, created_at=one.at))
