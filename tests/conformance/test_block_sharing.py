"""Blocks that agents share: cases B1 to B4 and B25 to B28 of the conformance list."""

from __future__ import annotations

import re
from typing import cast

import pytest

from orchestra import Agent, Block, Runtime, ToolContext
from orchestra.core.errors import (
    DuplicateLabel,
    SessionOfAnotherUser,
    UnknownBlock,
)
from orchestra.memory.blocks import Blocks
from orchestra.runtime.client import Client
from orchestra.runtime.dispatch import Dispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.block_agents import block_of, define, labels
from tests.hosts import Machines


async def test_b01_attach_lists_once_and_again_changes_nothing(each_store: Store) -> None:
    blocks = Blocks(each_store)
    await define(each_store, "a")
    made = await blocks.create(Block(label="team"))
    await blocks.attach("a", made.id)
    before = await DefinitionStore(each_store).attachments("a")
    await blocks.attach("a", made.id)
    assert await labels(blocks, "a") == ["team"]
    assert await blocks.agents(made.id) == ["a"]
    assert await DefinitionStore(each_store).attachments("a") == before


async def test_b02_a_second_block_of_the_label_is_refused_and_the_first_kept(each_store: Store) -> None:
    blocks = Blocks(each_store)
    await define(each_store, "a")
    first, second = [await blocks.create(Block(label="team", value=value)) for value in ("first", "second")]
    await blocks.attach("a", first.id)
    with pytest.raises(DuplicateLabel) as raised:
        await blocks.attach("a", second.id)
    assert (raised.value.label, raised.value.agent) == ("team", "a")
    assert [block.value for block in await blocks.list(agent="a")] == ["first"]


async def test_b03_detach(each_store: Store) -> None:
    blocks = Blocks(each_store)
    await define(each_store, "a")
    made = await blocks.create(Block(label="team", value="kept"))
    await blocks.attach("a", made.id)
    await blocks.detach("a", made.id)
    assert await labels(blocks, "a") == []
    assert await blocks.agents(made.id) == []
    assert (await blocks.get(made.id)).value == "kept"
    with pytest.raises(UnknownBlock):
        await blocks.detach("a", made.id)


async def test_b03_a_declared_block_stays_detached_when_its_agent_is_registered_again(runtime: Runtime) -> None:
    for text in ("one", "two"):
        model = FunctionModel(lambda request: request.messages[0].text)
        agent = Agent(name="a", model=model, instructions=text, blocks=(Block(label="notes", value="secret"),))
        await runtime.register(agent)
        if text == "one":
            await runtime.run("a", "make it", session_id="s")
            await runtime.blocks.detach("a", "notes")
    assert (await runtime.run("a", "look", session_id="s")).output == "two"


async def test_b04_rename_reaches_both_sharers(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: request.messages[0].text)
    await runtime.register(Agent(name="a", model=model), Agent(name="b", model=model))
    made = await runtime.blocks.create(Block(label="team", value="v"))
    for agent in ("a", "b"):
        await runtime.blocks.attach(agent, made.id)
        assert "<team>" in cast("str", (await runtime.run(agent, "look", session_id="s")).output)
    await runtime.blocks.update(made.id, label="crew")
    for agent in ("a", "b"):
        seen = cast("str", (await runtime.run(agent, "look", session_id="s")).output)
        assert "<crew>" in seen
        assert "<team>" not in seen


async def test_b04_rename_to_a_label_that_a_sharer_has_is_refused(each_store: Store) -> None:
    blocks = Blocks(each_store)
    await define(each_store, "a")
    first, second = await blocks.create(Block(label="team")), await blocks.create(Block(label="crew"))
    for made in (first, second):
        await blocks.attach("a", made.id)
    with pytest.raises(DuplicateLabel):
        await blocks.update(first.id, label="crew")
    assert await labels(blocks, "a") == ["team", "crew"]


async def test_b25_deleting_an_agent(runtime: Runtime) -> None:
    model = ScriptedModel([reply("hi")])
    shared, own = Block(label="team", scope="shared", value="v"), Block(label="notes", value="v")
    await runtime.register(
        Agent(name="a", model=model, blocks=(shared, own)), Agent(name="b", model=model, blocks=(shared,))
    )
    await runtime.run("a", "hi", session_id="s")
    team, notes = await block_of(runtime, "team"), await block_of(runtime, "notes")
    lent = await runtime.blocks.create(Block(label="lent", value="v"))
    alone = await runtime.blocks.create(Block(label="alone", value="v"))
    for agent, block in (("a", lent), ("b", lent), ("a", alone)):
        await runtime.blocks.attach(agent, block.id)
    await runtime.delete_agent("a", cascade=True)
    assert (await runtime.blocks.get(team.id)).value == "v"
    assert (await runtime.blocks.get(lent.id)).value == "v"
    assert await runtime.blocks.agents(lent.id) == ["b"]
    for block in (notes, alone):
        with pytest.raises(UnknownBlock):
            await runtime.blocks.get(block.id)
    await runtime.delete_agent("a", cascade=True)
    assert await runtime.agents() == ["b"]


async def test_b25_without_cascade_all_blocks_stay(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=ScriptedModel([reply("hi")]), blocks=(Block(label="notes"),)))
    await runtime.run("a", "hi", session_id="s")
    notes = await block_of(runtime)
    for _ in range(2):
        await runtime.delete_agent("a")
    assert await runtime.blocks.get(notes.id) == notes


async def test_b25_first_without_cascade_then_with_it(runtime: Runtime) -> None:
    """What the first call left is found by the second one: the agent's own blocks, and no other agent's."""
    agents = [Agent(name=name, model=ScriptedModel([reply("hi")]), blocks=(Block(label="notes"),)) for name in "ab"]
    await runtime.register(*agents)
    for name in "ab":
        await runtime.run(name, "hi", session_id="s")
    (kept,) = await runtime.blocks.list(agent="b")
    await runtime.delete_agent("a")
    assert len(await runtime.blocks.list()) == 2
    await runtime.delete_agent("a", cascade=True)
    assert await runtime.blocks.list() == [kept]


async def test_b25_a_lent_block_is_still_its_owners(runtime: Runtime) -> None:
    agents = [Agent(name="a", model=ScriptedModel([reply("hi")]), blocks=(Block(label="notes"),))]
    await runtime.register(*agents, Agent(name="b", model=ScriptedModel([])))
    await runtime.run("a", "hi", session_id="s")
    (notes,) = await runtime.blocks.list(agent="a")
    await runtime.blocks.attach("b", notes.id)
    await runtime.delete_agent("b", cascade=True)
    assert await runtime.blocks.list(agent="a") == [notes]
    assert await runtime.blocks.agents(notes.id) == ["a"]


@pytest.mark.parametrize("cascade", [False, True])
async def test_b25_an_agent_that_is_deleted_is_gone_in_one_step(each_store: Store, cascade: bool) -> None:
    """Killed anywhere: definition, list and blocks are all there, or none of them is."""
    client = Client(each_store, cast("Dispatcher", None), FunctionTable())
    await client.register(Agent(name="a", model=ScriptedModel([])), Agent(name="b", model=ScriptedModel([])))
    made = [await client.blocks.create(Block(label=f"l{number}", value="v")) for number in range(3)]
    for block in made:
        await client.blocks.attach("a", block.id)
    await client.blocks.attach("b", made[0].id)
    run, seen = each_store.run, []

    async def noting(script: str, *rest: object) -> object:
        answer = await run(script, *rest)  # type: ignore[arg-type]
        there = [block.label for block in await client.blocks.list()]
        seen.append((script, await client.agents(), there))
        return answer

    each_store.run = noting  # type: ignore[method-assign, assignment]
    await client.delete_agent("a", cascade=cascade)
    left = ["l0"] if cascade else ["l0", "l1", "l2"]
    assert [(agents, sorted(labels)) for script, agents, labels in seen if script == "undefine"] == [(["b"], left)]
    assert {script for script, *_ in seen} <= {"undefine", "unshelve"}
    assert await client.blocks.agents(made[0].id) == ["b"]


async def test_b25_taken_in_by_another_agent_meanwhile(each_store: Store) -> None:
    """The second agent attaches the block after the first one's deletion has looked and before it deletes."""
    client = Client(each_store, cast("Dispatcher", None), FunctionTable())
    await client.register(Agent(name="a", model=ScriptedModel([])), Agent(name="b", model=ScriptedModel([])))
    mine, theirs = [await client.blocks.create(Block(label=label, value="v")) for label in ("mine", "theirs")]
    await client.blocks.attach("a", mine.id)
    run = each_store.run

    async def late(script: str, *rest: object) -> object:
        if script == "undefine":
            each_store.run = run  # type: ignore[method-assign]
            await client.blocks.attach("b", mine.id)
            await client.blocks.attach("a", theirs.id)
        return await run(script, *rest)  # type: ignore[arg-type]

    each_store.run = late  # type: ignore[method-assign, assignment]
    await client.delete_agent("a", cascade=True)
    assert await client.blocks.list() == [mine]
    assert await client.blocks.agents(mine.id) == ["b"]


async def test_b26_pages_give_each_id_once(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = {(await blocks.create(Block(label=f"l{number}"))).id for number in range(7)}
    seen: list[str] = []
    while page := await blocks.list(limit=3, after=seen[-1] if seen else None):
        assert len(page) <= 3
        seen += [block.id for block in page]
    assert len(seen) == 7
    assert set(seen) == made


async def test_b27_a_block_of_another_namespace(each_store: Store) -> None:
    there = await Store.open(each_store.url, f"{each_store.keys.namespace}-2")
    try:
        foreign = await Blocks(there).create(Block(label="team"))
        await define(each_store, "a")
        with pytest.raises(UnknownBlock):
            await Blocks(each_store).attach("a", foreign.id)
        assert await labels(Blocks(each_store), "a") == []
    finally:
        await there.close()


async def test_b28_access_append(machines: Machines) -> None:
    """Through the tools and through ``ctx.blocks`` alike."""
    errors: list[str] = []

    async def try_all(ctx: ToolContext) -> str:
        """Try to write in every way."""
        for attempt in (
            ctx.blocks.replace("team", "v", "x"),
            ctx.blocks.rethink("team", "x"),
            ctx.blocks.insert("team", "x"),
        ):
            try:
                await attempt
            except Exception as error:
                errors.append(type(error).__name__)
        await ctx.blocks.append("team", "by context")
        return "tried"

    client = await machines.client()
    model = ScriptedModel(
        [
            reply(calls=[call("core_memory_replace", label="team", old_content="v", new_content="x")]),
            reply(calls=[call("memory_rethink", label="team", new_memory="x")]),
            reply(calls=[call("memory_insert", label="team", new_string="x")]),
            reply(calls=[call("core_memory_append", label="team", content="by tool")]),
            reply(calls=[call("try_all")]),
            reply("done"),
        ]
    )
    team = Block(label="team", scope="shared", value="v", access="append")
    await client.register(Agent(name="a", model=model, tools=(try_all,), blocks=(team,)))
    result = await client.run("a", "go", session_id="s")
    outcomes = [message.is_error for message in result.messages if message.role == "tool"]
    assert outcomes == [True, True, True, False, False]
    assert errors == ["BlockAccessDenied"] * 3
    (block,) = await client.blocks.list(agent="a")
    assert re.split("\n", block.value) == ["v", "by tool", "by context"]


async def test_law_4_a_session_belongs_to_one_user(runtime: Runtime) -> None:
    """A pass would else write one user's words into another one's block."""
    await runtime.register(Agent(name="a", model=FunctionModel(lambda request: "ok"), blocks=(Block(label="h"),)))
    await runtime.run("a", "hello", session_id="s", user_id="ana")
    with pytest.raises(SessionOfAnotherUser, match="another user_id"):
        await runtime.run("a", "hello", session_id="s", user_id="ben")
    await runtime.run("a", "no user named", session_id="s")
    head = await runtime.store.fields(runtime.store.keys.head("a|s"))
    assert (head["user"], head["turn"]) == ("ana", "2")
