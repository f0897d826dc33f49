"""Agents as tools: what reaches the caller and what never does, where a child's memory lives, and how it ends."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from orchestra import Agent, Conversation, Runtime, ToolContext, tool
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.session_list import delete_session, list_sessions
from orchestra.memory.sessions import Session
from orchestra.runtime.client import Client
from orchestra.store.thread_store import ThreadStore
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines


async def recite(request: ModelRequest) -> ModelReply:
    """Says how many messages of users it is shown."""
    return reply(str([m.text for m in request.messages if m.role == "user"]))


def boss(child: Agent, calls: int = 1, memory: str = "fresh", **fields: object) -> Agent:
    """Calls ``child`` in ``calls`` replies, one after the other, and answers then."""
    replies = [reply(calls=[call("child", input=f"q{number}")]) for number in range(calls)]
    made = child.as_tool("child", memory=memory)  # type: ignore[arg-type]
    return Agent(name="boss", model=ScriptedModel([*replies, reply("done")]), tools=(made,), **fields)  # type: ignore[arg-type]


async def test_messages_are_never_copied_between_caller_and_child(runtime: Runtime) -> None:
    secret = ScriptedModel([reply("thinking of secret-of-child", calls=[call("noop")]), reply("answer")])

    @tool
    def noop() -> str:
        """Nothing."""
        return "tool-result-of-child"

    child = Agent(name="child", model=secret, tools=(noop,), instructions="child-instructions")
    await runtime.register(parent := boss(child))
    result = await runtime.run("boss", "request-of-user", session_id="s")
    assert isinstance(parent.model, ScriptedModel)
    assert [m.text for m in result.messages] == ["request-of-user", "", "answer", "done"]
    for request in parent.model.requests:
        assert all(word not in str(request) for word in ("secret-of-child", "tool-result-of-child", "child-instr"))
    assert all("request-of-user" not in str(request) for request in secret.requests)


@pytest.mark.parametrize(("memory", "second"), [("fresh", "['q1']"), ("session", "['q0', 'q1']")])
async def test_a_fresh_child_never_sees_an_earlier_call_and_one_with_the_sessions_memory_does(
    runtime: Runtime, memory: str, second: str
) -> None:
    await runtime.register(boss(Agent(name="child", model=FunctionModel(recite)), 2, memory))
    result = await runtime.run("boss", "go", session_id="s")
    assert [m.text for m in result.messages if m.role == "tool"] == ["['q0']", second]
    other = await runtime.run("boss", "go", session_id="other")
    assert [m.text for m in other.messages if m.role == "tool"] == ["['q0']", second]


@pytest.mark.parametrize("memory", ["fresh", "session"])
async def test_state_stays_the_childs_through_the_session_and_parallel_calls_lose_nothing(
    runtime: Runtime, memory: str
) -> None:
    @tool
    async def count(ctx: ToolContext) -> str:
        """Count."""
        ctx.agent.state.increment("n")
        return "counted"

    @tool
    def look(ctx: ToolContext) -> str:
        """Look."""
        return f"{ctx.agent.name} {ctx.agent.state.get('n')}"

    child = Agent(name="child", model=ScriptedModel([reply(calls=[call("count")]), reply("ok")] * 5), tools=(count,))
    looker = Agent(name="looker", model=ScriptedModel([reply(calls=[call("look")]), reply("ok")]), tools=(look,))
    calls = [call("child", input=str(number)) for number in range(5)]
    model = ScriptedModel([reply(calls=calls), reply(calls=[call("look"), call("looker", input="x")]), reply("done")])
    tools = (child.as_tool(memory=memory), looker.as_tool(), look)  # type: ignore[arg-type]
    await runtime.register(Agent(name="boss", model=model, tools=tools))
    result = await runtime.run("boss", "go", session_id="s")
    assert result.messages[-3].text == "boss None"
    states = [
        await ThreadStore(runtime.store).state(name) for name in await ThreadStore(runtime.store).children("boss|s")
    ]
    assert [one for one in states if one] == [{"n": "5"}]


async def test_a_child_is_in_no_list_of_sessions(runtime: Runtime) -> None:
    await runtime.register(boss(Agent(name="child", model=FunctionModel(recite)), 2, "session"))
    await runtime.run("boss", "go", session_id="s", user_id="ana")
    threads = ThreadStore(runtime.store)
    assert [(one.agent, one.session_id) for one in await list_sessions(runtime.store)] == [("boss", "s")]
    assert await threads.agents_of("s") == ["boss"]
    assert (await runtime.session("s").open()).agent == "boss"
    assert await runtime.store.read("SMEMBERS", runtime.store.keys.user_threads("ana")) == {"boss|s"}
    assert await threads.children("boss|s")


@pytest.mark.parametrize("memory", ["fresh", "session"])
@pytest.mark.parametrize("how", ["delete", "clear"])
async def test_what_deletes_a_session_takes_its_children_along(runtime: Runtime, memory: str, how: str) -> None:
    @tool
    def note(ctx: ToolContext) -> str:
        """Note."""
        ctx.agent.state.set("said", "private-words")
        return "noted"

    model = ScriptedModel([reply(calls=[call("note")]), reply("private-words")] * 2)
    await runtime.register(boss(Agent(name="child", model=model, tools=(note,)), 2, memory))
    await runtime.run("boss", "go", session_id="s")
    await runtime.run("boss", "go", session_id="other")
    session = Session(runtime.store, "s", "boss")
    for _ in range(2):
        await (delete_session(runtime.store, session) if how == "delete" else session.clear_session())
    left = [str(key) for key in await runtime.store.read("KEYS", "*")]  # type: ignore[attr-defined]
    assert not [key for key in left if key.endswith("child|s")]
    assert [key for key in left if key.endswith("child|other")]


@pytest.mark.parametrize("memory", ["fresh", "session"])
async def test_children_end_when_their_session_does(runtime: Runtime, memory: str) -> None:
    @tool
    def note(ctx: ToolContext) -> str:
        """Note."""
        ctx.agent.state.set("said", "x")
        return "noted"

    child = Agent(name="child", model=ScriptedModel([reply(calls=[call("note")]), reply("ok")]), tools=(note,))
    await runtime.register(boss(child, 1, memory, conversation=Conversation(ttl=1000.0)))
    await runtime.run("boss", "go", session_id="s")
    keys = [str(key) for key in await runtime.store.read("KEYS", "*")]  # type: ignore[attr-defined]
    mine = [key for key in keys if key.endswith(("child|s", "boss|s")) and ":attach:" not in key]
    assert len(mine) > 6
    for key in mine:
        left = await runtime.store.read("TTL", key)
        assert 0 < left <= 1000, key  # type: ignore[operator]


async def test_a_fresh_childs_thread_ends_a_day_after_its_last_write(runtime: Runtime) -> None:
    await runtime.register(boss(Agent(name="child", model=FunctionModel(recite))))
    await runtime.run("boss", "go", session_id="s", run_id="r")
    threads, keys = ThreadStore(runtime.store), runtime.store.keys
    (fresh,) = [one for one in await threads.children("boss|s") if await threads.exists(one)]
    for key in (keys.head(fresh), keys.log(fresh), keys.turns(fresh), keys.run("r.0.0")):
        assert 86_000 < await runtime.store.read("TTL", key) <= 86_400  # type: ignore[operator]
    assert await runtime.store.read("TTL", keys.head("boss|s")) == -1


async def test_a_child_that_fails_gives_an_error_result_and_its_usage_counts(runtime: Runtime) -> None:
    async def broken(request: ModelRequest) -> ModelReply:
        if any(m.role == "tool" for m in request.messages):
            raise ValueError("no more")
        return reply(calls=[call("nothing")])

    await runtime.register(boss(Agent(name="child", model=FunctionModel(broken))))
    result = await runtime.run("boss", "go", session_id="s")
    assert (result.status, result.output) == ("completed", "done")
    answer = result.messages[2]
    assert answer.is_error
    assert "child failed" in answer.text
    assert "no more" in answer.text
    assert result.usage_by_agent["child"].model_calls == 1


async def test_a_full_host_never_waits_for_its_own_children(machines: Machines) -> None:
    client = machines.client_of(await machines.host(max_turns=1))
    await client.register(boss(Agent(name="child", model=FunctionModel(recite)), 3))
    async with asyncio.timeout(10):
        results = await asyncio.gather(*(client.run("boss", "go", session_id=f"s{n}") for n in range(5)))
    assert {result.status for result in results} == {"completed"}


async def test_a_run_that_is_taken_over_has_its_childs_answer_and_usage_once(machines: Machines) -> None:
    calls: list[str] = []

    async def answer(request: ModelRequest) -> ModelReply:
        calls.append(request.messages[-1].text)
        return reply("from the child")

    first = await machines.client("primary-0")
    second: Client = await machines.client("primary-1")
    child = Agent(name="child", model=FunctionModel(answer))
    begun, held = asyncio.Event(), asyncio.Event()

    async def lead(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "user":
            return reply(calls=[call("child", input="q")])
        begun.set()
        await held.wait()
        return reply(f"the child said {request.messages[-1].text}")

    await first.register(Agent(name="boss", model=FunctionModel(lead), tools=(child.as_tool(),)))
    lost = asyncio.ensure_future(first.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()
    await machines.hosts[0].hosts.leave(machines.hosts[0].id)  # declared dead, though it goes on for a while
    begun.clear()
    running = asyncio.ensure_future(second.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()
    held.set()
    result = await running
    assert result.output == "the child said from the child"
    assert calls == ["q"]
    assert result.usage.model_calls == 3
    assert result.usage_by_agent["child"].model_calls == 1
    await asyncio.gather(lost, return_exceptions=True)


async def test_whom_nobody_registered_cannot_be_a_tool(runtime: Runtime) -> None:
    with pytest.raises(UnknownName, match="nobody"):
        await runtime.register(Agent(name="boss", tools=("agent:nobody",)))
    one, other = Agent(name="child", instructions="a"), Agent(name="child", instructions="b")
    with pytest.raises(InputError, match="two different"):
        await runtime.register(boss(one), Agent(name="boss2", tools=(other.as_tool(),)))


async def test_what_the_model_sees_of_a_child(runtime: Runtime) -> None:
    child = Agent(name="The Researcher", description="Finds things out.", model=FunctionModel(recite))
    model = ScriptedModel([reply("ok")])
    tools = (child.as_tool(), child.as_tool("ask", "Ask.", memory="session"), "agent:other")
    other = Agent(name="other", description="Another.")
    await runtime.register(Agent(name="boss", model=model, tools=tools), other)
    await runtime.run("boss", "go")
    specs = {spec.name: spec for spec in model.requests[0].tools}
    assert {name: spec.description for name, spec in specs.items()} == {
        "The_Researcher": "Finds things out.",
        "ask": "Ask.",
        "other": "Another.",
    }
    assert list(specs["ask"].parameters["properties"]) == ["input"]  # type: ignore[call-overload]
    assert specs["ask"].parameters["required"] == ["input"]


async def test_arguments_that_do_not_fit_are_told_to_the_model(runtime: Runtime) -> None:
    child = Agent(name="child", model=FunctionModel(recite))
    model = ScriptedModel([reply(calls=[call("child", question="x"), call("child", input=3)]), reply("ok")])
    await runtime.register(Agent(name="boss", model=model, tools=(child.as_tool(),)))
    result = await runtime.run("boss", "go", session_id="s")
    assert [m.is_error for m in result.messages if m.role == "tool"] == [True, True]
    assert await ThreadStore(runtime.store).children("boss|s") == []


async def test_a_child_run_is_resumed_by_its_parent_only(machines: Machines) -> None:
    begun = asyncio.Event()

    async def wait(request: ModelRequest) -> ModelReply:
        begun.set()
        await asyncio.Event().wait()
        return reply("never")

    client = await machines.client()
    await client.register(boss(Agent(name="child", model=FunctionModel(wait))))
    running = asyncio.ensure_future(client.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()
    with pytest.raises(InputError, match="is part of run r"):
        await client.resume("r.0.0")
    await client.cancel("r")
    await running


async def test_a_child_that_had_ended_is_not_run_again_by_a_parent_that_is_taken_over(machines: Machines) -> None:
    calls: list[str] = []
    begun, held = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply:
        calls.append(request.messages[-1].text)
        return reply("from the child")

    class Holding:
        async def after_tool(self, context: object, called: object, content: str) -> None:
            if not begun.is_set():
                begun.set()  # the child is stored, and its parent has not noted the answer yet
                await held.wait()

    first, second = await machines.client("primary-0"), await machines.client("primary-1")
    await first.register(boss(Agent(name="child", model=FunctionModel(answer)), hooks=(Holding(),)))
    lost = asyncio.ensure_future(first.run("boss", "go", session_id="s", run_id="r"))
    await begun.wait()
    await machines.hosts[0].hosts.leave(machines.hosts[0].id)
    result = await second.run("boss", "go", session_id="s", run_id="r")
    held.set()
    assert result.messages[2].text == "from the child"
    assert calls == ["q0"]
    assert result.usage_by_agent["child"].model_calls == 1
    await asyncio.gather(lost, return_exceptions=True)


class Question(BaseModel):
    """What the researcher is asked."""

    topic: str
    depth: int = 1


async def test_an_agent_with_an_input_model_is_called_with_its_fields_and_gets_them_as_json(runtime: Runtime) -> None:
    child = Agent(name="child", model=FunctionModel(recite), input_type=Question)
    calls = [call("child", topic="tea"), call("child", input="tea"), call("child", topic="tea", depth="deep")]
    model = ScriptedModel([reply(calls=calls), reply("ok")])
    await runtime.register(Agent(name="boss", model=model, tools=("agent:child",)), child)
    result = await runtime.run("boss", "go", session_id="s")
    assert sorted(model.requests[0].tools[0].parameters["properties"]) == ["depth", "topic"]  # type: ignore[arg-type]
    answers = [m for m in result.messages if m.role == "tool"]
    assert answers[0].text == """['{"topic":"tea","depth":1}']"""
    assert [answer.is_error for answer in answers] == [False, True, True]
    assert "topic" in answers[1].text
    with pytest.raises(InputError, match="fields"):
        await runtime.register(Agent(name="other", model=model, input_type=int))
