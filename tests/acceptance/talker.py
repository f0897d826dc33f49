"""A program for the tests that kill programs: plays numbered turns on Ray and writes down what its model was asked.

``python -m tests.acceptance.talker FOLDER FIRST LAST [--inline]``. The model runs in a host, so its file is the proof.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from orchestra import Agent, Block, Runtime, Sleeptime, ToolContext, tool
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage


class Recorder:
    """Notes the city by a tool, then answers; each request goes into a file, with the pid that served it."""

    name = "recorder"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        folder = Path(os.environ["TALKER_FOLDER"])
        asked = {
            "messages": [message.to_json(meta=False) for message in request.messages],
            "tools": [[spec.name, spec.description, dict(spec.parameters)] for spec in request.tools],
            "settings": dict(request.settings),
            "call_number": request.call_number,
        }
        with (folder / "requests").open("a") as out:
            out.write(json.dumps({"pid": os.getpid(), "asked": json.dumps(asked, ensure_ascii=False)}) + "\n")
        if request.messages[-1].role == "user":
            city = ToolCall("a", "note_city", {"city": request.messages[-1].text})
            memory = ToolCall("b", "core_memory_append", {"label": "human", "content": request.messages[-1].text})
            yield ModelReply(Message("assistant", "", (city, memory)), Usage(1, 1))
        else:
            yield ModelReply(Message("assistant", f"answer {request.call_number}"), Usage(1, 1))


@tool
def note_city(city: str, ctx: ToolContext) -> str:
    """Note the city that was asked about."""
    seen = str(ctx.invocation_state.get("secret", ""))
    ctx.agent.state.set("last_city", city)
    digest = hashlib.sha256(seen.encode()).hexdigest()  # proves that it was seen without writing it down
    (Path(os.environ["TALKER_FOLDER"]) / "deepest").write_text(f"{os.getpid()} {digest}")
    if os.environ.get("TALKER_LEAK"):
        return f"noted for {seen}"
    if os.environ.get("TALKER_RAISE"):
        held = {"a local variable": seen}
        raise RuntimeError(f"failed on purpose with {len(held)} local")
    return f"noted, {ctx.agent.state.increment('count'):g} so far"


MODEL = Recorder()
AGENT = Agent(
    name="talker",
    model=MODEL,
    instructions="Talk about cities.",
    tools=(note_city,),
    memory_tools=True,
    blocks=(
        Block(label="human", scope="user", description="The user."),
        Block(label="persona", value="Calm.", read_only=True),
    ),
    sleeptime=Sleeptime(every=50, consolidator="extractive"),
)
CITIES = ("Lisbon 🌊", "서울", "Kyoto", "Oslo", "Rome")


async def main(folder: Path, first: int, last: int, *, inline: bool) -> None:
    """Play the turns ``first`` to ``last``; then stand still until the test ends this program."""
    config = {"data_dir": str(folder / "data"), "namespace": "talk", "ray": {"num_cpus": 2, "object_store_mb": 78}}
    secret = os.environ.get("TALKER_SECRET", "")
    async with Runtime.start(config, inline=inline) as runtime:
        await runtime.register(AGENT)
        for number in range(first, last + 1):
            result = await runtime.run(
                "talker",
                CITIES[number % len(CITIES)],
                session_id="s",
                user_id="u",
                run_id=f"run-{number}",
                invocation_state={"secret": secret} if secret else None,
            )
            assert result.status == "completed", result
            print(json.dumps({"turn": result.turn, "host": result.host, "output": result.output}), flush=True)
        print("ready", flush=True)
        if os.environ.get("TALKER_STAY"):
            await asyncio.Event().wait()


if __name__ == "__main__":
    os.environ["TALKER_FOLDER"] = sys.argv[1]
    import tests.acceptance.talker as importable  # the model and tool must be found by their import path

    asyncio.run(importable.main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), inline="--inline" in sys.argv))
