"""A run waits for an approval while its host and its program are killed; another program answers it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestra import Agent, Approve, Runtime, tool
from orchestra.store.run_store import RunStore
from orchestra.testing import ScriptedModel, call, reply
from tests.acceptance.cluster.conftest import note, until_async

pytestmark = pytest.mark.ray
Config = Callable[..., dict[str, object]]
PROGRAM = """
import asyncio, json, sys
from orchestra import Runtime
from tests.acceptance.cluster.test_waiting import paying

async def main(config, file):
    async with Runtime.start(config) as runtime:
        await runtime.register(paying(file))
        result = await runtime.run("a", "x", session_id="s", run_id="run-1")
        host = (await runtime.hosts())[0]
        print(json.dumps([result.status, [one.id for one in result.interrupts], host.pid]), flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*json.loads(sys.argv[1])))
"""


def paying(file: str) -> Agent:
    """An agent whose tool needs an approval, and writes each start into ``file``."""

    @tool(needs_approval=True)
    def pay() -> str:
        note(Path(file), str(os.getpid()))
        return "paid"

    return Agent(name="a", model=ScriptedModel([reply(calls=[call("pay")]), reply("Done.")]), tools=[pay])


async def test_host_and_program_are_killed_while_the_run_waits(config: Config, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, json.dumps([config(), str(starts)])),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(90):
        status, ids, host = json.loads(await process.stdout.readline())
    assert (status, ids) == ("interrupted", ["run-1:0.0"])
    process.kill()
    os.kill(host, signal.SIGKILL)
    await process.wait()
    async with Runtime.start(config()) as runtime:
        await runtime.register(paying(str(starts)))
        waiting = await RunStore(runtime.store).get("run-1")
        assert waiting is not None
        assert waiting.status == "interrupted"

        async def up() -> bool:
            return any(one.alive for one in await runtime.hosts())

        await until_async("a host to be up", up, True)
        done = await runtime.resume("run-1", {"run-1:0.0": Approve()})
        log = await runtime.session("s", "a").get_items()
    assert (done.status, done.output) == ("completed", "Done.")
    assert len(starts.read_text().split()) == 1
    assert len(log) == 4
