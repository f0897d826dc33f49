"""What a prompt costs: ``python -m benchmarks.context``.

The view of a session of 4,000 messages with 60 large tool results, in English and in Korean: on a cold host (Redis
included), from parsed messages, and with one message more. Medians; nothing here is a test.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.turns import machine
from orchestra import Agent, Runtime
from orchestra.context.assembly import Surroundings, assemble
from orchestra.context.decisions import NO_DECISIONS, Decisions
from orchestra.context.view import TAIL_ENTRIES, LogView
from orchestra.core.conversation import Conversation
from orchestra.core.messages import Message, Meta, ToolCall
from orchestra.core.tokens import message_tokens
from orchestra.memory.sessions import readable
from orchestra.store.context_store import ContextStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel

SAID = {"English": "word and word again ", "Korean": "오늘 아침에 부산에서 배가 "}
MESSAGES, LARGE = 4_000, 60
WINDOW = 200_000


def session(text: str) -> list[Message]:
    """``MESSAGES`` messages, ``LARGE`` of them tool results of 8,000 characters."""
    made: list[Message] = []
    every = MESSAGES // LARGE
    while len(made) < MESSAGES:
        number = len(made)
        if number % every == every - 3:
            call = ToolCall(f"c{number}", "read", {"number": number})
            made.append(Message("assistant", "", (call,)))
            made.append(Message("tool", (text * 800)[:8_000], tool_call_id=call.id, name="read"))
        else:
            made.append(Message("assistant" if number % 2 else "user", f"{number} {text * 5}"))
    return made[:MESSAGES]


def timed(work: Callable[[], object], times: int = 25) -> float:
    """The median in milliseconds."""
    out = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        out.append((time.perf_counter() - start) * 1000)
    return statistics.median(out)


def log_of(messages: Sequence[Message], tokens: Sequence[int]) -> LogView:
    """The view of a log, as a host caches it."""
    log = LogView()
    for message, size in zip(messages, tokens, strict=True):
        log.add(message, size)
    return log


async def cold(runtime: Runtime, times: int = 15) -> float:
    """From Redis: the record, the log, messages from JSON, and the view."""
    threads, contexts = ThreadStore(runtime.store), ContextStore(runtime.store)
    out = []
    for _ in range(times):
        start = time.perf_counter()
        await contexts.record("a|long")
        log = LogView()
        for entry, message in readable(await threads.entries("a|long", -TAIL_ENTRIES)):
            log.add(message, entry.tokens)
        shown(log, last_call=None)
        out.append((time.perf_counter() - start) * 1000)
    return statistics.median(out)


def shown(log: LogView, *, last_call: float | None, decided: Decisions = NO_DECISIONS) -> int:
    """One view; without a last call the pruning is decided anew, else the cache is warm."""
    around = Surroundings(WINDOW, 2_000, 1_000.0, last_call)
    turn = [Message("user", "and now?")]
    made = assemble(log, turn, decided=decided, conversation=Conversation(), around=around)
    return len(made.history)


async def rows(name: str, runtime: Runtime) -> list[tuple[str, str, str]]:
    """The three figures of one language."""
    await runtime.register(Agent(name="a", model=FunctionModel(lambda request: "ok")))
    items = session(SAID[name])
    for start in range(0, MESSAGES, 500):
        await runtime.session("long", "a").add_items(items[start : start + 500])
    parsed = [m.with_meta(Meta(seq=number)) for number, m in enumerate(items, 1)]
    tokens = [message_tokens(message) for message in parsed]
    log = log_of(parsed, tokens)
    more = iter(range(MESSAGES + 1, MESSAGES + 1_000))

    def one_more() -> None:
        log.add(Message("user", "one more", meta=Meta(seq=next(more))), 2)
        shown(log, last_call=999.0)

    fresh = timed(lambda: shown(log_of(parsed, tokens), last_call=None))
    estimate = timed(lambda: sum(map(message_tokens, parsed)))
    return [
        (f"{name}: cold, Redis included", f"{await cold(runtime):.1f} ms", "60 ms"),
        (f"{name}: from parsed messages, pruning decided", f"{fresh:.2f} ms", "5 ms"),
        (f"{name}: one message more, the cache warm", f"{timed(one_more):.2f} ms", "1 ms"),
        (f"{name}: estimating all tokens (a log stores them)", f"{estimate:.1f} ms", ""),
    ]


async def main() -> None:
    """Measure and print."""
    console = Console(width=110)
    console.print(f"{time.strftime('%Y-%m-%d')}, {machine()}; {MESSAGES} messages, {LARGE} results of 8,000 characters")
    table = Table("row", "median", "target")
    for name in SAID:
        with tempfile.TemporaryDirectory(prefix="orchestra-bench-", ignore_cleanup_errors=True) as folder:
            config = {"data_dir": folder, "hosts": {"sleeptime": 0}}
            async with Runtime.start(config, inline=True) as runtime:
                for row in await rows(name, runtime):
                    table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    asyncio.run(main())
