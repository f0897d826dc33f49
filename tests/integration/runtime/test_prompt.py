"""What the next prompt holds: blocks as they are at that moment on any host, and the same view on every host."""

from __future__ import annotations

import re
from typing import cast

import pytest

from orchestra import Agent, Block, ToolContext
from orchestra.context.view import WINDOW_ENTRIES
from orchestra.core.agent import Persistence
from orchestra.core.conversation import Conversation
from orchestra.core.errors import BlockScopeError
from orchestra.core.events import ContextDecided
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.tokens import message_tokens
from orchestra.memory.sessions import Session
from orchestra.runtime.client import Client
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines

TEAM = Block(label="team", scope="shared", value="v")


def value_shown(request: ModelRequest, label: str = "team") -> str:
    found = re.search(rf"<{label}>.*?<value>(.*?)</value>", request.messages[0].text, re.DOTALL)
    assert found, request.messages[0].text
    return found[1]


@pytest.mark.parametrize("persistence", ["journal", "turn"])
async def test_an_edit_is_in_the_very_next_prompt_of_everybody(machines: Machines, persistence: Persistence) -> None:
    """Agent a on one host edits while agent b on another one is in the middle of a turn."""
    one, two = [await machines.client(f"primary-{number}") for number in range(2)]

    async def by_a(request: ModelRequest) -> ModelReply | str:
        text = request.messages[-1].text
        return (
            "done"
            if request.messages[-1].role == "tool"
            else reply(calls=[call("core_memory_append", label="team", content=text)])
        )

    shown: list[str] = []

    async def by_b(request: ModelRequest) -> ModelReply | str:
        shown.append(value_shown(request))
        return "done" if len(shown) % 3 == 0 else reply(calls=[call("work")])

    async def work(ctx: ToolContext) -> str:
        """Let the other agent edit."""
        await one.run("a", f"line {len(shown)}", session_id="sa")
        return "worked"

    fresh = Conversation(blocks_in_prompt="fresh")
    a = Agent(name="a", model=FunctionModel(by_a), blocks=(TEAM,))
    b = Agent(
        name="b",
        model=FunctionModel(by_b),
        tools=(work,),
        blocks=(TEAM,),
        persistence=persistence,
        conversation=fresh,
    )
    await one.register(a, b)
    await two.run("b", "go", session_id="sb")
    assert shown == ["v", "v\nline 1", "v\nline 1\nline 2"]
    await one.run("a", "line 3", session_id="sa")
    await two.run("b", "go", session_id="sb")
    assert shown[3] == "v\nline 1\nline 2\nline 3"
    await two.run("b", "go")  # without a session too
    assert shown[6].endswith("line 4\nline 5")


async def test_a_read_only_persona_and_scopes(machines: Machines) -> None:
    client = await machines.client()
    model = FunctionModel(lambda request: "\n".join(m.text for m in request.messages if m.text != "hi"))
    blocks = (
        Block(label="persona", value="Brisk.", read_only=True),
        Block(label="human", scope="user"),
        Block(label="task", scope="session"),
    )
    await client.register(Agent(name="a", model=model, blocks=blocks, instructions="Help."))
    with pytest.raises(BlockScopeError) as raised:
        await client.run("a", "hi", session_id="s1")
    assert raised.value.missing == "user_id"
    first = cast("str", (await client.run("a", "hi", session_id="s1", user_id="ana")).output)
    assert first.endswith("Help.")
    assert first.index("<persona>") < first.index("<human>") < first.index("<task>")
    by_scope = {block.scope: block for block in await client.blocks.list(agent="a", user_id="ana", session_id="s1")}
    await client.blocks.update(by_scope["user"].id, value="Ana is vegetarian.")
    await client.blocks.update(by_scope["session"].id, value="Plan a trip.")
    await client.blocks.update(by_scope["agent"].id, value="Very brisk.")

    async def shown(session: str, user: str) -> list[bool]:
        text = cast("str", (await client.run("a", "hi", session_id=session, user_id=user)).output)
        return [part in text for part in ("vegetarian", "Plan a trip", "Very brisk")]

    assert await shown("s1", "ana") == [True, True, True]
    assert await shown("s2", "ana") == [True, False, True]
    assert await shown("s3", "bob") == [False, False, True]


async def test_what_a_model_quotes_is_found_in_the_block(machines: Machines) -> None:
    client = await machines.client()

    async def answer(request: ModelRequest) -> ModelReply | str:
        if request.messages[-1].role == "tool":
            return request.messages[-1].text
        quoted = value_shown(request, "notes")
        return reply(calls=[call("core_memory_replace", label="notes", old_content=quoted, new_content="plain")])

    value = "close it: </value></notes></memory_blocks> and <\\/b> too"
    await client.register(Agent(name="a", model=FunctionModel(answer), blocks=(Block(label="notes", value=value),)))
    result = await client.run("a", "go", session_id="s")
    assert result.output == "notes: version 2, 5 of 5000 characters"
    (notes,) = await client.blocks.list(agent="a")
    assert notes.value == "plain"


async def filled(client: Client, machines: Machines, count: int, *, users: int = 1) -> Session:
    """A log of ``count`` messages: ``users`` user messages and an answer, again and again."""
    session = Session(machines.store, "s", "a")
    roles = ("user",) * users + ("assistant",)
    for start in range(0, count, 1000):
        items = [Message(roles[n % len(roles)], f"message {n}") for n in range(start, min(start + 1000, count))]  # type: ignore[arg-type]
        await session.add_items(items)
    return session


@pytest.mark.parametrize("users", [1, 3])
@pytest.mark.parametrize("conversation", [Conversation(), Conversation(history_limit=7), Conversation(strategy="full")])
async def test_a_log_of_5000_messages_looks_the_same_on_a_cold_and_a_warm_host(
    machines: Machines, conversation: Conversation, users: int
) -> None:
    warm, model = await machines.client("primary-0"), FunctionModel(lambda request: "ok")
    await warm.register(Agent(name="a", model=model, conversation=conversation, context_tokens=60_000))
    await filled(warm, machines, 5000, users=users)
    await warm.run("a", "first", session_id="s")
    for number in range(4):
        await warm.run("a", f"warm {number}", session_id="s")
        cold = await machines.client(f"cold-{number}")
        await cold.run("a", f"cold {number}", session_id="s")
    # Each run sees what the one before saw, and one turn more (in front, as much fell out as does not fit).
    for before, after in zip(model.requests[1:], model.requests[2:], strict=False):
        known = [message.text for message in before.messages]
        shown = [message.text for message in after.messages]
        assert known[len(known) - len(shown) + 2 :] == shown[:-2]
    head = await ThreadStore(machines.store).head("a|s")
    last = int(head["seq"])
    for request in model.requests:
        history = request.messages[:-1]
        assert history[0].role == "user"
        assert len(history) <= WINDOW_ENTRIES
    assert len(model.requests[-1].messages) > (10 if conversation.history_limit else 1000)
    assert last == 5000 + 2 * 9


async def test_unreadable_entries_are_passed_over_on_every_host_alike(machines: Machines) -> None:
    warm, model = await machines.client("primary-0"), FunctionModel(lambda request: "ok")
    await warm.register(Agent(name="a", model=model, conversation=Conversation(strategy="full")))
    session = await filled(warm, machines, 4000)
    for number in range(150):
        await machines.store.read("RPUSH", machines.store.keys.log("a|s"), f"{4001 + number} 0 1 no json {number}")
    await machines.store.read("HSET", machines.store.keys.head("a|s"), "seq", 4150)
    await warm.run("a", "one", session_id="s")
    await warm.run("a", "two", session_id="s")
    await (await machines.client("cold-0")).run("a", "three", session_id="s")
    await warm.run("a", "four", session_id="s")
    starts = [int(request.messages[0].text.split()[1]) for request in model.requests]
    assert starts == [4150 - WINDOW_ENTRIES + 2 * number for number in range(4)]
    assert len(await session.get_items()) == 4008


@pytest.mark.parametrize("session", ["s", None])
async def test_the_estimate_of_a_growing_turn_is_that_of_what_is_shown(machines: Machines, session: str | None) -> None:
    client, sizes = await machines.client(), list[int]()

    async def model(request: ModelRequest) -> ModelReply | str:
        sizes.append(sum(map(message_tokens, request.messages)))
        return "done" if len(sizes) % 5 == 0 else reply(calls=[call("look", text="ab" * len(sizes))])

    async def look(text: str) -> str:
        """Look at something."""
        return text * 20

    await client.register(Agent(name="a", model=FunctionModel(model), tools=(look,)))
    for _ in range(2):
        told = [
            event.tokens
            async for event in client.stream("a", "go", session_id=session)
            if isinstance(event, ContextDecided) and event.part == "pruning"
        ]
        assert len(told) == 5
        assert [tokens - told[0] for tokens in told] == [size - sizes[-5] for size in sizes[-5:]]
