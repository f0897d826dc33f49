"""Who may do what with a shared block: cases B25, B27 and B28 of the conformance list, each in more ways."""

from __future__ import annotations

import time
from typing import cast

from orchestra import Agent, Block, Runtime, Sleeptime
from orchestra.core.blocks import Scope
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.block_agents import block_of
from tests.hosts import Machines

SCOPES: tuple[Scope, ...] = ("agent", "user", "session", "shared")


async def try_to_write(client: Client, agent: str, session_id: str = "s") -> list[bool]:
    """Whether append, insert, replace and rethink of ``team`` are refused to an agent, by its own tools."""
    result = await client.run(agent, "go", session_id=session_id)
    assert result.status == "completed", result.error
    return [message.is_error for message in result.messages if message.role == "tool"]


def writer() -> ScriptedModel:
    return ScriptedModel(
        [
            reply(calls=[call("core_memory_append", label="team", content="appended")]),
            reply(calls=[call("memory_insert", label="team", new_string="inserted", insert_line=0)]),
            reply(calls=[call("core_memory_replace", label="team", old_content="v", new_content="w")]),
            reply(calls=[call("memory_rethink", label="team", new_memory="rethought")]),
            reply("done"),
        ]
    )


async def test_b28_each_agent_has_its_own_permission_on_one_block(machines: Machines) -> None:
    client = await machines.client()
    other = Block(label="other")  # so that all three have the tools
    for name, access in (("reads", "read"), ("appends", "append"), ("writes", "write")):
        team = Block(label="team", scope="shared", value="v", access=access)  # type: ignore[arg-type]
        await client.register(Agent(name=name, model=writer(), blocks=(team, other)))
    assert await try_to_write(client, "reads") == [True, True, True, True]
    (team, _) = await client.blocks.list(agent="reads")
    assert (team.value, team.version) == ("v", 1)
    assert await try_to_write(client, "appends") == [False, True, True, True]
    assert (await client.blocks.get(team.id)).value == "v\nappended"
    assert await try_to_write(client, "writes") == [False, False, False, False]
    authors = [(entry.author, entry.operation) for entry in await client.blocks.log(team.id)]
    assert authors == [
        ("agent:reads", "create"),
        ("agent:appends", "append"),
        *(("agent:writes", operation) for operation in ("append", "insert", "replace", "rethink")),
    ]


async def test_b28_a_developer_gives_and_takes_permission(machines: Machines) -> None:
    """It counts from the next turn, on a host that has the agent in its cache."""
    client = await machines.client()
    await client.register(Agent(name="a", model=writer(), blocks=(Block(label="other"),)))
    made = await client.blocks.create(Block(label="team", value="v"))
    expected = {"read": [True] * 4, "append": [False, True, True, True]}
    for access in ("read", "append", "read"):
        await client.blocks.attach("a", made.id, access=access)  # type: ignore[arg-type]
        assert await try_to_write(client, "a", session_id=f"s{access}{time.monotonic_ns()}") == expected[access]
    await client.blocks.update(made.id, value="v")  # the developer's own edits have no such limit
    assert (await client.blocks.get(made.id)).value == "v"


async def test_b28_an_agent_that_may_change_nothing_has_no_tools_for_it(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: " ".join(sorted(tool.name for tool in request.tools)))
    read = (Block(label="team", scope="shared", access="read"), Block(label="fixed", read_only=True))
    await runtime.register(Agent(name="a", model=model, blocks=read))
    assert (await runtime.run("a", "look", session_id="s")).output == ""
    await runtime.register(Agent(name="a", model=model, blocks=(*read, Block(label="own"))))
    assert "core_memory_append" in str((await runtime.run("a", "look", session_id="s")).output)


async def test_b28_a_pass_has_no_more_permission_than_its_agent(runtime: Runtime) -> None:
    """Tidying means writing whole values: a block that the agent may only read or append to is none of its pass."""
    shown: list[str] = []

    async def sleep(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        shown.append(str(request.messages))
        return reply(calls=[call("memory_rethink", label=name, new_memory="mine") for name in ("log", "rules", "own")])

    blocks = (
        Block(label="log", scope="shared", value="logged", access="append"),
        Block(label="rules", scope="shared", value="ruled", access="read"),
        Block(label="own", value="v"),
    )
    model = FunctionModel(lambda request: "ok")
    sleeptime = Sleeptime(every=1, model=FunctionModel(sleep))
    await runtime.register(Agent(name="a", model=model, blocks=blocks, sleeptime=sleeptime))
    await runtime.run("a", "hi", session_id="s")
    await runtime.drain("s")
    values = {block.label: block.value for block in await runtime.blocks.list(agent="a")}
    assert values == {"log": "logged", "rules": "ruled", "own": "mine"}
    assert "logged" not in shown[0]
    of = {label: await runtime.blocks.agents((await block_of(runtime, label)).id) for label in values}
    assert of == {"log": ["a"], "rules": ["a"], "own": ["a", "a-sleeptime"]}


async def test_b27_two_namespaces_share_nothing(each_store: Store) -> None:
    """The same names on one server: agents, sessions, users, blocks of every scope."""
    there = await Store.open(each_store.url, f"{each_store.keys.namespace}-2")
    homes = [Machines(each_store), Machines(there)]
    try:
        model = FunctionModel(lambda request: request.messages[0].text)
        for number, home in enumerate(homes):
            client = await home.client()
            blocks = [Block(label=scope, scope=scope, value=f"of {number}") for scope in SCOPES]
            await client.register(Agent(name="a", model=model, blocks=tuple(blocks)))
            seen = cast("str", (await client.run("a", "hi", session_id="s", user_id="ana")).output)
            assert seen.count(f"<value>of {number}</value>") == len(SCOPES)
        here, away = (home.client_of(home.hosts[0]) for home in homes)
        for block in await here.blocks.list():
            await here.blocks.update(block.id, value="changed")
        assert {block.value for block in await away.blocks.list()} == {"of 1"}
        await here.delete_agent("a", cascade=True)
        await here.session("s", "a").clear_session()
        assert await away.agents() == ["a"]
        assert len(await away.blocks.list()) == len(SCOPES)
        assert len(await away.session("s", "a").get_items()) == 2
    finally:
        for home in homes:
            await home.stop()
        await there.close()


async def test_b25_cascade_deletes_nothing_that_somebody_else_may_have(runtime: Runtime) -> None:
    """Blocks of users, sessions and of the whole namespace are not one agent's, though only it declared them."""
    model = ScriptedModel([reply("hi")])
    blocks = tuple(Block(label=scope, scope=scope, value="v") for scope in SCOPES)
    await runtime.register(Agent(name="a", model=model, blocks=blocks), Agent(name="b", model=model))
    await runtime.run("a", "hi", session_id="s", user_id="ana")
    ids = {block.label: block.id for block in await runtime.blocks.list(agent="a", session_id="s", user_id="ana")}
    borrowed = ids["agent"]
    await runtime.blocks.attach("b", borrowed)
    await runtime.delete_agent("a", cascade=True)
    assert await runtime.blocks.agents(borrowed) == ["b"]
    left = {block.label for block in await runtime.blocks.list()}
    assert left == {"agent", "user", "session"}  # shared: only this agent named its label
    await runtime.delete_agent("b", cascade=True)
    assert "agent" not in {block.label for block in await runtime.blocks.list()}
