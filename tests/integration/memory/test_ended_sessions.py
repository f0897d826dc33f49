"""Sessions that ended or were deleted leave nothing to the next one of their id, and nothing that nobody can name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from orchestra import Agent, Block, Runtime
from orchestra.core.errors import UnknownBlock
from orchestra.memory.session_list import delete_session, list_sessions
from orchestra.memory.sessions import Session
from orchestra.store.connection import Store
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel

SHOWN = FunctionModel(lambda request: "\n".join(message.text for message in request.messages))


def agent(name: str = "a", *labels: str) -> Agent:
    blocks = tuple(Block(label=label, scope="session") for label in labels or ("notes",))
    return Agent(name=name, model=SHOWN, blocks=blocks)


async def prompt(runtime: Runtime, user: str, session: str = "s", *, name: str = "a") -> str:
    return str((await runtime.run(name, "hi", session_id=session, user_id=user)).output)


async def noted(runtime: Runtime, name: str = "a", session: str = "s") -> list[str]:
    """Write something into each block of the session; their ids."""
    ids = [block.id for block in await runtime.blocks.list(agent=name, session_id=session)]
    for block_id in ids:
        await runtime.blocks.update(block_id, value=f"secret of ana in {block_id}")
    return ids


async def end_now(store: Store, *threads: str) -> None:
    """As the server ends sessions by their time to live."""
    k = store.keys
    for thread in threads:
        for key in (k.head(thread), k.log(thread), k.turns(thread), k.state(thread)):
            await store.read("PEXPIREAT", key, 1)


async def by_a_run(runtime: Runtime) -> None:
    """The next one simply talks."""


async def by_added_messages(runtime: Runtime) -> None:
    await Session(runtime.store, "s", "a").add_items([{"role": "user", "content": "hello"}])


async def by_a_branch(runtime: Runtime) -> None:
    await prompt(runtime, "ben", "other")
    await runtime.session("other", "a").fork(1, "s")


@pytest.mark.parametrize("taken", [by_a_run, by_added_messages, by_a_branch])
async def test_the_next_user_of_an_id_does_not_see_the_blocks(
    runtime: Runtime, taken: Callable[[Runtime], Awaitable[None]]
) -> None:
    await runtime.register(agent())
    await prompt(runtime, "ana")
    await noted(runtime)
    assert "secret of ana" in await prompt(runtime, "ana")
    await end_now(runtime.store, "a|s")
    await taken(runtime)
    assert "secret" not in await prompt(runtime, "ben")
    (block,) = await runtime.blocks.list(agent="a", session_id="s")
    assert [version.value for version in await runtime.blocks.log(block.id)] == [""]


async def test_the_blocks_of_all_agents_of_an_ended_session_go(runtime: Runtime) -> None:
    await runtime.register(agent("a", "one"), agent("b", "two"))
    ids = []
    for name in "ab":
        await prompt(runtime, "ana", name=name)
        ids += await noted(runtime, name)
    await end_now(runtime.store, "a|s", "b|s")
    for name in "ab":
        assert "secret" not in await prompt(runtime, "ben", name=name)
    assert len(ids) == 2


async def test_what_an_agent_that_is_still_in_the_session_shares_stays(runtime: Runtime) -> None:
    await runtime.register(agent("a"), agent("b"))
    for name in "ab":
        await prompt(runtime, "ana", name=name)
    await noted(runtime)
    await end_now(runtime.store, "a|s")
    for name in "ab":
        assert "secret" in await prompt(runtime, "ana", name=name)


async def test_listing_forgets_the_blocks_of_agents_that_are_deleted(runtime: Runtime) -> None:
    await runtime.register(agent("a", "one"), agent("b", "two"))
    for name in "ab":
        await prompt(runtime, "ana", name=name)
        await noted(runtime, name)
    await runtime.delete_agent("a")
    await end_now(runtime.store, "a|s", "b|s")
    assert await list_sessions(runtime.store) == []
    assert await runtime.blocks.list() == []


async def test_a_session_of_a_deleted_agent_is_deleted_with_its_blocks(runtime: Runtime) -> None:
    await runtime.register(agent())
    for session in ("s", "other"):
        await prompt(runtime, "ana", session)
    (mine,) = await noted(runtime)
    (kept,) = await runtime.blocks.list(agent="a", session_id="other")
    await runtime.delete_agent("a")
    gone = await delete_session(runtime.store, Session(runtime.store, "s", "a"))
    assert [block.id for block in gone] == [mine]
    assert await runtime.blocks.list() == [kept]


async def test_a_deletion_that_was_cut_off_can_be_done_again(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its last step the session is still found; the blocks that a turn made in between go too."""
    await runtime.register(agent())
    await prompt(runtime, "ana")
    (first,) = await noted(runtime)
    whole = ThreadStore.delete

    async def cut_off(self: ThreadStore, thread: str) -> None:
        raise ConnectionError

    monkeypatch.setattr(ThreadStore, "delete", cut_off)
    with pytest.raises(ConnectionError):
        await delete_session(runtime.store, await runtime.session("s").open())
    with pytest.raises(UnknownBlock):
        await runtime.blocks.get(first)
    assert "secret" not in await prompt(runtime, "ana")
    await noted(runtime)

    async def after_a_turn(self: ThreadStore, thread: str) -> None:
        await prompt(runtime, "ana")
        await whole(self, thread)

    monkeypatch.setattr(ThreadStore, "delete", after_a_turn)
    await delete_session(runtime.store, await runtime.session("s").open())
    assert await runtime.blocks.list() == []
    assert await list_sessions(runtime.store) == []
