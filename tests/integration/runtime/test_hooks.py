"""Hooks: their order, what they may change, and what a hook that raises does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from orchestra import Agent, HookContext, RunResult, Runtime, ToolError
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import ScriptedModel, call, reply

SCRIPT = [reply(calls=[call("echo", text="hello")]), reply("done")]


def echo(text: str) -> str:
    """Say it again."""
    return text


class Noting:
    """Notes every event; a sync hook when ``sync``, else an async one."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def before_run(self, context: HookContext) -> None:
        self.seen.append(f"{self.name} before_run {context.agent}")

    async def after_run(self, context: HookContext, result: RunResult) -> None:
        self.seen.append(f"{self.name} after_run {result.status}")

    async def before_model(self, context: HookContext, request: ModelRequest) -> None:
        self.seen.append(f"{self.name} before_model {request.call_number}")

    async def after_model(self, context: HookContext, answer: ModelReply) -> None:
        self.seen.append(f"{self.name} after_model {answer.finish_reason}")

    async def before_tool(self, context: HookContext, call: ToolCall, arguments: Mapping[str, Json]) -> None:
        self.seen.append(f"{self.name} before_tool {call.name}")

    async def after_tool(self, context: HookContext, call: ToolCall, content: str) -> None:
        self.seen.append(f"{self.name} after_tool {content}")


async def test_before_in_order_and_after_in_reverse(runtime: Runtime) -> None:
    seen: list[str] = []
    hooks = (Noting("one", seen), Noting("two", seen))
    await runtime.register(Agent(name="a", model=ScriptedModel(SCRIPT), tools=(echo,), hooks=hooks))
    await runtime.run("a", "go", session_id="s")
    expected = [
        "before_run a",
        "before_model 0",
        "after_model tool_calls",
        "before_tool echo",
        "after_tool hello",
        "before_model 1",
        "after_model stop",
        "after_run completed",
    ]
    order = {"before": ("one", "two"), "after": ("two", "one")}
    assert seen == [f"{name} {line}" for line in expected for name in order[line.partition("_")[0]]]


async def test_what_is_declared_writable_can_be_changed(runtime: Runtime) -> None:
    class Changing:
        def before_model(self, context: HookContext, request: ModelRequest) -> ModelRequest:
            return replace(request, messages=(*request.messages, Message("user", "(be brief)")))

        def before_tool(self, context: HookContext, call: ToolCall, arguments: Mapping[str, Json]) -> dict[str, Json]:
            return {**arguments, "text": f"{arguments['text']}, changed"}

        def after_tool(self, context: HookContext, call: ToolCall, content: str) -> str:
            return f"<{content}>"

    model = ScriptedModel(SCRIPT)
    await runtime.register(Agent(name="a", model=model, tools=(echo,), hooks=(Changing(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert [request.messages[-1].text for request in model.requests] == ["(be brief)"] * 2
    assert [message.text for message in result.messages] == ["go", "", "<hello, changed>", "done"]
    assert result.messages[1].tool_calls[0].arguments == {"text": "hello"}  # the log holds what the model asked


async def test_what_is_not_writable_stays(runtime: Runtime) -> None:
    class Meddling:
        def before_run(self, context: HookContext) -> str:
            return "no"

        def after_model(self, context: HookContext, answer: ModelReply) -> ModelReply:
            return reply("something else")

        def before_tool(self, context: HookContext, call: ToolCall, arguments: dict[str, Json]) -> None:
            arguments["text"] = "mutated"

        def after_run(self, context: HookContext, result: RunResult) -> RunResult:
            return replace(result, output="something else")

    await runtime.register(Agent(name="a", model=ScriptedModel(SCRIPT), tools=(echo,), hooks=(Meddling(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.output, result.messages[1].tool_calls[0].arguments) == ("done", {"text": "hello"})


async def test_a_hook_can_stop_a_tool(runtime: Runtime) -> None:
    ran: list[str] = []

    def act() -> str:
        """Act."""
        ran.append("act")
        return "acted"

    class Stopping:
        def before_tool(self, context: HookContext, call: ToolCall, arguments: Mapping[str, Json]) -> None:
            raise ToolError("not allowed here")

    model = ScriptedModel([reply(calls=[call("act")]), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(act,), hooks=(Stopping(),)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.messages[2].text, result.messages[2].is_error, ran) == ("not allowed here", True, [])


async def test_sync_hooks_run_in_a_thread_and_share_the_agents_state(runtime: Runtime) -> None:
    threads: set[int] = set()

    class Counting:
        def before_model(self, context: HookContext, request: ModelRequest) -> None:
            threads.add(threading.get_ident())
            context.state.increment("model calls")

    await runtime.register(Agent(name="a", model=ScriptedModel(SCRIPT), tools=(echo,), hooks=(Counting(),)))
    await runtime.run("a", "go", session_id="s")
    assert threading.get_ident() not in threads
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"model calls": "2"}


@pytest.mark.parametrize("name", ["before_run", "before_model", "after_model"])
async def test_a_hook_that_raises_fails_the_run(runtime: Runtime, name: str) -> None:
    class Broken:
        pass

    async def broken(context: HookContext, *arguments: object) -> None:
        raise RuntimeError("the hook is ill")

    hook = Broken()
    setattr(hook, name, broken)
    await runtime.register(Agent(name="a", model=ScriptedModel(SCRIPT), tools=(echo,), hooks=(hook,)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason, result.turn) == ("failed", "error", 0)
    assert "the hook is ill" in result.error


async def test_a_hook_that_raises_after_the_run_takes_no_answer_away(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn is stored by then; the fault is logged."""

    class Broken:
        def after_run(self, context: HookContext, result: RunResult) -> None:
            raise RuntimeError("the hook is ill")

    await runtime.register(Agent(name="a", model=ScriptedModel([reply("hi")] * 2), hooks=(Broken(),)))
    for options in ({"session_id": "s"}, {}):
        result = await runtime.run("a", "go", **options)
        assert (result.status, result.output) == ("completed", "hi")
    assert caplog.text.count("the hook is ill") == 2


async def test_nested_values_are_copies(runtime: Runtime) -> None:
    """Neither a hook nor a tool changes what the model asked for, nor what another hook gets of the call's state."""
    seen: list[object] = []

    def collect(items: Any) -> str:
        """Collect."""
        items.append("by the tool")
        return str(items)

    class Meddling:
        def before_tool(self, context: HookContext, call: ToolCall, arguments: dict[str, Any]) -> None:
            seen.append(context.invocation_state["list"])
            cast("list[object]", context.invocation_state["list"]).append("meddled")
            cast("list[object]", call.arguments["items"]).append("by the hook")

    model = ScriptedModel([reply(calls=[call("collect", items=["x"])]), reply("done")])
    await runtime.register(Agent(name="a", model=model, tools=(collect,), hooks=(Meddling(), Meddling())))
    result = await runtime.run("a", "go", session_id="s", invocation_state={"list": []})
    assert result.messages[1].tool_calls[0].arguments == {"items": ["x"]}
    assert model.requests[1].messages[1].tool_calls[0].arguments == {"items": ["x"]}
    assert result.messages[2].text == "['x', 'by the tool']"
    assert seen == [["meddled"], ["meddled"]]
