"""Plays runs of a graph of ten nodes, each in a process that is killed, and in the end one that finishes them all.

``python -m tests.chaos.graph_player URL NAMESPACE FOLDER`` reads lines from standard input, ``FAILPOINT RUN…``. For
each it forks a process that plays the runs; FAILPOINT is ``-`` for none. When that has ended, by itself or not, it says
``ended STATUS``. Forked rather than started, so that a kill costs a fraction of a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from orchestra import Agent, Graph, Runtime, ToolContext, tool
from orchestra.core import failpoints
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage

NODES = ("a", "b", "c", "d", "e", "f", "g", "join", "h", "i")
EDGES = (
    *(("a", "b"), ("a", "c"), ("a", "d")),
    *(("b", "e"), ("c", "f"), ("d", "g")),
    *(("e", "join"), ("f", "join"), ("g", "join")),
    *(("join", "h"), ("h", "i")),
)
OUTPUT = "i<h>"
FOLDER = Path(os.environ.get("CHAOS_FOLDER", "."))


def note(file: str, line: str) -> None:
    """Append one line, synced: what was counted stays, whoever is killed next."""
    out = os.open(FOLDER / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(out, f"{line}\n".encode())
        os.fsync(out)
    finally:
        os.close(out)


@tool
def count(node: str, ctx: ToolContext) -> str:
    """Something that must not be done twice."""
    note("counted", f"{ctx.run_id.partition('.')[0]} {node}")
    return f"counted {node}"


class NodeModel:
    """One round of the tool, then a text that says whose outputs this node was given."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.name = f"model of {node}"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        if request.messages[-1].role == "user":
            calls = (ToolCall("t", "count", {"node": self.node}),)
            yield ModelReply(Message("assistant", "", calls), Usage(1, 1))
            return
        asked = next(message.text for message in request.messages if message.role == "user")
        inputs = [line.removeprefix("## From ") for line in asked.splitlines() if line.startswith("## From ")]
        yield ModelReply(Message("assistant", f"{self.node}<{','.join(inputs)}>"), Usage(1, 1))


def graph() -> Graph:
    """The graph of ten nodes: three branches of two, a join, two more."""
    nodes = {name: Agent(name=name, model=NodeModel(name), tools=(count,)) for name in NODES}
    return Graph("ten", nodes=nodes, edges=EDGES)


async def play(url: str, namespace: str, runs: list[str]) -> None:
    """Play the runs to their ends, ten at a time."""
    config = {"namespace": namespace, "redis": {"url": url}, "hosts": {"heartbeat_seconds": 0.3, "sleeptime": 0}}
    ten = asyncio.Semaphore(10)
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(graph())

        async def one(run: str) -> None:
            async with ten:
                result = await runtime.run("ten", f"task of {run}", session_id=run, run_id=run)
                note("results", json.dumps(result.to_json(messages=False)))

        await asyncio.gather(*map(one, runs))


def main(url: str, namespace: str) -> None:
    """Fork a player for each line."""
    for line in sys.stdin:
        failpoint, *runs = line.split()
        if (pid := os.fork()) == 0:
            status = 1
            try:
                failpoints._armed = "" if failpoint == "-" else failpoint
                asyncio.run(play(url, namespace, runs))
                status = 0
            finally:
                os._exit(status)
        _, ended = os.waitpid(pid, 0)
        print(f"ended {ended}", flush=True)


if __name__ == "__main__":
    os.environ["CHAOS_FOLDER"] = sys.argv[3]
    import tests.chaos.graph_player as importable  # its tools and models must be found by their import path

    importable.FOLDER = Path(sys.argv[3])
    importable.main(sys.argv[1], sys.argv[2])
