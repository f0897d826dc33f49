"""Guardrails: what they keep out is stored nowhere and shown nowhere, and a guardrail that fails keeps out too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis
from pydantic import BaseModel

from orchestra import Agent, Approve, GuardrailContext, Guardrails, HookContext, Runtime, Swarm, Verdict, tool
from orchestra.core.events import ModelReplied, RunEnded, RunEvent, TextDelta, ToolEnded
from orchestra.core.graph import Edge, Graph
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.core.result import RunResult
from orchestra.runtime.agent_file import load_agent
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.hosts import Machines
from tests.servers import Server

SECRET = "xyzzy-1234"
NO_SECRETS = Guardrails(output=(lambda value, context: no_secrets(value, context),))


def no_secrets(value: Json, context: GuardrailContext) -> Verdict:
    """The answer holds no secret."""
    return Verdict.reject("it tells the secret") if SECRET in str(value) else Verdict.allow()


def no_secrets_in(value: str, context: GuardrailContext) -> Verdict:
    """The input holds no secret."""
    return no_secrets(value, context)


class Streaming:
    """A model whose text comes in pieces."""

    name = "test:streaming"

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        text = self.texts[self.asked]
        self.asked += 1
        for word in text.split(" "):
            yield Delta(word)
        yield reply(text)


def everything(server: Server, runtime: Runtime) -> str:
    """All that stands in the namespace but definitions, which hold what the scripted models will say."""
    client = redis.Redis.from_url(server.url, decode_responses=False)
    found: list[object] = []
    for key in client.scan_iter(f"*{{{runtime.store.keys.namespace}}}*", count=1000):
        if b":def:" in key:
            continue
        read = {
            b"hash": client.hgetall,
            b"string": client.get,
            b"set": client.smembers,
            b"list": lambda name: client.lrange(name, 0, -1),
            b"zset": lambda name: client.zrange(name, 0, -1),
            b"stream": client.xrange,
        }[client.type(key)]
        found.append((key, read(key)))
    client.close()
    return repr(found)


def tripped(result: RunResult) -> list[tuple[str, str, str]]:
    return [(one.stage, one.name, one.action) for one in result.guardrail_results]


async def log_of(runtime: Runtime, agent: str, session: str = "s") -> list[tuple[str, str]]:
    items = await runtime.session(session, agent).get_items()
    return [(one.role, one.text) for one in items if isinstance(one, Message)]


# --- input ------------------------------------------------------------------------------------------------------------


async def test_a_rejected_input_never_reaches_the_model_the_log_or_the_server(runtime: Runtime, server: Server) -> None:
    model = ScriptedModel([reply("hello"), reply("never")])
    await runtime.register(Agent(name="a", model=model, guardrails=Guardrails(input=(no_secrets_in,))))
    assert (await runtime.run("a", "hi", session_id="s")).status == "completed"
    result = await runtime.run("a", f"the key is {SECRET}", session_id="s", run_id="r2")
    assert (result.status, result.reason, result.output, result.messages) == ("failed", "guardrail", None, ())
    assert tripped(result) == [("input", "no_secrets_in", "reject")]
    assert result.guardrail_results[0].why == "it tells the secret"
    assert len(model.requests) == 1
    assert await log_of(runtime, "a") == [("user", "hi"), ("assistant", "hello")]
    assert SECRET not in everything(server, runtime)
    again = await runtime.run("a", "and now?", session_id="s")
    assert (again.status, again.turn) == ("completed", 2)  # it counted for nothing, and holds nothing


async def test_only_the_new_input_is_judged_and_only_once(runtime: Runtime) -> None:
    seen: list[str] = []

    async def noting(value: str, context: GuardrailContext) -> Verdict:
        seen.append(value)
        return Verdict.allow()

    model = ScriptedModel([reply("one"), reply("two"), reply("three")])
    await runtime.register(Agent(name="a", model=model, guardrails=Guardrails(input=(noting,))))
    await runtime.run("a", "first", session_id="s", run_id="r1")
    await runtime.run("a", "second", session_id="s")
    repeated = await runtime.run("a", "first", session_id="s", run_id="r1")  # has ended: its stored answer
    assert (repeated.duplicate, repeated.output) == (True, "one")
    await runtime.run("a", [Message("user", "alone"), Message("user", "together")])
    assert seen == ["first", "second", "alone\n\ntogether"]


async def test_an_id_that_is_taken_lets_no_other_input_in(runtime: Runtime) -> None:
    @tool(needs_approval=True)
    def act() -> str:
        """Act."""
        return "acted"

    model = ScriptedModel([reply(calls=[call("act")]), reply("done")])
    guardrails = Guardrails(input=(no_secrets_in,))
    await runtime.register(Agent(name="a", model=model, tools=(act,), guardrails=guardrails))
    waiting = await runtime.run("a", "go", session_id="s", run_id="r")
    assert waiting.status == "interrupted"
    other = await runtime.run("a", SECRET, session_id="s", run_id="r")
    assert (other.status, other.reason) == ("failed", "guardrail")
    done = await runtime.resume("r", {waiting.interrupts[0].id: Approve()})
    assert (done.status, done.output) == ("completed", "done")


async def test_a_guardrail_on_input_is_cancelled_and_timed_like_the_run(runtime: Runtime) -> None:
    started = asyncio.Event()

    async def slow(value: str, context: GuardrailContext) -> Verdict:
        started.set()
        await asyncio.Event().wait()
        return Verdict.allow()

    agent = Agent(name="a", model=ScriptedModel([reply("never")]), guardrails=Guardrails(input=(slow,)))
    await runtime.register(agent)
    running = asyncio.create_task(runtime.run("a", "go", session_id="s", run_id="r"))
    await started.wait()
    assert await runtime.cancel("r")
    result = await running
    assert (result.status, result.reason) == ("cancelled", "cancelled")
    await runtime.register(agent.model_copy(update={"limits": agent.limits.model_copy(update={"seconds": 0.05})}))
    late = await runtime.run("a", "go", session_id="s")
    assert (late.status, late.reason) == ("limit", "seconds")


# --- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", ["s", None], ids=["session", "lone"])
async def test_a_rejected_answer_is_never_stored_streamed_or_told_to_hooks(
    runtime: Runtime, server: Server, session: str | None
) -> None:
    told: list[str] = []

    class Listening:
        def after_model(self, context: HookContext, answer: ModelReply) -> None:
            told.append(answer.message.text)

        def after_run(self, context: HookContext, result: RunResult) -> None:
            told.append(repr(result))

    model = Streaming("Fine so far.", f"The key is {SECRET} you know")
    await runtime.register(Agent(name="a", model=model, guardrails=NO_SECRETS, hooks=(Listening(),)))
    events: list[RunEvent] = [one async for one in runtime.stream("a", "hi", session_id=session)]
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "Finesofar."
    events = [one async for one in runtime.stream("a", "tell me", session_id=session, run_id="r2")]
    assert SECRET not in repr(events)
    assert [type(one) for one in events if isinstance(one, TextDelta | ModelReplied)] == [ModelReplied]
    assert isinstance(events[-1], RunEnded)
    result = events[-1].result
    assert (result.status, result.reason, result.output) == ("failed", "guardrail", None)
    assert [one.action for one in result.guardrail_results] == ["reject"]
    assert result.raw_responses == ()
    assert [one.role for one in result.messages] == ["user"]
    assert result.usage.model_calls == 1  # it was used, whatever it said
    assert SECRET not in repr(told)
    assert SECRET not in everything(server, runtime)
    if session is not None:
        assert await log_of(runtime, "a") == [("user", "hi"), ("assistant", "Fine so far."), ("user", "tell me")]
        remembered = await runtime.resume("r2")
        assert (remembered.reason, remembered.guardrail_results) == ("guardrail", result.guardrail_results)
        assert SECRET not in [one.text for one in await runtime.recall("a").search(SECRET)]


async def test_text_beside_tool_calls_is_shown_when_the_reply_is_complete(runtime: Runtime) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    model = FunctionModel(
        lambda request: (
            reply("Let me look.", calls=[call("look")]) if request.call_number == 0 else reply(f"It is {SECRET}")
        )
    )
    await runtime.register(Agent(name="a", model=model, guardrails=NO_SECRETS, tools=(look,)))
    events: list[RunEvent] = [one async for one in runtime.stream("a", "go", session_id="s")]
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) in ("", "Let me look.")
    assert [one.content for one in events if isinstance(one, ToolEnded)] == ["seen"]
    assert await log_of(runtime, "a") == [("user", "go"), ("assistant", "Let me look."), ("tool", "seen")]


async def test_an_answer_in_the_journal_is_judged_again_before_it_is_shown(runtime: Runtime, server: Server) -> None:
    """A hook asked after the reply, so it is journaled; meanwhile the agent got a guardrail."""

    class Asking:
        def after_model(self, context: HookContext, answer: ModelReply) -> None:
            context.interrupt("sure")

    hooks, told = (Asking(),), list[str]()
    agent = Agent(name="a", model=ScriptedModel([reply(f"It is {SECRET}")]), hooks=hooks)
    await runtime.register(agent)
    waiting = await runtime.run("a", "go", session_id="s", run_id="r")
    assert waiting.status == "interrupted"
    await runtime.register(agent.model_copy(update={"guardrails": NO_SECRETS}))
    async for event in runtime.resume_stream("r", {waiting.interrupts[0].id: True}):
        told.append(repr(event))
    done = await runtime.resume("r")
    assert (done.status, done.reason) == ("failed", "guardrail")
    assert SECRET not in "".join(told)
    assert SECRET not in everything(server, runtime)


class Told(BaseModel):
    """What is told."""

    text: str


async def test_typed_answers_are_judged_as_data_and_misfits_are_never_shown(runtime: Runtime, server: Server) -> None:
    judged: list[object] = []

    def noting(value: Json, context: GuardrailContext) -> Verdict:
        judged.append(value)
        return no_secrets(value, context)

    model = Streaming(f"Plainly: {SECRET}", '{"text": "nothing"}')
    agent = Agent(name="a", model=model, output_type=Told, guardrails=Guardrails(output=(noting,)))
    await runtime.register(agent)
    events: list[RunEvent] = [one async for one in runtime.stream("a", "go", session_id="s")]
    assert isinstance(events[-1], RunEnded)
    assert events[-1].result.status == "completed"
    assert judged == [{"text": "nothing"}]
    assert SECRET not in repr(events)
    assert SECRET not in everything(server, runtime)


# --- failing closed ---------------------------------------------------------------------------------------------------


def raising(value: object, context: GuardrailContext) -> Verdict:
    raise ValueError(f"cannot read {value!r}")


async def raising_late(value: object, context: GuardrailContext) -> Verdict:
    await asyncio.sleep(0)
    raise SystemExit(f"cannot read {value!r}")


def saying_yes(value: object, context: GuardrailContext) -> bool:
    return True


@pytest.mark.parametrize("function", [raising, raising_late, saying_yes])
@pytest.mark.parametrize("stage", ["input", "output", "tools"])
async def test_a_guardrail_that_gives_no_verdict_lets_nothing_through(
    runtime: Runtime, server: Server, function: object, stage: str
) -> None:
    ran: list[str] = []

    def act(what: str) -> str:
        """Act."""
        ran.append(what)
        return "acted"

    first = reply(calls=[call("act", what=SECRET)]) if stage == "tools" else reply(f"answer {SECRET}")
    guardrails = Guardrails.model_validate({stage: (function,)})
    await runtime.register(
        Agent(name="a", model=ScriptedModel([first, reply("more")]), tools=(act,), guardrails=guardrails)
    )
    result = await runtime.run("a", "go" if stage != "input" else SECRET, session_id="s")
    assert (result.status, result.reason, ran) == ("failed", "guardrail", [])
    assert [one.action for one in result.guardrail_results] == ["error"]
    assert SECRET not in result.error + result.guardrail_results[0].why  # an error's text may quote what was looked at
    if stage != "tools":
        assert SECRET not in everything(server, runtime)


async def test_sync_guardrails_run_in_a_thread_with_a_copy_of_the_invocation_state(runtime: Runtime) -> None:
    seen: list[tuple[bool, object]] = []

    def looking(value: object, context: GuardrailContext) -> Verdict:
        tags = context.invocation_state["tags"]
        assert isinstance(tags, list)
        seen.append((threading.current_thread() is threading.main_thread(), list(tags)))
        tags.append("changed")
        return Verdict.allow()

    guardrails = Guardrails(input=(looking, looking), output=(looking,))
    await runtime.register(Agent(name="a", model=ScriptedModel([reply("ok")]), guardrails=guardrails))
    await runtime.run("a", "go", session_id="s", invocation_state={"tags": ["one"]})
    assert seen == [(False, ["one"])] * 3


# --- tools ------------------------------------------------------------------------------------------------------------


async def test_a_tool_call_is_allowed_rejected_or_stops_the_run(runtime: Runtime) -> None:
    ran: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    def small(value: ToolCall, context: GuardrailContext) -> Verdict:
        amount = value.arguments["amount"]
        assert isinstance(amount, int)
        if amount > 1000:
            return Verdict.stop("far too much")
        return Verdict.reject("too much, at most 100") if amount > 100 else Verdict.allow()

    calls = [[call("pay", amount=5), call("pay", amount=500)], [call("pay", amount=7), call("pay", amount=5000)]]
    model = ScriptedModel([*(reply(calls=one) for one in calls), reply("never")])
    await runtime.register(Agent(name="a", model=model, tools=(pay,), guardrails=Guardrails(tools=(small,))))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.reason, tripped(result)) == ("failed", "guardrail", [("tool", "small", "stop")])
    assert (result.guardrail_results[0].tool, result.guardrail_results[0].why) == ("pay", "far too much")
    assert sorted(ran) == [5, 7]
    results = [(one.text, one.is_error) for one in result.messages if one.role == "tool"]
    assert results[:3] == [("paid 5", False), ("too much, at most 100", True), ("paid 7", False)]
    assert results[3][1]
    assert len(model.requests) == 2  # the model is not asked again
    log = await log_of(runtime, "a")
    assert [role for role, _ in log] == ["user", "assistant", "tool", "tool", "assistant", "tool", "tool"]


async def test_a_rejected_call_is_not_shown_to_those_who_approve(runtime: Runtime) -> None:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def never(value: ToolCall, context: GuardrailContext) -> Verdict:
        return Verdict.reject("not today")

    model = ScriptedModel([reply(calls=[call("pay", amount=1)]), reply("I did not pay.")])
    await runtime.register(Agent(name="a", model=model, tools=(pay,), guardrails=Guardrails(tools=(never,))))
    result = await runtime.run("a", "go", session_id="s")
    assert (result.status, result.output) == ("completed", "I did not pay.")


async def test_a_call_that_was_stopped_is_stopped_again_when_its_host_is_lost_before_the_commit(
    machines: Machines,
) -> None:
    """The reply is journaled, the stop is not: whoever goes on must not take the call for one that may have run."""
    ran: list[str] = []
    reached, released = asyncio.Event(), asyncio.Event()

    @tool(idempotent=True)
    async def wait() -> str:
        """Hold the first host."""
        ran.append("wait")
        if not reached.is_set():
            reached.set()
            await released.wait()
        return "waited"

    def wipe() -> str:
        """Delete everything."""
        ran.append("wipe")
        return "wiped"

    def no_wiping(value: ToolCall, context: GuardrailContext) -> Verdict:
        return Verdict.stop("no wiping") if value.name == "wipe" else Verdict.allow()

    model = ScriptedModel([reply(calls=[call("wipe"), call("wait")]), reply("went on")])
    first = await machines.host("primary-0")
    client = machines.client_of(first)
    guardrails = Guardrails(tools=(no_wiping,))
    await client.register(Agent(name="a", model=model, tools=(wipe, wait), guardrails=guardrails))
    running = asyncio.ensure_future(client.run("a", "go", session_id="s", run_id="r"))
    await reached.wait()
    await first.hosts.leave(first.id)
    result = await (await machines.client("primary-1")).run("a", "go", session_id="s", run_id="r")
    assert (result.status, result.reason, tripped(result)) == ("failed", "guardrail", [("tool", "no_wiping", "stop")])
    assert ran == ["wait", "wait"]
    assert len(model.requests) == 1
    released.set()
    await asyncio.gather(running, return_exceptions=True)


# --- several agents ---------------------------------------------------------------------------------------------------


def counting(seen: list[tuple[str, str]], stage: str) -> object:
    def look(value: object, context: GuardrailContext) -> Verdict:
        seen.append((context.agent, stage))
        return no_secrets(str(value), context)

    return look


def guarded(name: str, seen: list[tuple[str, str]], *replies: ModelReply, **fields: object) -> Agent:
    """An agent whose guardrails note that they were asked."""
    guardrails = Guardrails.model_validate({"input": (counting(seen, "in"),), "output": (counting(seen, "out"),)})
    return Agent.model_validate(
        {"name": name, "model": ScriptedModel(list(replies)), "guardrails": guardrails, **fields}
    )


async def test_in_a_swarm_the_first_sees_the_input_and_the_last_the_answer(runtime: Runtime, server: Server) -> None:
    seen: list[tuple[str, str]] = []
    one = guarded("one", seen, reply(calls=[call("handoff_to_agent", agent_name="two", message="go on")]))
    two = guarded("two", seen, reply(f"It is {SECRET}"))
    await runtime.register(Swarm("desk", agents=[one, two]))
    result = await runtime.run("desk", "go", session_id="s", run_id="r1")
    assert seen == [("one", "in"), ("two", "out")]
    assert (result.status, result.reason) == ("failed", "guardrail")
    assert [(item.agent, item.stage) for item in result.guardrail_results] == [("two", "output")]
    refused = await runtime.run("desk", SECRET, session_id="s")
    assert [(item.agent, item.stage) for item in refused.guardrail_results] == [("one", "input")]
    assert SECRET not in everything(server, runtime)


async def test_in_a_graph_the_first_and_the_last_nodes_are_guarded(runtime: Runtime) -> None:
    seen: list[tuple[str, str]] = []
    nodes = {name: guarded(name, seen, reply(f"from {name}")) for name in ("draft", "check", "send", "drop")}
    edges = [("draft", "check"), Edge("check", "send", when="true"), Edge("check", "drop", when="false")]
    await runtime.register(Graph("report", nodes=nodes, edges=edges))
    result = await runtime.run("report", "go", session_id="s")
    assert (result.status, result.output) == ("completed", "from send")
    # Nothing is sure to follow "check": had both conditions been false, its answer would be that of the run.
    assert seen == [("draft", "in"), ("check", "out"), ("send", "out")]


async def test_an_agent_that_is_a_tool_answers_its_caller_only(runtime: Runtime) -> None:
    seen: list[tuple[str, str]] = []
    helper = guarded("helper", seen, reply("found"))
    main = guarded("main", seen, reply(calls=[call("helper", input="look")]), reply("done"), tools=(helper.as_tool(),))
    await runtime.register(main)
    assert (await runtime.run("main", "go", session_id="s")).output == "done"
    assert seen == [("main", "in"), ("main", "out")]


async def test_an_agent_file_names_them_by_their_files(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(
        "from orchestra import Verdict\n"
        "def polite(value, context):\n"
        "    return Verdict.allow() if 'please' in value else Verdict.reject('say please')\n"
    )
    (tmp_path / "a.md").write_text(
        "---\nname: a\nmodel: extractive\nguardrails: {input: ['checks.py:polite']}\n---\nHelp.\n"
    )
    await runtime.register(load_agent(tmp_path / "a.md"))
    result = await runtime.run("a", "Now!", session_id="s")
    assert (result.reason, result.guardrail_results[0].why) == ("guardrail", "say please")
    assert (await runtime.run("a", "Now, please.", session_id="s")).status == "completed"
