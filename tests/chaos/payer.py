"""The program that the tests of waiting runs kill: it begins a run or goes on with it, and approves what it asks.

``python -m tests.chaos.payer FOLDER STEP``; the step is ``ask`` (begin, then stand still) or ``finish`` (to the end).
What is counted afterwards stands in files of FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from orchestra import Agent, Approve, Runtime, ToolContext, tool
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from tests.chaos.player import note


@tool
def look(ctx: ToolContext) -> str:
    """Look at the bill."""
    note("looked", ctx.run_id)
    ctx.agent.state.increment("looked")
    return "12 euros"


@tool(needs_approval=True)
async def pay(amount: int, ctx: ToolContext) -> str:
    """Pay, which must not be done twice."""
    await ctx.once("booked", lambda: note("booked", ctx.run_id))
    note("paid", f"{ctx.run_id} {amount}")
    return f"paid {amount}"


class Careful:
    """Looks and pays in one reply, then says so."""

    name = "careful"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        note("asked", str(request.call_number))
        calls = (ToolCall("a", "pay", {"amount": 12}), ToolCall("b", "look", {}))
        first = request.messages[-1].role == "user"
        yield ModelReply(Message("assistant", "" if first else "all done", calls if first else ()), Usage(1, 1))


MODEL = Careful()
AGENT = Agent(name="payer", model=MODEL, tools=(look, pay))


async def main(folder: Path, step: str) -> None:
    """Begin, or go on."""
    config = {"data_dir": str(folder / "data"), "namespace": "chaos", "hosts": {"heartbeat_seconds": 0.4}}
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(AGENT)
        result = await runtime.run("payer", "pay the bill", session_id="s", run_id="r")
        note("waits", json.dumps([one.id for one in result.interrupts]))
        if step == "ask":
            await asyncio.Event().wait()
        if result.status == "interrupted":
            result = await runtime.resume("r", {one.id: Approve() for one in result.interrupts})
        texts = {message.name: message.text for message in result.messages if message.role == "tool"}
        note("ended", json.dumps([result.status, result.output, texts]))


if __name__ == "__main__":
    os.environ["CHAOS_FOLDER"] = sys.argv[1]
    import tests.chaos.payer as importable  # the model and tools must be found by their import path
    import tests.chaos.player as player

    player.FOLDER = Path(sys.argv[1])
    asyncio.run(importable.main(Path(sys.argv[1]), sys.argv[2]))
