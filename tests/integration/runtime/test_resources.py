"""Resources: opened once per host, tried again when that failed, and nobody's cancellation is another one's."""

from __future__ import annotations

import asyncio
import logging

import pytest

from orchestra import Agent, Runtime, ToolContext, tool
from orchestra.testing import ScriptedModel, call, reply


@tool
async def use(ctx: ToolContext) -> str:
    """Use the database."""
    return str(await ctx.resource("db"))  # type: ignore[misc]


def agent(name: str = "a") -> Agent:
    return Agent(name=name, model=ScriptedModel([reply(calls=[call("use")]), reply("done")]), tools=(use,))


async def used(runtime: Runtime, session_id: str) -> str:
    result = await runtime.run("a", "go", session_id=session_id)
    return next(message.text for message in result.messages if message.role == "tool")


async def test_one_that_did_not_open_is_tried_again(runtime: Runtime) -> None:
    tries = 0

    async def factory() -> str:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("the database is down")
        return "rows"

    runtime.resource("db", factory)
    await runtime.register(agent())
    assert "the database is down" in await used(runtime, "s1")
    assert [await used(runtime, "s2"), await used(runtime, "s3"), tries] == ["rows", "rows", 2]


async def test_a_cancelled_run_does_not_cancel_what_others_wait_for(runtime: Runtime) -> None:
    opening, go = asyncio.Event(), asyncio.Event()

    async def factory() -> str:
        opening.set()
        await go.wait()
        return "rows"

    runtime.resource("db", factory)
    await runtime.register(agent())
    first = asyncio.ensure_future(runtime.run("a", "go", session_id="s1", run_id="first"))
    await opening.wait()
    second = asyncio.ensure_future(used(runtime, "s2"))
    assert await runtime.cancel("first")
    assert (await first).status == "cancelled"
    go.set()
    assert [await second, await used(runtime, "s3")] == ["rows", "rows"]


async def test_a_sync_tool_cannot_open_an_async_one(runtime: Runtime) -> None:
    async def factory() -> str:
        return "rows"

    @tool(name="use")
    def blocking(ctx: ToolContext) -> str:
        """Use the database from a thread."""
        return str(ctx.resource("db"))

    runtime.resource("db", factory)
    await runtime.register(agent().model_copy(update={"tools": (blocking,)}))
    assert "only an async tool" in await used(runtime, "s1")


async def test_one_that_does_not_close_keeps_nothing_open(
    server: object, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Stubborn:
        def close(self) -> None:
            raise OSError("not now")

    closed = asyncio.Event()

    class Polite:
        async def aclose(self) -> None:
            closed.set()

    url = server.url  # type: ignore[attr-defined]
    with caplog.at_level(logging.WARNING, "orchestra"):
        async with Runtime.start({"redis": {"url": url}, "namespace": namespace}, inline=True) as runtime:
            runtime.resource("stubborn", Stubborn)
            runtime.resource("polite", Polite)

            @tool(name="use")
            async def both(ctx: ToolContext) -> str:
                """Open both."""
                return f"{type(ctx.resource('stubborn'))} {type(ctx.resource('polite'))}"

            await runtime.register(agent().model_copy(update={"tools": (both,)}))
            await used(runtime, "s1")
    assert closed.is_set()
    assert "stubborn" in caplog.text
