"""``agent.state``, cases P1 to P5 of the conformance list."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from orchestra import Agent, HookContext, Runtime, ToolContext
from orchestra.core.jsontext import Json
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.state import StateValues
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines

LOOP: list[object] = []
LOOP.append(LOOP)
UNKEPT = [
    object(),
    {1, 2},
    b"x",
    float("nan"),
    float("inf"),
    (1,),
    {1: "x"},
    [{"deep": [(1,)]}],
    "\ud800",
    True.__class__,
    LOOP,
]


@pytest.mark.parametrize("value", UNKEPT, ids=lambda value: type(value).__name__)
def test_p01_a_value_that_json_would_change_is_refused_and_the_old_one_kept(value: object) -> None:
    state = StateValues({}).view()
    state.set("k", [1])
    for change in (
        lambda: state.set("k", cast("Json", value)),
        lambda: state.update("k", lambda old: cast("Json", value)),
    ):
        with pytest.raises(ValueError, match="k"):
            change()
    assert state.get("k") == [1]
    assert state.changes() == (("set", "k", "[1]"),)


@pytest.mark.parametrize("key", [None, 1, "", "  ", "\n", True, "\ud800"])
def test_p02_a_key_that_is_no_text_is_refused(key: object) -> None:
    state = StateValues({}).view()
    name = cast("str", key)
    for use in (
        lambda: state.set(name, 1),
        lambda: state.get(name),
        lambda: state.delete(name),
        lambda: state.increment(name),
        lambda: state.update(name, lambda old: 1),
    ):
        with pytest.raises(ValueError, match="key"):
            use()
    assert state.keys() == []


def test_p03_changing_a_value_afterwards_changes_nothing() -> None:
    state = StateValues({}).view()
    value: list[Json] = [1, {"a": [2]}]
    state.set("k", value)
    value.append(3)
    got = cast("list[Any]", state.get("k"))
    assert got == [1, {"a": [2]}]
    got[1]["a"].append(4)
    updated = cast("list[Json]", state.update("k", lambda old: old))
    updated.append(5)
    assert state.get("k") == [1, {"a": [2]}]


async def test_p04_five_parallel_increments(runtime: Runtime) -> None:
    """Async and sync tools alike: sync ones run in threads."""

    async def later(ctx: ToolContext) -> str:
        """Count."""
        await asyncio.sleep(0)
        return str(ctx.agent.state.increment("n"))

    def threaded(ctx: ToolContext) -> str:
        """Count."""
        return str(ctx.agent.state.increment("m"))

    calls = [*(call("later") for _ in range(5)), *(call("threaded") for _ in range(5))]
    model = ScriptedModel([reply(calls=calls), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(later, threaded)))
    result = await runtime.run("a", "go", session_id="s")
    counts = [int(message.text) for message in result.messages if message.role == "tool"]
    assert sorted(counts[:5]) == sorted(counts[5:]) == [1, 2, 3, 4, 5]
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"n": "5", "m": "5"}


async def test_p05_state_lives_in_its_session_and_its_agent(machines: Machines) -> None:
    """On the host that wrote it and on another one; not in another session, not in another agent of the session."""

    def remember(text: str, ctx: ToolContext) -> str:
        """Remember."""
        ctx.agent.state.set("k", {"text": text})
        return "remembered"

    def recall(ctx: ToolContext) -> str:
        """Recall."""
        return json.dumps([ctx.agent.state.get("k", "nothing"), ctx.agent.state.keys()])

    async def answer(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply(request.messages[-1].text)
        name, _, text = request.messages[-1].text.partition(" ")
        return reply(calls=[call(name, text=text) if text else call(name)])

    first, second = [await machines.client(name) for name in ("primary-0", "primary-1")]
    for name in ("a", "b"):
        await first.register(Agent(name=name, model=FunctionModel(answer), tools=(remember, recall)))

    async def recalled(client: Any, name: str, session: str) -> object:
        return json.loads((await client.run(name, "recall", session_id=session)).output)

    await first.run("a", "remember this", session_id="s")
    for client in (first, second):
        assert await recalled(client, "a", "s") == [{"text": "this"}, ["k"]]
        assert await recalled(client, "a", "other") == ["nothing", []]
        assert await recalled(client, "b", "s") == ["nothing", []]
    await first.run("b", "remember that", session_id="s")
    assert await recalled(second, "a", "s") == [{"text": "this"}, ["k"]]


async def test_p05_no_prompt_hook_or_event_of_another_agent_shows_it(runtime: Runtime) -> None:
    seen: list[str] = []

    class Watching:
        def before_model(self, context: HookContext, request: ModelRequest) -> None:
            seen.append(f"{context!r} {request!r} {context.state.keys()}")

    def hide(ctx: ToolContext) -> str:
        """Hide a secret."""
        ctx.agent.state.set("canary-key", "canary-value")
        return "hidden"

    one = ScriptedModel([reply(calls=[call("hide")]), reply("done")])
    two = ScriptedModel([reply("I know nothing")])
    await runtime.register(Agent(name="a", model=one, tools=(hide,)), Agent(name="b", model=two, hooks=(Watching(),)))
    await runtime.run("a", "go", session_id="s")
    events = [event async for event in runtime.stream("b", "what do you know?", session_id="s")]
    feed = await runtime.store.redis.xrange(runtime.store.keys.events)
    assert seen
    for text in (*seen, repr(events), repr(two.requests), repr(one.requests), repr(feed)):
        assert "canary" not in text
