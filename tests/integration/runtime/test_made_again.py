"""Sessions and blocks that are deleted and made again: a host with the old ones in its cache is not fooled."""

from __future__ import annotations

from orchestra import Agent, Block
from orchestra.core.names import thread_name
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, reply
from tests.hosts import Machines


async def test_a_session_and_a_block_made_again_elsewhere(store: Store) -> None:
    machines = Machines(store)
    shown: list[str] = []

    def answer(request: object) -> object:
        shown.append(" / ".join(message.text for message in request.messages))  # type: ignore[attr-defined]
        return reply("ok")

    first, second = await machines.client("primary-0"), await machines.client("primary-1")
    blocks = (Block(label="human", scope="user", value="old"),)
    await first.register(Agent(name="a", model=FunctionModel(answer), blocks=blocks))  # type: ignore[arg-type]
    await first.run("a", "one", session_id="s", user_id="u")
    await first.run("a", "two", session_id="s", user_id="u")
    (block,) = await first.blocks.list(agent="a", user_id="u")

    await ThreadStore(store).delete(thread_name("a", "s"))
    await first.blocks.delete(block.id)
    new = (Block(label="human", scope="user", value="new"),)
    await second.register(Agent(name="a", model=FunctionModel(answer), blocks=new))  # type: ignore[arg-type]
    await second.run("a", "three", session_id="s", user_id="u")
    await second.run("a", "four", session_id="s", user_id="u")

    await first.run("a", "five", session_id="s", user_id="u")  # this host has two turns and version 1 in its cache
    assert "new" in shown[-1]
    assert "old" not in shown[-1]
    assert shown[-1].endswith("three / ok / four / ok / five")
    await machines.stop()


async def test_a_block_that_is_deleted_during_a_turn(store: Store) -> None:
    machines = Machines(store)
    client = await machines.client("primary-0")

    async def answer(request: object) -> object:
        if request.messages[-1].role == "user":  # type: ignore[attr-defined]
            (block,) = await client.blocks.list(agent="a")
            await client.blocks.delete(block.id)
            return reply(calls=[])
        return reply("ok")

    await client.register(Agent(name="a", model=FunctionModel(answer), blocks=(Block(label="note", value="x"),)))  # type: ignore[arg-type]
    assert (await client.run("a", "one", session_id="s")).status == "completed"
    assert (await client.run("a", "two", session_id="s")).status == "completed"  # made again from its declaration
    await machines.stop()


async def test_two_attached_blocks_that_were_deleted_leave_the_list(store: Store) -> None:
    machines = Machines(store)
    client = await machines.client("primary-0")
    await client.register(Agent(name="a", model=FunctionModel(lambda request: reply("ok"))))
    for label in ("one", "two"):
        made = await client.blocks.create(Block(label=label))
        await client.blocks.attach("a", made.id)
        await store.read("DEL", store.keys.block(made.id))  # deleted, and the deleter died before it was detached
    assert (await client.run("a", "hello", session_id="s")).status == "completed"
    assert await client.blocks.list(agent="a") == []
    assert (await DefinitionStore(store).attachments("a")).items == ()
    await machines.stop()
