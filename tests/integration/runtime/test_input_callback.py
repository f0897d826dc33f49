"""``session_input_callback`` shapes what is shown and never what is stored; a session goes with no server-side one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestra import Agent, Message, Runtime
from orchestra.core.errors import ServerConversationError
from orchestra.testing import ScriptedModel, reply
from tests.servers import Server


def shuffled(history: list[Message], new: list[Message]) -> Sequence[Message]:
    """Reorders, repeats and mutates."""
    history.reverse()
    new.append(Message("user", "invented"))
    return [*new, *history, *history]


@pytest.fixture
def config(server: Server, namespace: str) -> dict[str, object]:
    return {"redis": {"url": server.url}, "namespace": namespace}


async def test_s38_a_callback_that_reorders_repeats_and_mutates_stores_only_the_new_turn(
    config: dict[str, object],
) -> None:
    model = ScriptedModel([reply("one"), reply("two")])
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=model, session_input_callback=shuffled))
        await runtime.run("a", "first", session_id="s")
        await runtime.run("a", "second", session_id="s")
        shown = [message.text for message in model.requests[1].messages]
        assert shown == ["second", "invented", "one", "first", "one", "first"]
        stored = [message.text for message in await runtime.session("s", "a").get_items()]  # type: ignore[attr-defined]
        assert stored == ["first", "one", "second", "two"]


async def test_s44_a_session_together_with_a_server_side_conversation_is_refused_before_the_store_is_asked(
    config: dict[str, object],
) -> None:
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=ScriptedModel([reply("one")])))
        before = runtime.store.commands
        for option in ({"conversation_id": "c"}, {"previous_response_id": "r"}, {"auto_previous_response_id": True}):
            with pytest.raises(ServerConversationError, match=next(iter(option))):
                await runtime.run("a", "hello", session_id="s", **option)  # type: ignore[arg-type]
        assert runtime.store.commands == before
