"""What a turn costs, inline and through Ray: ``python -m benchmarks.turns [--rows inline,history,agents,blocks,ray]``.

Every row holds the lease, journals and commits. Medians; the output describes the machine. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.instant import NO_TOOL, ONE_TOOL
from orchestra import Agent, Block, Runtime, ToolContext, tool
from orchestra.core.events import RunEnded
from orchestra.core.messages import Message

CACHE_MB = 24  # the default

BLOCKS = (
    Block(label="persona", value="I am brisk and concrete.", read_only=True),
    Block(label="human", scope="user", value="Ana lives in Lisbon.\n" * 10),
    Block(label="team", scope="shared", value="Notes of all agents.\n" * 10),
)


@tool
async def note(text: str, ctx: ToolContext) -> str:
    """Note something."""
    ctx.agent.state.set("last", text)
    return "noted"


PLAIN = Agent(name="plain", model=NO_TOOL, instructions="Help.", blocks=BLOCKS)
TOOLED = Agent(name="tooled", model=ONE_TOOL, instructions="Help.", blocks=BLOCKS, tools=(note,))


@dataclass(frozen=True, slots=True)
class Row:
    """One measured row, with what it was measured on."""

    name: str
    median: str
    p95: str
    durability: str
    tools: int
    history: str
    cache: str
    commands: str
    syncs: str
    target: str


@asynccontextmanager
async def runtime_of(durability: str, *, inline: bool, **hosts: object) -> AsyncIterator[Runtime]:
    """A runtime on fresh data."""
    with tempfile.TemporaryDirectory(prefix="orchestra-bench-", ignore_cleanup_errors=True) as folder:
        config = {"data_dir": folder, "redis": {"durability": durability}, "hosts": {"sleeptime": 0, **hosts}}
        async with Runtime.start(config, inline=inline) as runtime:
            yield runtime


async def timed(call: Callable[[], Awaitable[object]], count: int) -> list[float]:
    """Milliseconds of each call, after a tenth of them to warm up."""
    for _ in range(max(3, count // 10)):
        await call()
    out = []
    for _ in range(count):
        start = time.perf_counter()
        await call()
        out.append((time.perf_counter() - start) * 1000)
    return sorted(out)


async def calls(runtime: Runtime) -> tuple[int, int]:
    """(script calls, writing script calls) of the server so far; a write is one sync under ``always``."""
    stats = await runtime.store.redis.info("commandstats")
    evals = stats.get("cmdstat_evalsha", {}).get("calls", 0)
    return int(evals), int(evals)


def row(name: str, times: list[float], commands: float, durability: str, target: str, **more: object) -> Row:
    """A row from measured times."""
    fields = {"tools": 0, "history": "growing", "cache": "warm", **more}
    syncs = f"{commands:.0f}" if durability == "always" else "1/s"
    median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
    return Row(
        *(name, f"{median:.2f} ms", f"{p95:.2f} ms", durability, int(str(fields["tools"]))),
        *(str(fields["history"]), str(fields["cache"]), f"{commands:.1f}", syncs, target),
    )


async def turns(inline: bool) -> list[Row]:
    """One turn without and with a tool."""
    rows = []
    for durability in ("always", "everysec"):
        async with runtime_of(durability, inline=inline) as runtime:
            await runtime.register(PLAIN, TOOLED)
            for agent, tools in ((PLAIN, 0), (TOOLED, 1)):
                if not inline and tools:
                    continue
                count = 400
                before, _ = await calls(runtime)
                times = await timed(lambda a=agent: runtime.run(a.name, "hello", session_id="s", user_id="u"), count)  # type: ignore[misc]
                done = ((await calls(runtime))[0] - before) / (count + count // 10)
                where = "inline" if inline else "through Ray"
                target = ("1 ms", "2 ms")[tools] if inline else "3.5 ms"
                name = f"{where}, {'one tool' if tools else 'no tool'}"
                rows.append(row(name, times, done, durability, target, tools=tools))
            if not inline:
                rows.append(
                    row("through Ray, stream's first event", await first_events(runtime), 0, durability, "5 ms")
                )
    return rows


async def first_events(runtime: Runtime) -> list[float]:
    """Milliseconds until a stream's first event."""
    out = []
    for _ in range(200):
        start = time.perf_counter()
        first = None
        async for event in runtime.stream("plain", "hello", session_id="s", user_id="u"):
            first = first or time.perf_counter()
            if isinstance(event, RunEnded):
                break
        out.append(((first or start) - start) * 1000)
    return sorted(out)


async def history() -> list[Row]:
    """4,000 stored messages against none, warm and cold."""
    rows = []
    async with runtime_of("always", inline=True) as runtime:
        await runtime.register(PLAIN)
        session = runtime.session("long", "plain")
        for start in range(0, 4000, 500):
            roles = ("user", "assistant")
            await session.add_items(
                [Message(roles[i % 2], f"message {i} " + "word " * 20) for i in range(start, start + 500)]
            )  # type: ignore[arg-type]
        none = await timed(lambda: runtime.run("plain", "hello", session_id=f"n{time.time_ns()}", user_id="u"), 150)
        few = await timed(lambda: runtime.run("plain", "hello", session_id="few", user_id="u"), 150)
        warm = await timed(lambda: runtime.run("plain", "hello", session_id="long", user_id="u"), 150)
        threads = runtime._inline_host.caches.threads
        cold = []
        for _ in range(15):
            threads.clear()
            start_at = time.perf_counter()
            await runtime.run("plain", "hello", session_id="long", user_id="u")
            cold.append((time.perf_counter() - start_at) * 1000)
        ratio = statistics.median(warm) / statistics.median(few)
        rows.append(row("inline, first turn of a session", none, 2, "always", "", history="0", cache="cold"))
        rows.append(row("inline, short session", few, 2, "always", "", history="0 to 330"))
        rows.append(row(f"inline, long session ({ratio:.2f} times)", warm, 2, "always", "1.3 times", history="4000"))
        rows.append(
            row("inline, long session, cold host", sorted(cold), 2, "always", "50 ms", history="4000", cache="cold")
        )
    return rows


async def agents() -> list[Row]:
    """10,000 distinct agents: registering, and what they add to a host's memory."""

    def one(number: int) -> Agent:
        blocks = (
            Block(label="persona", value=f"I am agent {number}.", description="Who I am."),
            Block(label="human", scope="user", description="Who I talk to."),
        )
        return Agent(
            name=f"agent-{number}",
            model=ONE_TOOL,
            instructions=f"You are agent {number}. " * 10,
            blocks=blocks,
            tools=(note,),
        )

    async with runtime_of("always", inline=True, cache_mb=CACHE_MB) as runtime:
        me = psutil.Process()
        start = time.perf_counter()
        for base in range(0, 10_000, 100):
            await runtime.register(*(one(number) for number in range(base, base + 100)))
        registering = time.perf_counter() - start

        async def play(first: int, last: int) -> None:
            for number in range(first, last):
                await runtime.run(f"agent-{number}", "hello", session_id=f"s{number}", user_id=f"u{number}")

        await play(0, 1000)
        small = me.memory_info().rss
        await play(1000, 10_000)
        grown = (me.memory_info().rss - small) / 1e6
    blank = ("", "always", 1, "one turn each", f"{CACHE_MB} MB", "", "")
    return [
        Row("registering 10,000 distinct agents", f"{registering:.1f} s", *blank, "10 s"),
        Row("memory of the host, 1,000 → 10,000 agents", f"{grown:.1f} MB", *blank, "20 MB"),
    ]


async def blocks() -> list[Row]:
    """64 writers on one block; an edit on one host in the prompt of another."""
    async with runtime_of("always", inline=True) as runtime:
        made = await runtime.blocks.create(Block(label="shared", scope="shared", limit=1_000_000))
        before, _ = await calls(runtime)
        start = time.perf_counter()

        async def writer(number: int) -> None:
            for line in range(20):
                await runtime.blocks.append(made.id, f"writer {number} line {line}")

        await asyncio.gather(*(writer(number) for number in range(64)))
        seconds = time.perf_counter() - start
        commands = ((await calls(runtime))[0] - before) / (64 * 20)
        lines = (await runtime.blocks.get(made.id)).value.count("\n") + 1
        assert lines == 64 * 20
    per = seconds * 1000 / (64 * 20)
    return [
        Row(
            "64 writers on one block, an append",
            f"{per:.2f} ms",
            "",
            "always",
            0,
            "1280 lines",
            "",
            f"{commands:.2f}",
            "",
            "1 command",
        )
    ]


ROWS: dict[str, Callable[[], Awaitable[list[Row]]]] = {
    "inline": lambda: turns(inline=True),
    "history": history,
    "agents": agents,
    "blocks": blocks,
    "ray": lambda: turns(inline=False),
}


def machine() -> str:
    """This machine and the versions, in one line."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores ({cpu}), {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS))
    wanted = parser.parse_args().rows.split(",")
    console = Console(width=170)
    console.print(
        f"{time.strftime('%Y-%m-%d')}, {machine()}; 3 blocks in every turn; sync = write acknowledged after fsync"
    )
    table = Table(*("row", "median", "p95", "durability", "tools", "history", "cache", "commands", "syncs", "target"))
    for name in wanted:
        for item in asyncio.run(ROWS[name]()):  # type: ignore[arg-type]
            table.add_row(*(str(getattr(item, field)) for field in item.__slots__))
    console.print(table)


if __name__ == "__main__":
    main()
