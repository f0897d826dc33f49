"""``invocation_state`` reaches tools and hooks, is theirs to read, and is nowhere else."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from orchestra import Agent, HookContext, Runtime, ToolContext
from orchestra.core.errors import InvocationStateError
from orchestra.core.model import ModelRequest
from orchestra.testing import ScriptedModel, call, reply
from tests.servers import Server
from tests.stored import stored

CANARY = "canary-7f3a"


async def test_it_reaches_tools_and_hooks_and_each_has_a_copy(runtime: Runtime) -> None:
    seen: list[object] = []

    def spoil(ctx: ToolContext) -> str:
        """Change what was handed in."""
        items: Any = ctx.invocation_state["items"]
        items.append("spoiled")
        seen.append(list(items))
        return "spoiled"

    def write(ctx: ToolContext) -> str:
        """Write into it."""
        ctx.invocation_state["mine"] = 1  # type: ignore[index]
        return "written"

    class Watching:
        def before_tool(self, context: HookContext, call: object, arguments: dict[str, object]) -> None:
            seen.append(dict(context.invocation_state))

    given = {"items": ["one"], "user": "ana"}
    model = ScriptedModel([reply(calls=[call("spoil")]), reply(calls=[call("spoil"), call("write")]), reply("ok")])
    await runtime.register(Agent(name="a", model=model, tools=(spoil, write), hooks=(Watching(),)))
    result = await runtime.run("a", "go", session_id="s", invocation_state=given)
    outcomes = [(message.name, message.is_error) for message in result.messages if message.role == "tool"]
    assert outcomes == [("spoil", False), ("spoil", False), ("write", True)]
    assert seen.count(["one", "spoiled"]) == 2
    assert seen.count(given) == 3
    assert given == {"items": ["one"], "user": "ana"}


async def test_a_run_without_it_sees_an_empty_mapping(runtime: Runtime) -> None:
    def look(ctx: ToolContext) -> str:
        """Look."""
        return str(dict(ctx.invocation_state))

    await runtime.register(
        Agent(name="a", model=ScriptedModel([reply(calls=[call("look")]), reply("ok")]), tools=(look,))
    )
    result = await runtime.run("a", "go", session_id="s")
    assert result.messages[2].text == "{}"


@pytest.mark.parametrize(
    "value", [threading.Lock(), lambda: 1, (item for item in ())], ids=["lock", "lambda", "generator"]
)
async def test_what_cannot_travel_is_refused_before_anything_ran(runtime: Runtime, value: object) -> None:
    model = ScriptedModel([reply("hi")])
    await runtime.register(Agent(name="a", model=model))
    with pytest.raises(InvocationStateError) as raised:
        await runtime.run("a", "go", session_id="s", invocation_state={"fine": CANARY, "db": value})
    assert raised.value.key == "db"
    assert "runtime.resource" in str(raised.value)
    assert CANARY not in str(raised.value)
    assert model.requests == []
    assert await runtime.store.fields(runtime.store.keys.head("a|s")) == {}


async def test_it_is_in_no_key_event_prompt_or_log(
    runtime: Runtime, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    during: list[str] = []

    class Watching:
        def before_model(self, context: HookContext, request: ModelRequest) -> None:
            during.append(repr(context))

    def look(ctx: ToolContext) -> str:
        """Look."""
        during.extend((repr(ctx), stored(server.url)))
        return f"{len(ctx.invocation_state)} things"

    def fail(ctx: ToolContext) -> str:
        """Fail."""
        raise ValueError("no")

    model = ScriptedModel([reply(calls=[call("look"), call("fail")]), reply("ok")])
    await runtime.register(Agent(name="a", model=model, tools=(look, fail), hooks=(Watching(),)))
    with caplog.at_level(logging.DEBUG):
        state = {"key": CANARY, "nested": {"deep": [CANARY]}}
        events = [event async for event in runtime.stream("a", "go", session_id="s", invocation_state=state)]
    texts = (*during, repr(events), repr(model.requests), caplog.text, stored(server.url))
    assert len(during) == 4
    assert "run:" in during[2]
    assert all(CANARY not in text for text in texts)
