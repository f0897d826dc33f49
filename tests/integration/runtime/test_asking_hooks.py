"""Hooks that ask, and what stays the same when a call starts again after its answer."""

from __future__ import annotations

import asyncio

import pytest

from orchestra import Approve, Block, HookContext, ToolContext, tool
from orchestra.core.errors import DefinitionChanged
from orchestra.core.jsontext import Json
from orchestra.testing import call, reply
from tests.asking import note, ran, register
from tests.hosts import Machines


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


class Asking:
    """A hook that asks at one of its places."""

    def __init__(self, place: str) -> None:
        self.place = place

    def _at(self, place: str, context: HookContext) -> None:
        ran.append(place)
        if place == self.place:
            ran.append(f"{place}: {context.interrupt('go on')}")

    def before_run(self, context: HookContext) -> None:
        """A place."""
        self._at("before_run", context)

    async def before_model(self, context: HookContext, request: object) -> None:
        """A place."""
        self._at("before_model", context)

    def after_model(self, context: HookContext, reply: object) -> None:
        """A place."""
        self._at("after_model", context)

    async def before_tool(self, context: HookContext, call: object, arguments: object) -> None:
        """A place."""
        self._at("before_tool", context)

    def after_tool(self, context: HookContext, call: object, content: str) -> None:
        """A place."""
        self._at("after_tool", context)

    def after_run(self, context: HookContext, result: object) -> None:
        """Not a place."""
        ran.append("after_run")


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("before_run", "r:run:go on"),
        ("before_model", "r:m0:go on"),
        ("after_model", "r:m0:go on"),
        ("before_tool", "r:0.0:go on"),
        ("after_tool", "r:0.0:go on"),
    ],
)
async def test_hooks_ask_too(machines: Machines, place: str, asked: str) -> None:
    client = await machines.client()
    model = await register(client, [reply(calls=[call("note")]), reply("done")], hooks=(Asking(place),))
    result = await client.run("a", "go", session_id="s", run_id="r")
    given: dict[str, object] = {}
    while result.status == "interrupted":
        assert "after_run" not in ran
        assert len(result.interrupts) == 1
        given[result.interrupts[0].id] = len(given)
        result = await client.resume("r", {result.interrupts[0].id: len(given) - 1})
    assert result.status == "completed", result.error
    assert next(iter(given)) == asked
    assert len(given) == (2 if place in ("before_model", "after_model") else 1)
    assert f"{place}: 0" in ran
    assert ran.count("note") == 1
    assert ran.count("after_run") == 1
    assert len(model.requests) == 2  # no model call is made twice
    assert (await machines.store.fields(machines.store.keys.state("a|s"))) == {"noted": "1"}


async def test_what_was_approved_is_what_runs(machines: Machines) -> None:
    """A hook that changes arguments is not called again after the approval of what it had made of them."""

    class Dearer:
        def before_tool(self, context: HookContext, call: object, arguments: dict[str, Json]) -> dict[str, Json]:
            ran.append("hook")
            return {"amount": len(ran)}

    client = await machines.client()
    await register(client, [reply(calls=[call("pay", amount=50)]), reply("done")], hooks=(Dearer(),))
    result = await client.run("a", "go", session_id="s", run_id="r")
    assert result.interrupts[0].arguments == {"amount": 1}
    await client.resume("r", {"r:0.0": Approve()})
    assert ran == ["hook", ("pay", 1)]


async def test_a_tool_that_is_gone_is_an_error_that_names_it(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    await client.run("a", "go", session_id="s", run_id="r")
    await register(client, tools=(note,))
    with pytest.raises(DefinitionChanged, match="the tool 'pay' is gone") as changed:
        await client.resume("r", {"r:0.0": Approve()})
    assert changed.value.differences == ("the tool 'pay' is gone",)
    await register(client)
    done = await client.resume("r")
    assert (done.status, ran) == ("completed", ["note", ("pay", 5)])


async def test_edits_of_blocks_before_the_question_happen_once(machines: Machines) -> None:
    @tool
    async def log(ctx: ToolContext) -> str:
        """Write, then ask."""
        await ctx.blocks.append("notes", "line")
        return str(ctx.interrupt("sure"))

    client = await machines.client()
    await register(client, [reply(calls=[call("log")]), reply("x")], tools=(log,), blocks=(Block(label="notes"),))
    await client.run("a", "go", session_id="s", run_id="r")
    await client.resume("r", {"r:0.0:sure": True})
    assert (await client.blocks.list(agent="a"))[0].value == "line"


async def test_a_question_in_a_task_group_is_still_a_question(machines: Machines) -> None:
    @tool
    async def group(ctx: ToolContext) -> str:
        """Ask from within."""

        async def inner() -> Json:
            return ctx.interrupt("inside")

        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(inner())
        return str(asked.result())

    client = await machines.client()
    await register(client, [reply(calls=[call("group")]), reply("x")], tools=(group,))
    result = await client.run("a", "go", session_id="s", run_id="r")
    assert [one.name for one in result.interrupts] == ["inside"]
    assert (await client.resume("r", {"r:0.0:inside": 4})).messages[2].text == "4"
