"""Branching: a session as it was after one of its turns, with the state of then; and what turns used."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Agent, Block, Runtime, ToolContext, tool
from orchestra.core.errors import InputError
from orchestra.core.model import Usage
from orchestra.testing import FunctionModel, call, reply
from tests.servers import Server


@tool
def remember(word: str, ctx: ToolContext) -> str:
    """Keep a word and count."""
    ctx.agent.state.set("word", word)
    return str(ctx.agent.state.increment("count"))


def answer(request: object) -> object:
    last = request.messages[-1]  # type: ignore[attr-defined]
    if last.role == "user":
        return reply(calls=[call("remember", word=last.text)], usage=Usage(10, 1))
    return reply(f"count {last.text}", usage=Usage(20, 2))


async def play(runtime: Runtime, session_id: str, *words: str) -> list[object]:
    return [(await runtime.run("a", word, session_id=session_id)).output for word in words]


@pytest.fixture
def config(server: Server, namespace: str) -> dict[str, object]:
    return {"redis": {"url": server.url}, "namespace": namespace}


async def test_a_fork_goes_on_from_its_turn_and_the_original_from_its_own(config: dict[str, object]) -> None:
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(remember,)))  # type: ignore[arg-type]
        assert await play(runtime, "s", "one", "two", "three") == ["count 1", "count 2", "count 3"]
        forked = await runtime.session("s", "a").fork(2, "branch")
        texts = [message.text for message in await forked.get_items() if message.role == "user"]  # type: ignore[attr-defined]
        assert texts == ["one", "two"]
        assert await play(runtime, "branch", "other") == ["count 3"]  # the state was the one after turn 2
        assert await play(runtime, "s", "four") == ["count 4"]
        assert [m.text for m in await forked.get_items(1)] == ["count 3"]  # type: ignore[attr-defined]
        empty = await runtime.session("s", "a").fork(0, "empty")
        assert await empty.get_items() == []
        assert await play(runtime, "empty", "new") == ["count 1"]


async def test_what_cannot_be_forked(config: dict[str, object]) -> None:
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(remember,)))  # type: ignore[arg-type]
        await play(runtime, "s", "one")
        session = runtime.session("s", "a")
        with pytest.raises(InputError, match=r"no turn 2 .it has turns 1 to 1"):
            await session.fork(2, "x")
        await session.fork(1, "taken")
        with pytest.raises(InputError, match="'taken' is there already"):
            await session.fork(1, "taken")


async def test_a_fork_while_turns_are_committed_is_whole(config: dict[str, object]) -> None:
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(remember,)))  # type: ignore[arg-type]
        await play(runtime, "s", "one", "two")
        playing = asyncio.create_task(play(runtime, "s", *map(str, range(20))))
        for number in range(10):
            await runtime.session("s", "a").fork(2, f"f{number}")
        await playing
        for number in range(10):
            assert len(await runtime.session(f"f{number}", "a").get_items()) == 8


async def test_usage_by_turn(config: dict[str, object]) -> None:
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(remember,)))  # type: ignore[arg-type]
        await play(runtime, "s", "one", "two")
        usage = await runtime.session("s", "a").usage()
        assert [turn.turn for turn in usage.turns] == [1, 2]
        assert usage.total == Usage(60, 6, 0, 4, 2)
        assert usage.turns[0].usage == Usage(30, 3, 0, 2, 1)


async def test_a_line_that_a_revert_brings_back_keeps_its_messages(config: dict[str, object]) -> None:
    def notes(request: object) -> object:
        last = request.messages[-1]  # type: ignore[attr-defined]
        if last.role == "user":
            return reply(calls=[call("core_memory_append", label="note", content=last.text)])
        return reply("ok")

    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=FunctionModel(notes), blocks=(Block(label="note"),)))  # type: ignore[arg-type]
        await play(runtime, "s", "one", "two")
        (block,) = await runtime.blocks.list(agent="a")
        before = [(line.text, line.thread, line.seqs) for line in await runtime.blocks.blame(block.id)]
        assert before == [("one", "a|s", (1,)), ("two", "a|s", (5,))]
        await runtime.blocks.update(block.id, value="something else")
        await runtime.blocks.revert(block.id, version=3)
        assert [(line.text, line.thread, line.seqs) for line in await runtime.blocks.blame(block.id)] == before
        assert (await runtime.blocks.log(block.id))[-1].operation == "revert"
