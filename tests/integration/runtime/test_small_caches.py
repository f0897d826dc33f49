"""A cache that holds next to nothing changes what is fast, never what is right."""

from __future__ import annotations

import asyncio

from orchestra import Agent, Block
from orchestra.runtime.client import Client
from orchestra.runtime.dispatch import InlineDispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.host import Host
from orchestra.store.connection import Store
from orchestra.testing import FunctionModel, reply


async def test_many_agents_and_sessions_at_once_on_a_host_that_forgets_everything(store: Store) -> None:
    functions = FunctionTable()
    host = Host(store, "primary-0", functions=functions, cache_bytes=16_000)
    await host.start()
    client = Client(store, InlineDispatcher(host), functions)
    model = FunctionModel(lambda request: reply(str(len(request.messages))))
    for number in range(6):
        blocks = (Block(label="persona", value=f"agent {number}"), Block(label="human", scope="user"))
        await client.register(Agent(name=f"a{number}", model=model, blocks=blocks, instructions="x" * 500))

    async def play(number: int, session: int) -> list[object]:
        name, session_id = f"a{number}", f"s{session}"
        return [(await client.run(name, "hello", session_id=session_id, user_id="u")).output for _ in range(5)]

    answers = await asyncio.gather(*(play(number, session) for number in range(6) for session in range(4)))
    # One system message, and two more messages of history with each turn.
    assert answers == [["2", "4", "6", "8", "10"]] * 24
    await host.stop()
