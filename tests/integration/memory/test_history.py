"""What was written can be looked up and undone: history, blame, reverting a version or a whole run."""

from __future__ import annotations

import pytest

from orchestra.core.blocks import Block
from orchestra.core.errors import BlockConflict, InputError, UnknownBlock
from orchestra.memory import edits
from orchestra.memory.blocks import Blocks
from orchestra.store.block_store import BlockStore, Change, Memo
from orchestra.store.connection import Store


async def by_run(store: Store, block_id: str, run: str, text: str) -> None:
    edit = edits.append(text)
    memo = Memo(store.keys.op(f"{run} {text}"))
    change = Change("agent:a", run)
    await BlockStore(store).edit(
        block_id, edit.operation, edit.arguments, change=change, memo=memo, label="notes", by_agent=True
    )


async def test_a_whole_run_is_undone_and_later_edits_stay(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="at first"))
    for run, text in (("r1", "one"), ("r2", "other"), ("r1", "two")):
        await by_run(each_store, made.id, run, text)
    assert (await blocks.revert(made.id, run="r1")).value == "at first\nother"
    assert [entry.version for entry in await blocks.log(made.id)] == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match="'r9'"):
        await blocks.revert(made.id, run="r9")
    for wrong in ({}, {"run": "r1", "version": 1}):
        with pytest.raises(InputError, match="either"):
            await blocks.revert(made.id, **wrong)  # type: ignore[arg-type]


async def test_what_was_built_upon_is_not_undone_silently(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="a"))
    await by_run(each_store, made.id, "r1", "the dog is four")
    await blocks.replace(made.id, "the dog is four", "the dog is five")
    with pytest.raises(BlockConflict):
        await blocks.revert(made.id, run="r1")
    assert (await blocks.get(made.id)).value == "a\nthe dog is five"


async def test_a_history_that_was_cut(each_store: Store) -> None:
    """What stood before the oldest version that is left is not known, and not taken for nothing."""
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="kept"))
    await by_run(each_store, made.id, "r1", "line")
    await each_store.read("XDEL", each_store.keys.history(made.id), "1-0")
    with pytest.raises(InputError, match="not in the history"):
        await blocks.revert(made.id, run="r1")
    with pytest.raises(InputError, match="2 to 2"):
        await blocks.revert(made.id, version=1)
    assert (await blocks.get(made.id)).value == "kept\nline"
    assert [(line.text, line.oldest) for line in await blocks.blame(made.id)] == [("kept", True), ("line", True)]


async def test_the_same_operation_id_twice(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes"))
    receipts = [await blocks.append(made.id, "line", operation_id="op") for _ in range(2)]
    assert receipts[0] == receipts[1]
    assert (await blocks.get(made.id)).value == "line"
    assert 0 < int(str(await each_store.read("TTL", each_store.keys.op(f"op:{made.id}")))) <= 900


async def test_one_operation_id_for_edits_of_two_blocks(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = [await blocks.create(Block(label=label)) for label in ("notes", "plans")]
    for block in made:
        await blocks.append(block.id, "line", operation_id="request-1")
    assert [(await blocks.get(block.id)).value for block in made] == ["line", "line"]


async def test_diff_and_blame(each_store: Store) -> None:
    blocks = Blocks(each_store)
    made = await blocks.create(Block(label="notes", value="one\ntwo"))
    await by_run(each_store, made.id, "r1", "three")
    await blocks.replace(made.id, "one", "1")
    assert (await blocks.diff(made.id, 1, 3)).splitlines()[3:] == ["-one", "+1", " two", "+three"]
    found = [(line.text, line.version, line.author, line.run) for line in await blocks.blame(made.id)]
    assert found == [("1", 3, "developer", ""), ("two", 1, "developer", ""), ("three", 2, "agent:a", "r1")]
    with pytest.raises(UnknownBlock):
        await blocks.log("nothing")


async def test_tags(each_store: Store) -> None:
    blocks = Blocks(each_store)
    both = await blocks.create(Block(label="both", tags=("a", "b", "a")))
    one = await blocks.create(Block(label="one", tags=("a",)))
    await blocks.create(Block(label="none", tags=("ab",)))
    assert both.tags == ("a", "b")

    async def found(*tags: str, match: str) -> list[str]:
        return sorted(block.label for block in await blocks.list(tags=tags, match=match))

    assert await found("a", "b", match="any") == ["both", "one"]
    assert await found("a", "b", match="all") == ["both"]
    assert (await blocks.update(one.id, tags=["x", "x"])).tags == ("x",)
    assert (await blocks.update(one.id, tags=[])).tags == ()
    assert await found("a", match="any") == ["both"]
