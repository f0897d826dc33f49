"""A program for the canary test: a graph, a swarm in it, and agents that call agents, on three hosts of a Ray.

``python -m tests.acceptance.deep_talker FOLDER``. The deepest tool writes down who it is and what it saw, hashed; each
level writes down which process served it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from orchestra import Agent, Edge, Graph, Runtime, Swarm, ToolContext, tool
from orchestra.testing import ScriptedModel, call, reply


def note(file: str, line: str) -> None:
    """One line in one write."""
    out = os.open(Path(os.environ["TALKER_FOLDER"]) / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(out, f"{line}\n".encode())
    os.close(out)


@tool
def where(ctx: ToolContext) -> str:
    """Which process this is."""
    note("served", f"{os.getpid()} {ctx.agent.name} {len(ctx.run_id.split('.'))}")
    return "noted"


@tool
def deepest(ctx: ToolContext) -> str:
    """Look at what was handed in at the top."""
    seen = str(ctx.invocation_state["secret"])
    note("deepest", f"{os.getpid()} {hashlib.sha256(seen.encode()).hexdigest()}")
    if os.environ.get("TALKER_LEAK"):
        return f"it was {seen}"
    raise RuntimeError(f"failed on purpose, with {len(seen)} characters at hand")


def opened(state: Any, invocation_state: Any) -> bool:
    """A condition that looks at it too."""
    return bool(invocation_state["secret"])


def agents() -> Graph:
    """Depth 1 is a node of the graph, 2 one of the swarm in it, 3 to 5 are agents as tools."""
    kid = Agent(name="level5", model=ScriptedModel([reply(calls=[call("deepest")]), reply("done")]), tools=(deepest,))
    for depth in (4, 3, 2):
        replies = [reply(calls=[call("where"), call(kid.name, input="go on")]), reply(f"level {depth} is done")]
        kid = Agent(name=f"level{depth}", model=ScriptedModel(replies), tools=(where, kid.as_tool()))
    hand = reply(calls=[call("handoff_to_agent", agent_name="level2", message="go on", context={"k": "v"})])
    swarm = Swarm("level1", agents=[Agent(name="front", model=ScriptedModel([hand])), kid])
    first = Agent(name="first", model=ScriptedModel([reply("begin")]))
    return Graph("deep", nodes={"first": first, "swarm": swarm}, edges=[Edge("first", "swarm", when=opened)])


async def main(folder: Path) -> None:
    """Several runs, so that their nodes come to all three hosts; streamed and not."""
    config = {
        "data_dir": str(folder / "data"),
        "namespace": "deep",
        "ray": {"num_cpus": 2, "object_store_mb": 78},
        "hosts": {"primary": 3, "sleeptime": 0},
    }
    state = {"secret": os.environ["TALKER_SECRET"], "nested": {"again": [os.environ["TALKER_SECRET"]]}}
    async with Runtime.start(config) as runtime:
        await runtime.register(agents())
        for number in range(6):
            events = [
                event async for event in runtime.stream("deep", "go", session_id=f"s{number}", invocation_state=state)
            ]
            print(events)
            result = await runtime.run("deep", "go again", session_id=f"s{number}", invocation_state=state)
            print(result)
            assert result.status == "completed", result


if __name__ == "__main__":
    os.environ["TALKER_FOLDER"] = sys.argv[1]
    import tests.acceptance.deep_talker as importable  # its tools must be found by their import path

    asyncio.run(importable.main(Path(sys.argv[1])))
