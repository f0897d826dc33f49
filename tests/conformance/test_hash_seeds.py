"""P28: the prompts of equal runs are equal to the byte, whatever ``PYTHONHASHSEED`` is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.servers import Server

PROGRAM = """
import asyncio, hashlib, json, sys
from orchestra import Agent, Edge, Graph, Node, Runtime, Swarm
from orchestra.testing import ScriptedModel, call, reply

def says(name, *replies, **fields):
    return Agent(name=name, description=name, model=ScriptedModel(list(replies) or [reply(name.upper())]), **fields)

async def main(url, namespace):
    branches = {name: says(name) for name in ("zeta", "alpha", "mu", "beta", "omega")}
    context = {"zulu": 1, "alpha": [3, 2], "mike": {"b": 1, "a": 2}}
    hand = reply(calls=[call("handoff_to_agent", agent_name="second", message="go on", context=context)])
    swarm = Swarm("desk", agents=[says("first", hand), says("second"), says("third")])
    items = Node(says("each"), map="items")
    nodes = {"start": says("start"), **branches, "join": says("join"), "desk": swarm, "items": lambda text: [1, 2, 3],
             "each": items}
    edges = [*(("start", name) for name in branches), *((name, "join") for name in branches), ("join", "desk"),
             ("join", "items"), ("items", "each")]
    graph = Graph("g", nodes=nodes, edges=edges)
    boss = says("boss", reply(calls=[call("g", input="the task")]), reply("done"), tools=(graph.as_tool(),))
    async with Runtime.start({"redis": {"url": url}, "namespace": namespace}, inline=True) as runtime:
        await runtime.register(boss)
        result = await runtime.run("boss", "go", session_id="s", run_id="r")
        assert result.output == "done", result
    agents = [boss, *(node.run for node in nodes.values() if not callable(node) and hasattr(node, "run")),
              *(one for one in nodes.values() if isinstance(one, Agent)), *swarm.agents]
    prompts = [(one.name, [[m.to_json(meta=False) for m in r.messages] for r in one.model.requests],
                [[(t.name, t.description, t.parameters) for t in r.tools] for r in one.model.requests])
               for one in agents]
    for one in prompts:
        one[1].sort(key=str)  # the items of a map run at the same time
    print(hashlib.sha256(json.dumps(prompts, default=list).encode()).hexdigest(), sum(len(p[1]) for p in prompts))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.timeout(60)
def test_p28_prompts_are_identical_under_four_hash_seeds(server: Server, namespace: str) -> None:
    said = set()
    for seed in ("0", "1", "42", "random"):
        command = [sys.executable, "-c", PROGRAM, server.url, f"{namespace}-{seed}"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        said.add(done.stdout)
    assert len(said) == 1
    assert int(said.pop().split()[1]) >= 12
