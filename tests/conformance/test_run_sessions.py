"""Sessions and runs, cases S34, S35, S39, S46 and S47, on Orchestra's own runtime.

Of S46 the part without child agents: usage of nested runs waits for the patterns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import cast

import pytest

from orchestra import Agent, Block, Runtime, Sleeptime, ToolContext
from orchestra.core.errors import InputError, StoreUnavailable
from orchestra.core.events import RunEnded, RunEvent, TextDelta
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest, Usage
from orchestra.memory.sessions import Session
from orchestra.runtime.client import Client, SessionHandle
from orchestra.store.connection import Store
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines
from tests.servers import Server, binary
from tests.sleeping import NOTES, Sleeper, passes, primary


def heard(request: ModelRequest) -> str:
    """A model that answers with all that it is shown."""
    return " / ".join(message.text for message in request.messages)


def texts(messages: object) -> list[str]:
    return [message.text for message in cast("list[Message]", messages)]


async def stored(client: Client, session: str = "s") -> list[str]:
    return texts(await client.session(session, "a").get_items())


async def collect(events: AsyncIterator[RunEvent], seen: list[RunEvent]) -> None:
    """Read the stream to its end, and keep what came when it breaks."""
    async for event in events:
        seen.append(event)


# --- S34 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["run", "stream"])
@pytest.mark.parametrize("second", ["run", "stream"])
async def test_s34_the_second_run_sees_the_first(runtime: Runtime, first: str, second: str) -> None:
    await runtime.register(Agent(name="a", model=FunctionModel(heard)))

    async def say(how: str, text: str) -> object:
        if how == "run":
            return (await runtime.run("a", text, session_id="s")).output
        events = [event async for event in runtime.stream("a", text, session_id="s")]
        return cast("RunEnded", events[-1]).result.output

    assert await say(first, "one") == "one"
    assert await say(second, "two") == "one / one / two"
    assert await stored(runtime) == ["one", "one", "two", "one / one / two"]
    assert (await runtime.run("a", "three", session_id="other")).output == "three"


def test_s34_blocking(server: Server, namespace: str) -> None:
    with Runtime.start({"redis": {"url": server.url}, "namespace": namespace}, inline=True).sync as runtime:
        runtime.register(Agent(name="a", model=FunctionModel(heard)))
        assert runtime.run("a", "one", session_id="s").output == "one"
        assert runtime.run("a", "two", session_id="s").output == "one / one / two"


# --- S35 and S39: a server of the test's own ----------------------------------------------------------------------


@pytest.fixture
async def mortal() -> AsyncIterator[Server]:
    """A server that keeps what it has acknowledged."""
    path = binary("valkey")
    assert path is not None
    server = Server(path, appendfsync="always")
    yield server
    server.stop()


def kill(server: Server) -> None:
    server.process.kill()
    server.process.wait()


@pytest.fixture
async def mortals(mortal: Server, namespace: str) -> AsyncIterator[Machines]:
    """A host on that server that does not wait for it for long."""
    store = await Store.open(mortal.url, namespace, patience=0.1)
    machines = Machines(store)
    yield machines
    await machines.stop()
    await store.close()


def look() -> str:
    """Look."""
    return "found"


async def test_s35_a_streamed_turn_is_durable_when_the_iterator_ends(mortal: Server, mortals: Machines) -> None:
    client = await mortals.client()
    model = ScriptedModel([reply(calls=[call("look")]), reply("done")])
    await client.register(Agent(name="a", model=model, tools=(look,)))
    async for _ in client.stream("a", "go", session_id="s"):
        pass
    kill(mortal)
    mortal.start()
    assert await stored(client) == ["go", "", "found", "done"]


async def test_s35_also_when_the_caller_leaves_early(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=FunctionModel(lambda request: "a long answer, word by word")))
    async with aclosing(runtime.stream("a", "go", session_id="s")) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, TextDelta):
                break
    messages = cast("list[Message]", await runtime.session("s", "a").get_items())
    assert texts(messages) == ["go"]
    assert messages[0].meta.aborted


@pytest.mark.parametrize("when", ["before", "during"])
async def test_s39_a_store_that_fails_is_heard_of_in_a_stream(mortal: Server, mortals: Machines, when: str) -> None:
    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "go" and mortal.process.poll() is None and when == "during":
            kill(mortal)
        return "done"

    client = await mortals.client()
    await client.register(Agent(name="a", model=FunctionModel(answer)))
    assert (await client.run("a", "first", session_id="s")).output == "done"
    if when == "before":
        kill(mortal)
    seen: list[RunEvent] = []
    with pytest.raises(StoreUnavailable) as raised:
        await collect(client.stream("a", "go", session_id="s", run_id="the-run"), seen)
    assert raised.value.retryable
    assert not any(isinstance(event, RunEnded) for event in seen)  # nothing says that it ended well
    when = "mended"
    mortal.start()
    assert (await client.run("a", "go", session_id="s", run_id="the-run")).output == "done"
    assert await stored(client) == ["first", "done", "go", "done"]


async def test_s39_a_session_object_that_fails_too(runtime: Runtime) -> None:
    class Failing:
        async def get_items(self, limit: int | None = None) -> list[object]:
            return []

        async def add_items(self, items: list[object]) -> None:
            raise OSError("the disk is full")

    await runtime.register(Agent(name="a", model=FunctionModel(heard)))
    seen: list[RunEvent] = []
    with pytest.raises(OSError, match="the disk is full"):
        await collect(runtime.stream("a", "go", session=Failing()), seen)
    assert not any(isinstance(event, RunEnded) for event in seen)


# --- S46 ----------------------------------------------------------------------------------------------------------

ONE = Usage(input_tokens=10, output_tokens=5, cached_tokens=2)


async def test_s46_usage_of_all_calls_of_a_run(runtime: Runtime) -> None:
    calls = [reply(calls=[call("look"), call("look")], usage=ONE), reply("done", usage=ONE)]
    await runtime.register(Agent(name="a", model=ScriptedModel([*calls, *calls]), tools=(look,)))
    each = Usage(input_tokens=20, output_tokens=10, cached_tokens=4, model_calls=2, tool_calls=2)
    for turn in (1, 2):
        result = await runtime.run("a", "go", session_id="s")
        assert result.usage == each
        assert result.usage_by_agent == {"a": each}
        usage = await runtime.session("s", "a").usage()
        assert [one.usage for one in usage.turns] == [each] * turn
        assert usage.total == sum([each] * turn, Usage())


async def test_s46_what_a_cancelled_run_had_used_until_then(runtime: Runtime) -> None:
    thinks = asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            thinks.set()
            await asyncio.Event().wait()
        return reply(calls=[call("look")], usage=ONE)

    await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(look,)))
    run = asyncio.create_task(runtime.run("a", "go", session_id="s", run_id="r"))
    await thinks.wait()
    assert await runtime.cancel("r")
    result = await run
    assert result.status == "cancelled"
    used = Usage(input_tokens=10, output_tokens=5, cached_tokens=2, model_calls=1, tool_calls=1)
    assert result.usage == used
    assert (await runtime.session("s", "a").usage()).total == used


async def test_s46_tools_that_were_cancelled_with_the_run_count_as_called(runtime: Runtime) -> None:
    hangs = asyncio.Event()

    async def hang() -> str:
        """Never come back."""
        hangs.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel([reply(calls=[call("look"), call("hang")], usage=ONE)])
    await runtime.register(Agent(name="a", model=model, tools=(look, hang)))
    run = asyncio.create_task(runtime.run("a", "go", session_id="s", run_id="r"))
    await hangs.wait()
    assert await runtime.cancel("r")
    assert (await run).usage == Usage(input_tokens=10, output_tokens=5, cached_tokens=2, model_calls=1, tool_calls=2)


async def test_s46_a_failed_run_tells_what_it_used(runtime: Runtime) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            raise ValueError("no")
        return reply(calls=[call("look")], usage=ONE)

    await runtime.register(Agent(name="a", model=FunctionModel(answer), tools=(look,)))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.usage.input_tokens, result.usage.model_calls) == ("failed", 10, 1)
    assert (await runtime.session("s", "a").usage()).total == result.usage


# --- S47 ----------------------------------------------------------------------------------------------------------


async def counted(ctx: ToolContext) -> str:
    """Count."""
    ctx.agent.state.increment("turns")
    if ctx.agent.state.get("turns") == 1:
        ctx.agent.state.set("first", True)
    return str(ctx.agent.state.get("turns"))


def counts(request: ModelRequest) -> ModelReply:
    """Calls the tool once a turn, and answers with what it said and the questions so far."""
    if request.messages[-1].role != "tool":
        return reply(calls=[call("counted")])
    said = [message.text for message in request.messages if message.role == "user"]
    return reply(f"{request.messages[-1].text}: {', '.join(said)}")


async def three_turns(client: Client) -> list[str]:
    """Three turns; their run ids."""
    await client.register(Agent(name="a", model=FunctionModel(counts), tools=(counted,)))
    return [(await client.run("a", text, session_id="s", user_id="ana")).run_id for text in ("one", "two", "three")]


@pytest.mark.parametrize("by", ["last", "number", "run"])
async def test_s47_the_last_user_turn_is_edited_and_asked_again(runtime: Runtime, by: str) -> None:
    runs = await three_turns(runtime)
    session = runtime.session("s", "a")
    gone = await session.rewind({"last": None, "number": 3, "run": runs[2]}[by])
    assert [message.role for message in gone] == ["user", "assistant", "tool", "assistant"]
    assert gone[0].text == "three"
    result = await runtime.run("a", f"{gone[0].text}, please", session_id="s", user_id="ana")
    assert (result.output, result.turn) == ("3: one, two, three, please", 3)
    assert [text for text in await stored(runtime) if "three" in text] == [
        "three, please",
        "3: one, two, three, please",
    ]
    usage = await session.usage()
    assert [(one.turn, one.status) for one in usage.turns] == [(1, "done"), (2, "done"), (3, "done")]
    assert usage.turns[-1].run == result.run_id


async def test_s47_an_earlier_turn_takes_the_later_ones_with_it(runtime: Runtime) -> None:
    runs = await three_turns(runtime)
    session = runtime.session("s", "a")
    gone = await session.rewind(runs[1])
    assert texts(gone)[::4] == ["two", "three"]
    head = await runtime.store.fields(runtime.store.keys.head("a|s"))
    # Calls count by the log: a scripted model goes on where it was before that turn.
    assert (head["turn"], head["calls"]) == ("1", "2")
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {"turns": "1", "first": "true"}
    assert (await runtime.run("a", "2", session_id="s", user_id="ana")).output == "2: one, 2"


async def test_s47_the_first_turn_leaves_nothing(runtime: Runtime) -> None:
    await three_turns(runtime)
    session = runtime.session("s", "a")
    assert len(await session.rewind(1)) == 12
    assert await stored(runtime) == []
    assert await runtime.store.fields(runtime.store.keys.state("a|s")) == {}
    with pytest.raises(InputError, match="it has none"):
        await session.rewind()
    result = await runtime.run("a", "again", session_id="s", user_id="ana")
    assert (result.output, result.turn) == ("1: again", 1)


async def test_s47_a_turn_that_failed_can_be_named_by_its_run(runtime: Runtime) -> None:
    def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "bad":
            raise ValueError("no")
        return heard(request)

    await runtime.register(Agent(name="a", model=FunctionModel(answer)))
    await runtime.run("a", "one", session_id="s")
    failed = await runtime.run("a", "bad", session_id="s")
    session = runtime.session("s", "a")
    assert texts(await session.rewind(failed.run_id)) == ["bad"]
    assert (await runtime.run("a", "good", session_id="s")).output == "one / one / good"


async def test_s47_what_there_is_not(runtime: Runtime) -> None:
    await three_turns(runtime)
    session = runtime.session("s", "a")
    before = await stored(runtime)
    for wrong in (0, 4, -1, "no-run"):
        with pytest.raises(InputError, match=rf"no turn {wrong} \(it has turns 1 to 3\)"):
            await session.rewind(wrong)
    assert await stored(runtime) == before


async def test_s47_the_same_rewind_again_takes_nothing_more(runtime: Runtime) -> None:
    await three_turns(runtime)
    session = runtime.session("s", "a")
    first = await session.rewind(operation_id="once")
    assert await session.rewind(operation_id="once") == first
    assert len(await stored(runtime)) == 8
    # Two at once for the same turn: one takes it, the other one finds that it is not there.
    done = await asyncio.gather(session.rewind(2), session.rewind(2), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["InputError", "list"]
    assert len(await stored(runtime)) == 4


async def test_s47_passes_are_told_and_the_watermark_follows(machines: Machines) -> None:
    sleeper = Sleeper()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(sleeper.model, every=2, blocks=(NOTES,)))
    worker = await machines.worker(host)
    for text in ("one", "two"):
        await client.run("a", text, session_id="s")
    await passes(machines.store, 1)
    await client.drain()
    await worker.stop()
    for text in ("three", "four"):
        await client.run("a", text, session_id="s")
    session = client.session("s", "a")
    await session.rewind(2)  # one turn that a pass has read, and two that one is due for
    head = await machines.store.fields(machines.store.keys.head("a|s"))
    assert [head[name] for name in ("turn", "watermark", "watermark_turn", "due_turn")] == ["1", "2", "1", "1"]
    assert await machines.store.items(machines.store.keys.retracted("a|s")) == ["3", "4"]
    assert await machines.store.scored(machines.store.keys.due) == []
    await machines.worker(host)
    await client.run("a", "two again", session_id="s")
    await passes(machines.store, 2)
    assert sleeper.read == [[1, 2, 3, 4], [9, 10]]
    assert "Messages 3, 4 were retracted" in sleeper.model.requests[-1].messages[1].text


async def test_s47_what_was_learned_from_it_is_named_and_taken_out(runtime: Runtime) -> None:
    sleeptime = Sleeptime(every=1, consolidator="extractive")
    agent = Agent(name="a", model=FunctionModel(heard), blocks=(Block(label="human"),), sleeptime=sleeptime)
    await runtime.register(agent)
    for text in ("My budget is 2000 euros.", "I am allergic to peanuts."):
        await runtime.run("a", text, session_id="s")
        await runtime.drain()
    session = runtime.session("s", "a")
    (line,) = await session.unlearn(await session.rewind())
    assert (line.state, "peanuts" in line.text) == ("removed", True)
    (block,) = await runtime.blocks.list(agent="a")
    assert "2000" in block.value
    assert "peanuts" not in block.value


async def test_s47_a_turn_at_work_is_stored_on_the_log_as_it_then_is(runtime: Runtime) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "slow":
            going.set()
            await on.wait()
        return "ok"

    await runtime.register(Agent(name="a", model=FunctionModel(answer)))
    await runtime.run("a", "one", session_id="s")
    run = asyncio.create_task(runtime.run("a", "slow", session_id="s"))
    await going.wait()
    assert len(await runtime.session("s", "a").rewind()) == 2
    on.set()
    assert (await run).turn == 1
    assert await stored(runtime) == ["slow", "ok"]
    result = await runtime.run("a", "next", session_id="s")
    assert result.turn == 2


async def test_s47_a_session_without_turns(store: Store) -> None:
    session = Session(store, "nothing", "a")
    with pytest.raises(InputError, match="it has none"):
        await session.rewind()
    handle = SessionHandle(store, "nothing", "a")
    await handle.add_items([{"role": "user", "content": "added"}])
    with pytest.raises(InputError, match="it has none"):
        await handle.rewind()
    assert texts(await handle.get_items()) == ["added"]
