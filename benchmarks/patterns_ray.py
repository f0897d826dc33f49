"""What the distribution costs: a chain of 20 nodes through Ray, and one host against two where tools are bound by the
processor. ``python -m benchmarks.patterns_ray [--rounds 5]``. Medians. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from itertools import count

from rich.console import Console
from rich.table import Table

from benchmarks.our_runs import Ours, Scripted
from benchmarks.shapes import DONE, Shape
from benchmarks.turns import machine, runtime_of
from orchestra import Agent, Runtime, tool

NODES, RUNS, LOOPS = 20, 48, 2_000_000
CHAIN = Shape("chain", NODES)
NUMBERS = count()


@tool
async def compute(text: str) -> str:
    """Keep the processor busy, in Python, for about a tenth of a second."""
    total = 0
    for number in range(LOOPS):
        total += number * number % 7
    return f"{text} {total}"


BUSY = Agent(name="busy", model=Scripted("compute", {"text": "x"}, 1), tools=(compute,))


async def chain(runtime: Runtime, *, stored: bool, rounds: int) -> float:
    """Milliseconds a node."""
    ours, times = Ours("", runtime, stored=stored), []
    for _ in range(rounds * 4):
        made = ours.prepare(CHAIN, next(NUMBERS))
        start = time.perf_counter()
        assert (await made.run())[0] == DONE
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[2:]) / NODES


async def throughput(runtime: Runtime, rounds: int) -> list[float]:
    """Runs a second, ``RUNS`` at a time; the first round warms up."""
    await runtime.register(BUSY)
    found = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        results = await asyncio.gather(
            *(runtime.run("busy", "go", session_id=f"s{next(NUMBERS)}") for _ in range(RUNS))
        )
        found.append(RUNS / (time.perf_counter() - start))
        assert all(result.output == DONE for result in results)
    return found[1:]


async def measure(rounds: int) -> Table:
    table = Table("row", "", "target", title="through Ray")
    places = {"inline": {}, "through Ray, one host": {"primary": 1}, "through Ray, two hosts": {"primary": 2}}
    for durability in ("everysec", "always"):
        for place, hosts_of in places.items():
            async with runtime_of(durability, inline=not hosts_of, **hosts_of) as runtime:
                await Ours.register(runtime)
                for stored in (False, True):
                    spent = await chain(runtime, stored=stored, rounds=rounds)
                    kept = f"journaled, {durability}" if stored else "without a session"
                    target = "3.5 ms" if stored and hosts_of and durability == "always" else ""
                    if stored or durability == "everysec":
                        table.add_row(f"a node of a chain of {NODES}, {kept}, {place}", f"{spent:.2f} ms", target)
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(2):
        for number, speeds in found.items():
            async with runtime_of("everysec", inline=False, primary=number) as runtime:
                speeds.extend(await throughput(runtime, rounds))
    hosts = {number: statistics.median(speeds) for number, speeds in found.items()}
    table.add_row("tools bound by the processor, one host", f"{hosts[1]:.1f} runs/s", "")
    table.add_row("two hosts", f"{hosts[2]:.1f} runs/s", "")
    table.add_row("two hosts / one", f"{hosts[2] / hosts[1]:.2f}", "1.5")
    if (os.cpu_count() or 1) < 4:
        table.add_row("three hosts / one", "not measured", "2.5, with four processors")
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    console = Console(width=130)
    console.print(f"{time.strftime('%Y-%m-%d')}, {machine()}; load {os.getloadavg()[0]:.1f} before")
    console.print(asyncio.run(measure(rounds)))


if __name__ == "__main__":
    main()
