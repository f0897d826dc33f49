"""Many agents that write one block while their sleep-time agents tidy it: the real runtime, an embedded server.

What is new an agent writes into the block itself; what has changed it is only told, and its sleep-time agent puts it
there. So lines are appended and rewritten at the same time.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np

from orchestra.cluster.runtime import Runtime
from orchestra.core.agent import Agent, Sleeptime
from orchestra.core.blocks import Block
from orchestra.core.jsontext import loads
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.experiments.experiment import SharedWriters
from orchestra.experiments.measures import Value
from orchestra.experiments.workloads import Mark, terms
from orchestra.experiments.workloads.phrases import POOLS, QUALITIES, THINGS
from orchestra.models.function import FunctionModel
from orchestra.store.block_store import Version
from orchestra.store.pass_store import PassStore

LABEL = "team"
#: Every third turn of a writer changes something it stated before.
_UPDATE_EVERY = 3


@dataclass(frozen=True, slots=True)
class Statement:
    """What a writer is told in one turn; what is ``new`` it writes down."""

    slot: str
    value: str
    new: bool

    @property
    def line(self) -> str:
        """As it stands in the block."""
        return f"{self.slot} is {self.value}."

    @property
    def text(self) -> str:
        """As it is said."""
        return self.line if self.new else f"{self.slot} is now {self.value}."

    @property
    def mark(self) -> Mark:
        """How a line of the block states it."""
        return Mark(terms(self.value), (terms(self.slot),))


@dataclass(frozen=True, slots=True)
class Shared:
    """One row: ``result`` is the same in every run, ``timing`` depends on the machine."""

    result: Mapping[str, Value]
    timing: Mapping[str, Value]


def play_shared_writers(settings: SharedWriters, writers: int) -> Shared:
    """``writers`` agents write at the same time, once with their sleep-time agents and once without."""
    with tempfile.TemporaryDirectory(prefix="orchestra-writers-") as folder:
        tidied = asyncio.run(_play(settings, writers, folder, settings.every))
        alone = asyncio.run(_play(settings, writers, folder, None))
    statements = [one for number in range(1, writers + 1) for one in said_by(number, settings.turns)]
    result: dict[str, Value] = {
        "writers": writers,
        "statements": len(statements),
        "acknowledged": tidied.acknowledged,
        "lost_updates": lost_updates(statements, tidied.log),
        "gaps_in_versions": sum(b.version - a.version != 1 for a, b in pairwise(tidied.log)),
    }
    with_, without = np.percentile(tidied.latencies, [50, 95]), np.percentile(alone.latencies, [50, 95])
    timing: dict[str, Value] = {
        "passes": tidied.passes,
        "retries": tidied.retries,
        "conflicts": tidied.conflicts,
        "freshness": freshness_over(tidied.told, tidied.log),
        "freshness_untidied": freshness_over(alone.told, alone.log),
        "commands_per_turn": tidied.commands / len(statements),
        "commands_per_turn_untidied": alone.commands / len(statements),
        "turn_ms_p50": float(with_[0]) * 1000,
        "turn_ms_p95": float(with_[1]) * 1000,
        "turn_ms_p50_untidied": float(without[0]) * 1000,
        "turn_ms_p95_untidied": float(without[1]) * 1000,
        "seconds": tidied.seconds,
    }
    return Shared(result, timing)


def said_by(writer: int, turns: int) -> list[Statement]:
    """What one writer states, turn by turn; no two writers state the same slot."""
    rng = random.Random(writer)
    things = [(quality, thing) for quality in QUALITIES for thing, pool in THINGS.items() if pool != "number"]
    rng.shuffle(things)
    fresh = iter(things)
    now: dict[str, tuple[str, str]] = {}
    out: list[Statement] = []
    for turn in range(1, turns + 1):
        if turn % _UPDATE_EVERY == 0:
            slot = rng.choice(sorted(now))
            pool, old = now[slot]
            value = rng.choice([one for one in POOLS[pool] if one != old])
        else:
            quality, thing = next(fresh)
            slot, pool = f"Team{writer}'s {quality} {thing}", THINGS[thing]
            value = rng.choice(POOLS[pool])
        now[slot] = (pool, value)
        out.append(Statement(slot, value, turn % _UPDATE_EVERY != 0))
    return out


def lost_updates(statements: Sequence[Statement], log: Sequence[Version]) -> int:
    """Lines that agents wrote and that are gone although nothing else of their slot stands in their place.

    Looked for in each version that dropped a line, and at the end.
    """
    written = {one.line: one for one in statements if one.new}
    at_end = _lines(log[-1]) if log else []
    lost = {text for text, one in written.items() if not any(terms(one.slot) <= line for line in at_end)}
    for before, after in pairwise(log):
        lines = _lines(after)
        for text in set(before.value.split("\n")) - set(after.value.split("\n")):
            if text in written and not any(terms(written[text].slot) <= line for line in lines):
                lost.add(text)
    return len(lost)


def freshness_over(told: Sequence[tuple[float, Statement]], log: Sequence[Version]) -> float:
    """The mean over the ends of turns of the share of slots of which the block has the newest value and no older one.

    ``told``: when each turn ended, in Unix seconds, and what was said in it.
    """
    values: dict[str, list[Statement]] = {}
    shares = []
    for at, one in sorted(told, key=lambda pair: pair[0]):
        values.setdefault(one.slot, []).append(one)
        known = [version for version in log if version.at <= at]
        lines = _lines(known[-1]) if known else []
        shares.append(sum(_right(had, lines) for had in values.values()) / len(values))
    return float(np.mean(shares))


def _right(values: Sequence[Statement], lines: Sequence[frozenset[str]]) -> bool:
    now = values[-1]
    older = [one for one in values[:-1] if one.value != now.value]
    return _stands(now.mark, lines) and not any(_stands(one.mark, lines) for one in older)


def _stands(mark: Mark, lines: Sequence[frozenset[str]]) -> bool:
    return any(mark.stands_in(line) for line in lines)


def _lines(version: Version) -> list[frozenset[str]]:
    return [terms(text) for text in version.value.split("\n") if text]


@dataclass(frozen=True, slots=True)
class _Played:
    log: Sequence[Version]
    acknowledged: int
    told: Sequence[tuple[float, Statement]]
    latencies: Sequence[float]
    passes: int
    retries: int
    conflicts: int
    commands: int
    seconds: float


def _writer(request: ModelRequest) -> ModelReply:
    """Writes what is new into the block, and says whether that was acknowledged."""
    last = request.messages[-1]
    if last.role == "user" and " is now " in last.text:
        return ModelReply(Message("assistant", "noted"))
    if last.role == "user":
        call = ToolCall(uuid.uuid4().hex, "core_memory_append", {"label": LABEL, "content": last.text})
        return ModelReply(Message("assistant", "", (call,)))
    return ModelReply(Message("assistant", "not written" if last.is_error else "written"))


async def _play(settings: SharedWriters, writers: int, folder: str, every: int | None) -> _Played:
    shared = Block(label=LABEL, scope="shared", limit=settings.limit, description="What the teams have.")
    cluster = {"namespace": f"writers-{writers}-{every or 'off'}", "data_dir": folder}
    began = time.perf_counter()
    async with Runtime.start(cluster, inline=True) as runtime:
        model = FunctionModel(_writer)
        names = [f"writer-{number}" for number in range(1, writers + 1)]
        for name in names:
            sleeptime = Sleeptime(every=every, consolidator="extractive", blocks=(LABEL,))
            await runtime.register(
                Agent(name=name, model=model, blocks=(shared,), memory_tools=True, sleeptime=sleeptime, archive=False)
            )
        latencies: list[float] = []
        told: list[tuple[float, Statement]] = []
        written = 0

        async def turns(number: int, name: str) -> None:
            nonlocal written
            for one in said_by(number, settings.turns):
                start = time.perf_counter()
                result = await runtime.run(name, one.text, session_id=name)
                latencies.append(time.perf_counter() - start)
                told.append((time.time(), one))
                written += result.output == "written"

        before = await _commands(runtime)
        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(names, 1):
                group.create_task(turns(number, name))
        commands = await _commands(runtime) - before
        await runtime.drain()
        (block,) = await runtime.blocks.list(label=LABEL)
        log = [one for one in await runtime.blocks.log(block.id) if one.value]
        reports = [loads(text) for name in names for text in await PassStore(runtime.store).reports(f"{name}|{name}")]
    return _Played(
        log,
        written,
        told,
        latencies,
        len(reports),
        sum(int(report["merges"]) for report in reports),
        sum(int(report["conflicts"]) for report in reports),
        commands,
        time.perf_counter() - began,
    )


async def _commands(runtime: Runtime) -> int:
    """How many commands the server has carried out; those inside scripts count."""
    stats = cast("Mapping[str, object]", await runtime.store.redis.info("stats"))
    return int(str(stats["total_commands_processed"]))
