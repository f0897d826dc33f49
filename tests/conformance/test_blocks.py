"""Blocks, cases B5 to B20 of the conformance list; the others are in ``test_block_sharing``."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import pytest

from orchestra import Agent, Block, Runtime, ToolContext
from orchestra.context.blocks import render
from orchestra.core.blocks import BlockView
from orchestra.core.conversation import Conversation
from orchestra.core.errors import (
    BlockConflict,
    BlockLimitExceeded,
    BlockMatchError,
    BlockRangeError,
    InputError,
    UnknownBlock,
)
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.blocks import Blocks
from orchestra.store.connection import Store
from orchestra.testing import FunctionModel, call, reply
from tests.block_agents import block_of, called


async def test_b05_only_a_real_change_makes_a_version_and_a_new_prompt(runtime: Runtime) -> None:
    made = await runtime.blocks.create(Block(label="team", value="v", scope="shared"))
    model = FunctionModel(lambda request: request.messages[0].text)
    fresh = Conversation(blocks_in_prompt="fresh")
    blocks = (Block(label="team", scope="shared"),)
    await runtime.register(Agent(name="a", model=model, blocks=blocks, conversation=fresh))
    prompt = (await runtime.run("a", "look", session_id="s")).output
    assert (await runtime.blocks.update(made.id, value="v")).updated_at == made.updated_at
    after = await runtime.blocks.update(made.id, metadata={"k": 1}, tags=["t"])
    assert (after.version, after.metadata, after.tags) == (1, {"k": 1}, ("t",))
    assert (await runtime.run("a", "look", session_id="s")).output == prompt
    assert (await runtime.blocks.update(made.id, value="w")).version == 2
    assert [entry.version for entry in await runtime.blocks.log(made.id)] == [1, 2]
    assert (await runtime.run("a", "look", session_id="s")).output == cast("str", prompt).replace(
        "<value>v</value>", "<value>w</value>"
    )


def view(label: str, value: str, **more: object) -> BlockView:
    return BlockView.model_validate({"id": label, "label": label, "value": value, "limit": 5000, **more})


def test_b06_two_blocks_one_read_only() -> None:
    text = render([view("persona", "Hello", read_only=True), view("human", "Hello")])
    for label in ("persona", "human"):
        assert f"<{label}>" in text
        assert f"</{label}>" in text
    assert text.count("read_only=true") == 1
    assert text.index("read_only=true") < text.index("<human>")
    assert text.count("chars_current=5 ") == 2
    assert text.count("<value>Hello</value>") == 2


def test_b07_no_blocks_render_to_nothing() -> None:
    assert render([]) == ""


def test_b08_the_numbered_render_starts_at_one() -> None:
    text = render([view("human", "a\nb")], numbered=True)
    assert "<value>1→a\n2→b</value>" in text
    assert "→" not in render([view("human", "")], numbered=True)


async def test_b09_an_unknown_label_names_the_labels(runtime: Runtime) -> None:
    blocks = (Block(label="notes"), Block(label="human"))
    (result,) = await called(runtime, [call("core_memory_append", label="nots", content="x")], *blocks)
    assert result.is_error
    assert "notes, human" in result.text


async def test_b10_replace_wants_exactly_one_occurrence(runtime: Runtime) -> None:
    value = "tea\ncoffee\ntea\nmilk\nwith honey"
    replace = "core_memory_replace"
    results = await called(
        runtime,
        [
            call(replace, label="notes", old_content="juice", new_content="x"),
            call(replace, label="notes", old_content="tea", new_content="x"),
            call(replace, label="notes", old_content="", new_content="x"),
            call(replace, label="notes", old_content="2→coffee", new_content="x"),
            call(replace, label="notes", old_content="milk\nwith honey", new_content="water"),
        ],
        Block(label="notes", value=value),
    )
    assert [result.is_error for result in results] == [True, True, True, True, False]
    assert "lines 1, 3" in results[1].text
    block = await block_of(runtime)
    assert (block.value, block.version) == ("tea\ncoffee\ntea\nwater", 2)


async def test_b10_the_same_for_developers(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="tea\ncoffee\ntea"))
    with pytest.raises(BlockMatchError) as none:
        await blocks.replace(made.id, "juice", "x")
    with pytest.raises(BlockMatchError) as two:
        await blocks.replace(made.id, "tea", "x")
    assert (none.value.lines, two.value.lines) == ((), (1, 3))
    with pytest.raises(InputError):
        await blocks.replace(made.id, "", "x")
    await blocks.replace(made.id, "coffee\n", "")
    assert (await blocks.get(made.id)).value == "tea\ntea"


@pytest.mark.parametrize(
    ("line", "expected"), [(0, "x\na\nb"), (-1, "a\nb\nx"), (1, "a\nx\nb"), (2, "a\nb\nx"), (3, None), (-2, None)]
)
async def test_b11_insert(each_store: Store, line: int, expected: str | None) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="a\nb"))
    if expected is None:
        with pytest.raises(BlockRangeError) as raised:
            await blocks.insert(made.id, "x", line)
        assert (raised.value.line, raised.value.lines) == (line, 2)
        assert f"not {line}" in str(raised.value)
        expected = "a\nb"
    else:
        await blocks.insert(made.id, "x", line)
    assert (await blocks.get(made.id)).value == expected


async def test_b11_into_an_empty_block_without_a_blank_line(each_store: Store) -> None:
    blocks = Blocks(each_store)
    for line in (0, -1):
        made = await blocks.create(Block(label="notes"))
        await blocks.insert(made.id, "x", line)
        assert (await blocks.get(made.id)).value == "x"
    made = await blocks.create(Block(label="notes"))
    await blocks.append(made.id, "x")
    assert (await blocks.get(made.id)).value == "x"


async def test_b12_tabs_and_unicode_stay_as_they_are(each_store: Store) -> None:
    blocks = Blocks(each_store)
    text = "\tnaïve 京都 👩‍👩‍👧 \u202e e\u0301"
    made = await blocks.create(Block(label="notes", value=text))
    await blocks.append(made.id, text)
    await blocks.insert(made.id, text, 1)
    await blocks.replace(made.id, f"{text}\n{text}\n{text}", f"{text}|{text}")
    block = await blocks.get(made.id)
    assert block.value == f"{text}|{text}"
    receipt = await blocks.append(made.id, "京")
    assert receipt.chars == len((await blocks.get(made.id)).value)


async def test_b13_read_only_for_agents_writable_for_developers(runtime: Runtime) -> None:
    results = await called(
        runtime,
        [
            call("core_memory_append", label="notes", content="x"),
            call("core_memory_replace", label="notes", old_content="v", new_content="x"),
            call("memory_insert", label="notes", new_string="x"),
            call("memory_rethink", label="notes", new_memory="x"),
        ],
        Block(label="notes", value="v", read_only=True),
        Block(label="other"),
    )
    assert all(result.is_error and "read-only" in result.text for result in results)
    block = await block_of(runtime)
    assert (block.value, block.version) == ("v", 1)
    assert (await runtime.blocks.update(block.id, value="w")).version == 2
    assert (await runtime.blocks.append(block.id, "x")).version == 3


async def test_b14_limits_hold_on_every_path(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="12345", limit=10))
    await blocks.append(made.id, "7890")  # with the line break: ten characters
    state = await blocks.get(made.id)
    assert len(state.value) == 10
    for attempt in (
        blocks.append(made.id, "x"),
        blocks.insert(made.id, "x", 0),
        blocks.replace(made.id, "1", "12"),
        blocks.rethink(made.id, "12345678901", expected_version=2),
        blocks.update(made.id, value="12345678901"),
        blocks.update(made.id, limit=9),
    ):
        with pytest.raises(BlockLimitExceeded) as raised:
            await attempt
        assert raised.value.size > raised.value.limit
    assert await blocks.get(made.id) == state
    with pytest.raises(BlockLimitExceeded) as raised:
        await blocks.create(Block(label="long", value="12345678901", limit=10))
    assert (raised.value.limit, raised.value.size) == (10, 11)


async def test_b14_data_over_its_limit_can_be_read_and_shortened(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="1234567890"))
    await each_store.read("HSET", each_store.keys.block(made.id), "limit", 5)
    assert (await blocks.get(made.id)).value == "1234567890"
    await blocks.replace(made.id, "90", "")
    assert (await blocks.get(made.id)).value == "12345678"
    with pytest.raises(BlockLimitExceeded):
        await blocks.append(made.id, "x")


async def test_b15_rethink_of_a_missing_label(runtime: Runtime) -> None:
    (result,) = await called(runtime, [call("memory_rethink", label="none", new_memory="x")], Block(label="notes"))
    assert result.is_error
    assert "'none'" in result.text
    with pytest.raises(UnknownBlock):
        await runtime.blocks.rethink("none", "x", expected_version=1)


async def test_b16_history_has_order_value_and_author(runtime: Runtime) -> None:
    await called(
        runtime,
        [
            call("core_memory_append", label="notes", content="by the agent"),
            call("memory_rethink", label="notes", new_memory="by the agent"),
        ],
        Block(label="notes"),
    )
    block = await block_of(runtime)
    await runtime.blocks.update(block.id, value="by a developer")
    await runtime.blocks.update(block.id, value="by a developer")
    log = await runtime.blocks.log(block.id)
    assert [(entry.version, entry.operation, entry.author, entry.value) for entry in log] == [
        (1, "create", "agent:a", ""),
        (2, "append", "agent:a", "by the agent"),
        (3, "update", "developer", "by a developer"),
    ]


async def test_b17_revert_twice_and_forward_again(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="one"))
    for value in ("two", "three"):
        await blocks.update(made.id, value=value)
    found = [(await blocks.revert(made.id, version=version)).value for version in (2, 1, 3)]
    assert found == ["two", "one", "three"]
    assert [entry.version for entry in await blocks.log(made.id)] == [1, 2, 3, 4, 5, 6]


async def test_b18_revert_then_edit_rewrites_nothing(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="one"))
    await blocks.update(made.id, value="two")
    before = await blocks.log(made.id)
    await blocks.revert(made.id, version=1)
    await blocks.append(made.id, "more")
    log = await blocks.log(made.id)
    assert log[:2] == before
    assert [entry.value for entry in log[2:]] == ["one", "one\nmore"]


async def test_b19_two_writers_from_one_version(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="v"))
    both = await asyncio.gather(
        *(blocks.rethink(made.id, value, expected_version=1) for value in ("x", "y")), return_exceptions=True
    )
    (conflict,) = [item for item in both if isinstance(item, BaseException)]
    assert isinstance(conflict, BlockConflict)
    block = await blocks.get(made.id)
    assert (conflict.expected, conflict.actual, conflict.value) == (1, 2, block.value)
    assert block.value in ("x", "y")


async def test_b19_fifty_parallel_appends(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes"))
    await asyncio.gather(*(blocks.append(made.id, f"line {number}") for number in range(50)))
    block = await blocks.get(made.id)
    assert sorted(block.value.split("\n")) == sorted(f"line {number}" for number in range(50))
    assert [entry.version for entry in await blocks.log(made.id)] == list(range(1, 52))


async def test_b19_sixty_four_writers_in_four_processes(store: Store) -> None:
    blocks = Blocks(store)
    made = await blocks.create(Block(label="notes"))
    await blocks.append(made.id, "first")  # the server knows the script from here on

    async def script_calls() -> int:
        stats = cast("dict[str, dict[str, int]]", await store.redis.info("commandstats"))
        assert stats.get("cmdstat_eval", {}).get("calls", 0) == evals
        return stats["cmdstat_evalsha"]["calls"]

    stats = cast("dict[str, dict[str, int]]", await store.redis.info("commandstats"))
    evals = stats.get("cmdstat_eval", {}).get("calls", 0)
    before = await script_calls()
    command = (sys.executable, "-m", "tests.conformance.appending", store.url, store.keys.namespace, made.id)
    writers = [await asyncio.create_subprocess_exec(*command, str(number)) for number in range(4)]
    assert [await writer.wait() for writer in writers] == [0] * 4
    expected = {f"{process}.{writer}.{n} ☕" for process in range(4) for writer in range(16) for n in range(4)}
    lines = (await blocks.get(made.id)).value.split("\n")
    assert len(lines) == 257
    assert set(lines) == expected | {"first"}
    log = await blocks.log(made.id)
    assert [entry.version for entry in log] == list(range(1, 259))
    assert await script_calls() - before == len(expected)


async def test_b20_an_edit_of_one_block_never_changes_another(runtime: Runtime) -> None:
    """C changes Y once after the model of A has seen it, and once while a tool of A runs."""

    async def y() -> BlockView:
        return await block_of(runtime, "y")

    async def answer(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply("done")
        assert "<value>old</value>" in request.messages[0].text
        await runtime.blocks.update((await y()).id, value="C was here")
        return reply(calls=[call("both"), call("core_memory_append", label="x", content="A was here")])

    async def both(ctx: ToolContext) -> str:
        """Edit X with an old view of Y."""
        await runtime.blocks.update((await y()).id, value="C was here again")
        await ctx.blocks.append("x", "A again")
        return "edited"

    blocks = (Block(label="x"), Block(label="y", value="old"))
    await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(both,), blocks=blocks))
    await runtime.run("a", "go", session_id="s")
    assert sorted((await block_of(runtime, "x")).value.split("\n")) == ["A again", "A was here"]
    assert (await y()).value == "C was here again"
    authors = [entry.author for entry in await runtime.blocks.log((await y()).id)]
    assert authors == ["agent:a", "developer", "developer"]
