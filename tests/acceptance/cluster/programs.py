"""Programs of their own for the tests: each is one process that joins, does something, and says what it saw as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from orchestra import Agent, Runtime
from orchestra.cluster.cluster_status import status
from orchestra.cluster.launch import up
from orchestra.cluster.teardown import down
from orchestra.runtime.cluster_file import load_cluster
from orchestra.testing import ScriptedModel, call, reply

Config = dict[str, object]


def program(action: str, config: Config, **options: str) -> dict[str, object]:
    """Run one of the functions below in a process of its own; what it said. Its errors are this one's."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.cluster.programs", action],
        input=json.dumps([config, options]),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return said


async def bring_up(config: Config) -> object:
    """``up``; what it did, and the pid of each host."""
    made = await up(load_cluster(config))
    hosts = {host.name: host.pid for host in made.hosts}
    return {"outcome": made.outcome, "rolled": list(made.rolled), "hosts": hosts, "address": made.address}


async def take_down(config: Config) -> object:
    """``down``; what it found."""
    ended = await down(load_cluster(config))
    return {"was_up": ended.was_up, "processes": ended.processes, "server": ended.server}


async def look(config: Config) -> object:
    """``status``, in parts."""
    found = await status(load_cluster(config))
    return {
        "up": found.up,
        "stale": found.stale,
        "ray": found.ray.reachable,
        "nodes": len(found.ray.nodes),
        "hosts": {host.name: host.pid for host in found.hosts if host.alive},
        "server": [found.server.reachable, found.server.kind, found.server.durability, found.server.kept],
        "aside": [one.error for one in found.passes if one.aside],
        "counts": [found.agents, found.sessions, found.blocks],
    }


async def talk(config: Config, session: str) -> object:
    """One turn; who served it."""
    async with Runtime.start(config) as runtime:
        await runtime.register(Agent(name="a", model=ScriptedModel([reply(f"Reply {n}.") for n in range(9)])))
        result = await runtime.run("a", "x", session_id=session)
        hosts = {host.id: host.pid for host in await runtime.hosts()}
        return {"pid": hosts[result.host], "mine": os.getpid(), "output": result.output, "turn": result.turn}


async def shipped(config: Config, folder: str) -> object:
    """One turn with a tool from ``code:``, named by module and by file, when the original is not there any more."""
    said = []
    async with Runtime.start({**config, "code": [folder]}) as runtime:
        file = Path(folder, "weather.py")
        model = ScriptedModel([reply(calls=[call("forecast")]), reply("Done.")])
        await runtime.register(
            Agent(name="a", model=model, tools=["shipped_tools.weather:forecast"]),
            Agent(name="b", model=model, tools=[f"{file}:forecast"]),
        )
        os.unlink(file)  # as on another machine
        for agent in ("a", "b"):
            result = await runtime.run(agent, "x", session_id="s")
            said.append(result.messages[2].text.split(maxsplit=1))
        return {"mine": os.getpid(), "said": said}


if __name__ == "__main__":
    given, options = json.loads(sys.stdin.read())
    sys.stdout.write(json.dumps(asyncio.run(globals()[sys.argv[1]](given, **options))) + "\n")
