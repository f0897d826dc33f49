"""Swarms, graphs and tool turns beside Strands Agents and the OpenAI Agents SDK, in one process and one run.

``python -m benchmarks.patterns [--rounds 5] [--rows swarm,graph,…]``, with the extra ``bench`` in an environment of its
own: Strands Agents wants older packages (``mcp`` below 2.2) than constraints.txt pins for the tests. All models answer
at once; the candidates take turns in every round, so that all see the same load. Making agents, sessions and managers
is not timed. Each run's answer and its number of model calls are checked. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from importlib.metadata import version
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.our_runs import Ours
from benchmarks.peer_sdk import Sdk
from benchmarks.peer_strands import Strands
from benchmarks.shapes import DONE, SHAPES, Candidate, Shape
from benchmarks.turns import machine, runtime_of

# Runs of one candidate in a row, about a tenth of a second of them.
BLOCKS = {"swarm": 6, "graph": 6, "chain": 4, "child": 10, "tools": 1}
NUMBERS = count()
Found = dict[tuple[Shape, str], list[float]]


async def block(candidate: Candidate, shape: Shape, runs: int) -> list[float]:
    """Milliseconds of each run."""
    out = []
    for _ in range(runs):
        made = candidate.prepare(shape, next(NUMBERS))
        start = time.perf_counter()
        answer, calls = await made.run()
        out.append((time.perf_counter() - start) * 1000)
        made.close()
        expected = (DONE, candidate.model_calls(shape))
        assert (answer, calls) == expected, f"{candidate.name}, {shape.title}: {(answer, calls)} and not {expected}"
    return out


async def measure(rounds: int, kinds: set[str]) -> tuple[Found, list[list[str]]]:
    """All times, and the names of the candidates: those that store nothing, and those that store."""
    found: Found = {}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orchestra-bench-")))
        runtimes = {}
        for durability in ("everysec", "always"):
            runtimes[durability] = await stack.enter_async_context(runtime_of(durability, inline=True))
            await Ours.register(runtimes[durability])
        bare: list[Candidate] = [Ours("ours", runtimes["everysec"], stored=False), Strands(None), Sdk(None)]
        kept: list[Candidate] = [
            *(Ours(f"ours, {name}", runtime, stored=True) for name, runtime in runtimes.items()),
            *(Strands(folder), Sdk(folder)),
        ]
        everyone = [*bare, *kept]
        for shape in (shape for shape in SHAPES if shape.kind in kinds):
            for candidate in everyone:
                await block(candidate, shape, 2)
            for number in range(rounds):
                for place in range(len(everyone)):
                    candidate = everyone[(place + number) % len(everyone)]
                    gc.collect()
                    times = await block(candidate, shape, BLOCKS[shape.kind])
                    found.setdefault((shape, candidate.name), []).extend(times)
    return found, [[candidate.name for candidate in group] for group in (bare, kept)]


def table(found: Found, names: list[str], ours: int, title: str) -> Table:
    """Medians in ms; the last columns say how many times our time the fastest peer takes. ``ours`` columns are ours."""
    made = Table("row", *names, *(f"fastest peer / {name}" for name in names[:ours]), title=title)
    for shape in dict.fromkeys(shape for shape, _ in found):
        values = [statistics.median(found[shape, name]) for name in names]
        fastest = min(values[ours:])
        made.add_row(shape.title, *(f"{value:.2f}" for value in values), *(f"{fastest / v:.2f}" for v in values[:ours]))
    return made


def growth(found: Found, names: list[str]) -> Table:
    """Milliseconds per tool turn: a run that grows linearly has the same in each row."""
    made = Table("tool turns", *names, title="milliseconds a tool turn")
    for shape in dict.fromkeys(shape for shape, _ in found):
        if shape.kind == "tools":
            values = [statistics.median(found[shape, name]) / shape.count for name in names]
            made.add_row(str(shape.count), *(f"{value:.2f}" for value in values))
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", default="swarm,graph,chain,child,tools")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    found, (bare, kept) = asyncio.run(measure(arguments.rounds, set(arguments.rows.split(","))))
    console = Console(width=190)
    peers = ", ".join(f"{name} {version(name)}" for name in ("strands-agents", "openai-agents"))
    console.print(f"{time.strftime('%Y-%m-%d')}, {machine()}; {peers}; medians of {arguments.rounds} rounds, ms")
    console.print(table(found, bare, 1, "nothing stored"))
    console.print(table(found, kept, 2, "stored: ours in Valkey, journaled; theirs in files and SQLite"))
    console.print(growth(found, [*bare, *kept]))


if __name__ == "__main__":
    main()
