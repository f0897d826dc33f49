"""Limits: each with its reason, and what was done so far in the result."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Agent, Graph, Limits, Runtime, Sleeptime
from orchestra.core.model import ModelRequest, Usage
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, call, reply


async def never() -> str:
    """Does not come back."""
    await asyncio.Event().wait()
    return "never"


def look(what: str) -> str:
    """Look something up."""
    return "found"


async def always(request: ModelRequest) -> object:
    """A model that calls a tool without end; one answer to "wait" never comes."""
    if request.messages[-1].text == "wait":
        await asyncio.Event().wait()
    return reply(calls=[call("look", what="x"), call("look", what="y")], usage=Usage(60, 40))


@pytest.mark.parametrize(
    ("limits", "reason", "calls", "kept"),
    [
        (Limits(model_calls=2), "model_calls", 2, 7),
        (Limits(tool_calls=3), "tool_calls", 2, 4),
        (Limits(tokens=250), "tokens", 3, 10),
        (Limits(seconds=0.05), "seconds", 0, 1),
    ],
    ids=["model_calls", "tool_calls", "tokens", "seconds"],
)
async def test_each_limit_has_its_reason(runtime: Runtime, limits: Limits, reason: str, calls: int, kept: int) -> None:
    model = FunctionModel(always)  # type: ignore[arg-type]
    await runtime.register(Agent(name="a", model=model, tools=(look,), sleeptime=Sleeptime(every=1, model=model)))
    text = "wait" if reason == "seconds" else "go"
    result = await runtime.run("a", text, session_id="s", limits=limits)
    assert (result.status, result.reason, result.output) == ("limit", reason, None)
    assert reason in result.error
    assert result.usage.model_calls == calls
    assert len(result.messages) == kept
    head = await ThreadStore(runtime.store).head("a|s")
    assert (head["turn"], head["due_turn"], head["seq"], head["run"]) == ("0", "0", str(kept), "")
    again = await runtime.run("a", text, session_id="s", limits=Limits(model_calls=1, seconds=0.05))
    assert again.status == "limit"  # the session is free and its log can be continued


async def test_the_time_of_a_run_bounds_its_tools_too(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: reply(calls=[call("look", what="x"), call("never")]))
    await runtime.register(Agent(name="a", model=model, tools=(look, never), limits=Limits(seconds=0.2)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason) == ("limit", "seconds")
    found = [(message.name, message.is_error, message.meta.synthetic) for message in result.messages[2:]]
    assert found == [("look", False, False), ("never", True, True)]


async def test_the_agents_own_limits_hold_where_the_run_names_none(runtime: Runtime) -> None:
    model = FunctionModel(always)  # type: ignore[arg-type]
    await runtime.register(Agent(name="a", model=model, tools=(look,), limits=Limits(model_calls=1)))
    assert (await runtime.run("a", "go")).usage.model_calls == 1
    assert (await runtime.run("a", "go", limits=Limits(tool_calls=1))).reason == "tool_calls"
    assert (await runtime.run("a", "go", limits=Limits(model_calls=3))).usage.model_calls == 3


async def endless(request: ModelRequest) -> object:
    """A model that never comes to an end."""
    return reply(calls=[call("look", what="x")], usage=Usage(10, 10))


@pytest.mark.parametrize("session", ["s", None])
@pytest.mark.parametrize(
    ("limits", "used", "step"),
    [
        (Limits(model_calls=9), "model_calls", 1),
        (Limits(tool_calls=12), "tool_calls", 1),
        (Limits(tokens=200), "total_tokens", 20),
    ],
    ids=["model_calls", "tool_calls", "tokens"],
)
async def test_children_at_the_same_time_exceed_a_limit_by_no_more_than_a_step_each(
    runtime: Runtime, session: str | None, limits: Limits, used: str, step: int
) -> None:
    """As tools of one agent and as nodes of one graph: never once the whole rest for each of them."""
    child = Agent(name="child", model=FunctionModel(endless), tools=(look,))  # type: ignore[arg-type]
    calls = [call("child", input=str(number)) for number in range(3)]
    boss = Agent(name="boss", model=FunctionModel(lambda _: reply(calls=calls)), tools=(child.as_tool(),))
    graph = Graph("graph", nodes=dict.fromkeys("abc", child), edges=[])
    await runtime.register(boss, graph)
    [(_, most)] = limits.model_dump(exclude_unset=True).items()
    for name in ("boss", "graph"):
        result = await runtime.run(name, "go", session_id=session, limits=limits)
        assert (result.status, result.reason) == ("limit", used.replace("total_", ""))
        assert getattr(result.usage, used) <= most + 3 * step


async def test_a_child_gets_what_is_left(runtime: Runtime) -> None:
    child = Agent(name="child", model=FunctionModel(endless), tools=(look,))  # type: ignore[arg-type]
    asks = FunctionModel(lambda _: reply(calls=[call("child", input="go")], usage=Usage(50, 50)))
    await runtime.register(Agent(name="boss", model=asks, tools=(child.as_tool(),)))
    result = await runtime.run("boss", "go", session_id="s", limits=Limits(tokens=180))
    assert (result.status, result.reason) == ("limit", "tokens")
    assert result.usage_by_agent["child"].total_tokens == 80
