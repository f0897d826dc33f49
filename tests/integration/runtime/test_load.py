"""Many sessions at once, and a pass that sleeps while turns go on."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import cast

from orchestra import Agent, Block, Runtime, Sleeptime
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.store.pass_store import PassStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.sleeping import NOTES, Sleeper, drained, passes, primary

SESSIONS = [f"s{number}" for number in range(20)]


async def test_twenty_sessions_with_five_parallel_runs_each(runtime: Runtime) -> None:
    def echo(text: str) -> str:
        """Say it again."""
        return text

    async def answer(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "tool":
            return f"answer to {request.messages[-1].text}"
        return reply(calls=[call("echo", text=request.messages[-1].text)])

    sleeper = Sleeper()
    agent = Agent(
        name="a",
        model=FunctionModel(answer),
        tools=(echo,),
        blocks=(Block(label="notes", scope="session"),),
        sleeptime=Sleeptime(every=5, model=sleeper.model),
    )
    await runtime.register(agent)
    runs = [runtime.run("a", f"{name} {n}", session_id=name) for n in range(5) for name in SESSIONS]
    results = await asyncio.gather(*runs)
    assert all(result.status == "completed" for result in results)
    await asyncio.gather(*(passes(runtime.store, 1, name) for name in SESSIONS))
    await drained(runtime.store)
    for name in SESSIONS:
        log = cast("list[Message]", await runtime.session(name, "a").get_items())
        assert [message.meta.seq for message in log] == list(range(1, 21))
        assert [message.meta.turn for message in log] == [turn for turn in range(1, 6) for _ in range(4)]
        for start in range(0, 20, 4):
            user, asks, found, answers = log[start : start + 4]
            assert [m.role for m in (user, asks, found, answers)] == ["user", "assistant", "tool", "assistant"]
            assert user.text == found.text == f"{name} {start // 4}"
            assert (asks.tool_calls[0].id, answers.text) == (found.tool_call_id, f"answer to {user.text}")
            assert len({m.meta.run for m in (user, asks, found, answers)}) == 1
        assert len(await PassStore(runtime.store).reports(f"a|{name}")) == 1
        assert (await ThreadStore(runtime.store).head(f"a|{name}"))["watermark"] == "20"
    assert sorted(sleeper.read) == [list(range(1, 21))] * 20


async def test_a_pass_that_sleeps_delays_no_turn(runtime: Runtime) -> None:
    """Turns of the same session and of others are answered while it is in flight; their times are printed."""
    going, on = asyncio.Event(), asyncio.Event()

    async def act(request: ModelRequest) -> ModelReply:
        going.set()
        await on.wait()
        return reply(calls=[call("memory_finish_edits")])

    async def times(name: str, turns: int) -> list[float]:
        taken = []
        for number in range(turns):
            start = time.perf_counter()
            assert (await runtime.run("a", f"{number}", session_id=name)).status == "completed"
            taken.append(time.perf_counter() - start)
        return taken

    await runtime.register(primary(Sleeper(act).model, every=1000, blocks=(NOTES,)))
    before = await times("s", 100)
    await runtime.register(primary(Sleeper(act).model, every=101, blocks=(NOTES,)))
    await runtime.run("a", "due", session_id="s")
    await going.wait()
    during = await times("s", 100)
    await times("other", 10)
    assert await PassStore(runtime.store).reports("a|s") == []  # still in flight
    on.set()
    await passes(runtime.store, 1)
    p95 = [1000 * statistics.quantiles(taken, n=20)[-1] for taken in (before, during)]
    print(f"p95 of a turn: {p95[0]:.1f} ms without a pass, {p95[1]:.1f} ms with one in flight")
    assert p95[1] < 10 * p95[0] + 50  # a turn that waited for the pass would not have ended at all
