"""The program that the chaos tests kill: it plays turns, acknowledges each in a file, and goes on where it was.

``python -m tests.chaos.player FOLDER TURNS``. What is counted afterwards stands in files of FOLDER or in Redis.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from orchestra import Agent, Block, Runtime, Sleeptime, ToolContext, tool
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from orchestra.store.pass_store import PassStore

FOLDER = Path(os.environ.get("CHAOS_FOLDER", "."))


def note(file: str, line: str) -> None:
    """Append one line, synced: what is acknowledged here stays, whoever is killed next."""
    out = os.open(FOLDER / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(out, f"{line}\n".encode())
        os.fsync(out)
    finally:
        os.close(out)


@tool
def charge(what: str, ctx: ToolContext) -> str:
    """Do something that must not be done twice."""
    ctx.agent.state.increment("charged")
    note("charged", f"{ctx.run_id} {what}")
    return f"charged {what}"


class Primary:
    """Two rounds of tools, then an answer: what is said depends on the conversation alone."""

    name = "primary"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        messages = [m for m in request.messages if m.role != "user" or not m.meta.synthetic]  # no notes on blocks
        since = [message.role for message in reversed(messages)].index("user")
        said = messages[-1 - since].text
        calls = {
            0: (ToolCall("a", "charge", {"what": said}),),
            2: (ToolCall("b", "core_memory_append", {"label": "notes", "content": said}),),
        }.get(since, ())
        yield ModelReply(Message("assistant", "" if calls else f"heard {said}", calls), Usage(1, 1))


class Sleeper:
    """Writes down which messages its transcript had."""

    name = "sleeper"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One line into the block, then the end."""
        user = next(message for message in request.messages if message.role == "user")
        seqs = re.findall(r"^\[(\d+)\]", user.text, re.MULTILINE)
        calls = (
            ToolCall("a", "core_memory_append", {"label": "seen", "content": " ".join(seqs)}),
            ToolCall("b", "memory_finish_edits", {}),
        )
        yield ModelReply(Message("assistant", "", calls), Usage(1, 1))


PRIMARY, SLEEPER = Primary(), Sleeper()
AGENT = Agent(
    name="cashier",
    model=PRIMARY,
    tools=(charge,),
    memory_tools=True,
    blocks=(Block(label="notes", limit=100_000), Block(label="seen", limit=100_000)),
    sleeptime=Sleeptime(every=2, consolidator="llm", model=SLEEPER, blocks=("seen",)),
)


async def main(turns: int) -> None:
    """Play the turns that are not acknowledged yet, wait for the passes, and say so."""
    done = FOLDER / "acknowledged"
    played = len(done.read_text().splitlines()) if done.exists() else 0
    config = {"data_dir": str(FOLDER / "data"), "namespace": "chaos", "hosts": {"heartbeat_seconds": 0.4}}
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(AGENT)
        note("started", str(os.getpid()))
        for number in range(played, turns):
            result = await runtime.run("cashier", f"item {number}", session_id="s", run_id=f"run-{number}")
            assert result.status == "completed", result
            note("acknowledged", f"{number} {result.turn}")
        passes = PassStore(runtime.store)
        async with asyncio.timeout(60):
            while await passes.pending():
                await asyncio.sleep(0.02)
        note("finished", str(turns))


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    os.environ["CHAOS_FOLDER"] = sys.argv[1]
    import tests.chaos.player as importable  # the models and tools must be found by their import path

    importable.FOLDER = FOLDER
    asyncio.run(importable.main(int(sys.argv[2])))
