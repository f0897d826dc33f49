"""The archive on Ray: one embedding actor per node, made at its first use, made again when it is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import ray

from orchestra import Agent, Runtime
from orchestra.testing import ScriptedModel, call, reply
from tests.waiting import until

pytestmark = pytest.mark.ray


def actors(namespace: str) -> list[str]:
    listed = ray.util.list_named_actors(all_namespaces=True)
    return [item["name"] for item in listed if item["namespace"] == f"orchestra-{namespace}"]


async def test_hosts_and_programs_use_one_actor(config: Callable[..., dict[str, Any]], namespace: str) -> None:
    settings = {**config(primary=2), "embeddings": {"model": "tests.meanings:make"}}
    looks = ScriptedModel([reply(calls=[call("archival_memory_search", query="vessel")]), reply("ok")])
    async with Runtime.start(settings) as runtime:
        await runtime.register(Agent(name="looks", model=looks, archive="search", recall=True))
        assert actors(namespace) == []
        await runtime.passages.insert("looks", "the ship needs paint", user_id="ana")
        await runtime.passages.insert("looks", "tea at four", user_id="ana")
        result = await runtime.run("looks", "go", session_id="s", user_id="ana")
        tool = next(message for message in result.messages if message.role == "tool")
        assert tool.text.startswith("1. [")
        assert "ship needs paint" in tool.text.splitlines()[0]
        found = await runtime.passages.search("looks", "vessel", user_id="ana", limit=1)
        assert [hit.passage.text for hit in found] == ["the ship needs paint"]
        assert [one.text for one in await runtime.recall("looks", user_id="ana").search("go", limit=1)] == ["go"]
        assert len(actors(namespace)) == 1

        actor = ray.get_actor(actors(namespace)[0], namespace=f"orchestra-{namespace}")
        pid = ray.get(actor.pid.remote())
        os.kill(pid, signal.SIGKILL)
        again = await runtime.passages.search("looks", "vessel", user_id="ana", limit=1)
        assert [hit.passage.id for hit in again] == [hit.passage.id for hit in found]
    await until("the actor goes with the host that made it", lambda: actors(namespace) == [])
