"""Runs that wait for answers: approvals, questions, hooks; resumed elsewhere, rejected, abandoned, cancelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest

from orchestra import Approve, Reject, RunState, ToolContext, tool
from orchestra.core.errors import (
    AlreadyAnswered,
    InputError,
    MissingAnswer,
    RunFinished,
    RunNotFound,
    SessionInterrupted,
    UnknownInterrupt,
)
from orchestra.core.events import Interrupted, RunEnded
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.memory.sessions import Session
from orchestra.runtime.orphans import OrphanWatch
from orchestra.store.run_store import RunStore
from orchestra.testing import call, reply
from tests.asking import PAYING, ran, register
from tests.hosts import Machines


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


async def test_a_tool_waits_for_an_approval_and_its_siblings_finish(machines: Machines) -> None:
    client = await machines.client()
    model = await register(client)
    result = await client.run("a", "go", session_id="s", run_id="r")
    assert (result.status, result.reason, result.output) == ("interrupted", "interrupt", None)
    (asked,) = result.interrupts
    assert (asked.id, asked.name, asked.kind) == ("r:0.0", "approval", "approval")
    assert (asked.agent, asked.tool, asked.arguments) == ("a", "pay", {"amount": 5})
    assert ran == ["note"]
    assert [m.role for m in result.messages] == ["user"]
    assert await client.session("s", "a").get_items() == []  # nothing is committed yet
    again = await client.run("a", "go", session_id="s", run_id="r")  # the same call again, as after a lost reply
    assert (again.status, again.interrupts, again.duplicate) == ("interrupted", result.interrupts, True)
    elsewhere = await machines.client("primary-1")
    done = await elsewhere.resume("r", {asked.id: Approve()})
    assert (done.status, done.output, done.turn) == ("completed", "done", 1)
    assert ran == ["note", ("pay", 5)]
    assert [(m.role, m.text) for m in done.messages] == [
        ("user", "go"),
        ("assistant", "I pay."),
        ("tool", "paid 5"),
        ("tool", "noted"),
        ("assistant", "done"),
    ]
    assert len(model.requests) == 2
    assert done.usage.model_calls == 2
    assert done.usage.tool_calls == 2
    assert await Session(client.store, "s", "a").usage() is not None
    assert (await machines.store.fields(machines.store.keys.state("a|s"))) == {"noted": "1", "paid": "5"}


async def test_a_rejected_call_does_not_run_and_the_model_reads_why(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    result = await client.run("a", "go", session_id="s")
    done = await client.resume(result.run_id, {result.interrupts[0].id: Reject("too much")})
    assert done.status == "completed"
    assert ran == ["note"]
    refused = next(m for m in done.messages if m.name == "pay")
    assert refused.is_error
    assert refused.text == "The call was not approved, so it did not run. Reason: too much"


@pytest.mark.parametrize("answer", [None, False, 0, "", "red", {"a": [1]}, []])
async def test_any_json_value_answers_a_question(machines: Machines, answer: Json) -> None:
    client = await machines.client()
    await register(client, [reply(calls=[call("ask")]), reply("done")])
    result = await client.run("a", "go", session_id="s", run_id="r")
    (asked,) = result.interrupts
    assert (asked.id, asked.name, asked.reason, asked.kind) == ("r:0.0:colour", "colour", "which one?", "question")
    done = await client.resume("r", {asked.id: answer})
    assert next(m.text for m in done.messages if m.name == "ask") == f"it is {answer!r}"
    assert ran == ["begun", "piece", "begun"]  # what once() journaled is not repeated, everything else is
    # What the first start set was taken back: the tool starts from the beginning.
    assert (await machines.store.fields(machines.store.keys.state("a|s")))["begun"] == "1"


async def test_answers_that_do_not_fit_change_nothing(machines: Machines) -> None:
    client = await machines.client()
    await register(client, [reply(calls=[call("pay", amount=1), call("ask")]), reply("done")])
    result = await client.run("a", "go", session_id="s", run_id="r")
    approval, question = (one.id for one in result.interrupts)
    with pytest.raises(UnknownInterrupt, match=r"r:0\.0, r:0\.1:colour") as unknown:
        await client.resume("r", {"r:9.9": Approve()})
    assert unknown.value.id == "r:9.9"
    with pytest.raises(MissingAnswer) as missing:
        await client.resume("r", {approval: Approve()})
    assert missing.value.ids == (question,)
    with pytest.raises(MissingAnswer):
        await client.resume("r")
    with pytest.raises(InputError, match=r"answer it with Approve\(\) or Reject"):
        await client.resume("r", {approval: True, question: 1})
    with pytest.raises(InputError, match="is not JSON"):
        await client.resume("r", {approval: Approve(), question: float("nan")})
    with pytest.raises(RunNotFound):
        await client.resume("nobody", {approval: Approve()})
    assert ran == ["begun", "piece"]
    assert (await RunStore(machines.store).get("r")).status == "interrupted"  # type: ignore[union-attr]
    assert (await client.resume("r", {approval: Approve(), question: 1})).status == "completed"
    with pytest.raises(RunFinished):
        await client.resume("r", {approval: Approve(), question: 1})
    assert (await client.resume("r")).duplicate


async def test_of_two_that_answer_at_once_one_is_refused(machines: Machines) -> None:
    client, other = await machines.client("primary-0"), await machines.client("primary-1")
    await register(client)
    result = await client.run("a", "go", session_id="s", run_id="r")
    answers = {result.interrupts[0].id: Approve()}
    found = await asyncio.gather(client.resume("r", answers), other.resume("r", answers), return_exceptions=True)
    refused = [one for one in found if isinstance(one, AlreadyAnswered | RunFinished)]
    assert len(refused) == 1
    assert ran.count(("pay", 5)) == 1


async def test_always_is_remembered_for_this_tool_and_session(machines: Machines) -> None:
    client = await machines.client()
    paying = [reply(calls=[call("pay", amount=5)]), reply("done")]
    await register(client, [*paying * 3, reply(calls=[call("pay", amount=6)]), reply("x")])
    first = await client.run("a", "go", session_id="s")
    assert (await client.resume(first.run_id, {first.interrupts[0].id: Approve(always=True)})).status == "completed"
    elsewhere = await machines.client("primary-1")
    assert (await elsewhere.run("a", "again", session_id="s")).status == "completed"
    assert len(ran) == 2
    assert (await client.run("a", "go", session_id="other")).status == "interrupted"


async def test_a_function_says_whether_an_approval_is_needed(machines: Machines) -> None:
    def much(arguments: Mapping[str, Json]) -> bool:
        return int(str(arguments["amount"])) > 100

    @tool(needs_approval=much)
    def send(amount: int) -> str:
        """Send."""
        ran.append(amount)
        return "sent"

    client = await machines.client()
    calls = [call("send", amount=5), call("send", amount=500), call("send", amount="much")]
    await register(client, [reply(calls=calls), reply("done")], tools=(send,))
    result = await client.run("a", "go", session_id="s", run_id="r")
    assert [one.id for one in result.interrupts] == ["r:0.1"]
    assert ran == [5]
    done = await client.resume("r", {"r:0.1": Approve()})
    assert ran == [5, 500]
    assert [m.is_error for m in done.messages if m.name == "send"] == [False, False, True]


async def test_nobody_is_asked_about_arguments_that_do_not_fit(machines: Machines) -> None:
    client = await machines.client()
    await register(client, [reply(calls=[call("pay", sum=1)]), reply("done")])
    result = await client.run("a", "go", session_id="s")
    assert result.status == "completed"
    assert "arguments of pay" in next(m.text for m in result.messages if m.name == "pay")


async def test_a_tool_may_ask_again_and_again(machines: Machines) -> None:
    @tool(needs_approval=True)
    async def survey(ctx: ToolContext) -> str:
        """Ask two things."""
        ran.append("start")
        return f"{ctx.interrupt('one')} {ctx.interrupt('two')}"

    client = await machines.client()
    await register(client, [reply(calls=[call("survey")]), reply("done")], tools=(survey,))
    answers: list[dict[str, object]] = [{"r:0.0": Approve()}, {"r:0.0:one": 1}, {"r:0.0:two": 2}]
    result = await client.run("a", "go", session_id="s", run_id="r")
    for number, given in enumerate(answers):
        assert [one.id for one in result.interrupts] == list(given)
        client = await machines.client(f"primary-{number + 1}")
        result = await client.resume("r", given)  # type: ignore[arg-type]
    assert (result.status, ran) == ("completed", ["start"] * 3)
    assert next(m.text for m in result.messages if m.name == "survey") == "1 2"


async def test_the_session_is_held_until_the_run_goes_on(machines: Machines) -> None:
    client = await machines.client()
    await register(client, PAYING * 2)
    result = await client.run("a", "go", session_id="s", run_id="r")
    with pytest.raises(SessionInterrupted) as held:
        await client.run("a", "more", session_id="s")
    assert held.value.run_id == "r"
    with pytest.raises(SessionInterrupted):
        await client.session("s", "a").pop_item()
    assert (await client.run("a", "go", session_id="other")).status == "interrupted"  # other sessions are not
    await client.resume("r", {result.interrupts[0].id: Approve()})
    assert (await client.run("a", "more", session_id="s")).status == "interrupted"


@pytest.mark.parametrize("how", ["abandon", "cancel"])
async def test_a_waiting_run_is_ended_with_made_up_results(machines: Machines, how: str) -> None:
    client = await machines.client()
    replies = [reply("I pay.", calls=[call("pay", amount=5), call("note")]), reply("hello"), reply("hello")]
    model = await register(client, replies)
    await client.run("a", "go", session_id="s", run_id="r")
    other = await machines.client("primary-1")
    if how == "cancel":
        assert await other.cancel("r")
        assert not await other.cancel("r")
        ended = await other.resume("r")
        assert (ended.status, ended.reason, ended.output) == ("cancelled", "cancelled", None)
    else:
        result = await other.run("a", "more", session_id="s", on_busy="abandon")
        assert (result.status, result.output) == ("completed", "hello")
        ended = await other.resume("r")
        assert (ended.status, ended.reason) == ("cancelled", "abandoned")
    with pytest.raises(RunFinished):
        await other.resume("r", {"r:0.0": Approve()})
    assert ran == ["note"]
    log = [m for m in await client.session("s", "a").get_items() if isinstance(m, Message)]
    assert [(m.role, m.meta.synthetic, m.meta.aborted) for m in log[:4]] == [
        ("user", False, True),
        ("assistant", False, True),
        ("tool", True, True),
        ("tool", False, True),
    ]
    assert "waited for an answer" in log[2].text
    assert log[3].text == "noted"
    assert len(model.requests) == (1 if how == "cancel" else 2)
    assert (await client.run("a", "next", session_id="s")).turn == (1 if how == "cancel" else 2)


async def test_two_that_abandon_at_once_end_it_once(machines: Machines) -> None:
    clients = [await machines.client(f"primary-{number}") for number in range(2)]
    await register(clients[0], [reply(calls=[call("pay", amount=5)]), *[reply("hello")] * 4])
    await clients[0].run("a", "go", session_id="s", run_id="r")
    found = await asyncio.gather(*(one.run("a", "more", session_id="s", on_busy="abandon") for one in clients))
    assert [one.status for one in found] == ["completed", "completed"]
    log = [m for m in await clients[0].session("s", "a").get_items() if isinstance(m, Message)]
    assert [m.meta.run for m in log if m.role == "tool"] == ["r"]


@pytest.mark.parametrize("persistence", ["journal", "turn"])
async def test_a_host_that_dies_in_an_approved_tool_does_not_let_it_run_twice(
    machines: Machines, persistence: str
) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    @tool(needs_approval=True)
    async def charge() -> str:
        """Charge."""
        ran.append("charge")
        reached.set()
        if len(ran) == 1:
            await never.wait()
        return "charged"

    first = await machines.host("primary-0")
    client = machines.client_of(first)
    await register(client, [reply(calls=[call("charge")]), reply("done")], tools=(charge,), persistence=persistence)
    await client.run("a", "go", session_id="s", run_id="r")
    resumed = asyncio.ensure_future(client.resume("r", {"r:0.0": Approve()}))
    await reached.wait()
    await first.hosts.leave(first.id)  # a dead host: what it still does is fenced
    other = await machines.client("primary-1")
    if persistence == "journal":
        done = await other.resume("r")
        assert done.status == "completed"
        assert "may or may not have run" in next(m.text for m in done.messages if m.name == "charge")
    else:
        done = await other.resume("r")
        assert (done.status, done.reason) == ("failed", "HostUnavailable")
    assert ran == ["charge"]
    resumed.cancel()
    await asyncio.gather(resumed, return_exceptions=True)


async def test_an_answered_run_that_nobody_sends_is_done_by_a_living_host(machines: Machines) -> None:
    """The process died right after ``answer``: the answers are in the run, and it counts as running on no host."""
    host = await machines.host()
    client = machines.client_of(host)
    await register(client)
    await client.run("a", "go", session_id="s", run_id="r")
    await host.interrupts.answer("r", "a|s", {"r:0.0": '{"approve":true}'})
    with pytest.raises(SessionInterrupted):  # it still holds its session
        await client.run("a", "more", session_id="s")
    with pytest.raises(AlreadyAnswered, match="resume the run without responses"):
        await client.resume("r", {"r:0.0": Approve()})
    assert await OrphanWatch(host, grace=0).once() == ["r"]
    assert (await client.resume("r")).output == "done"
    assert ran == ["note", ("pay", 5)]


async def test_a_waiting_run_is_no_orphan(machines: Machines) -> None:
    first = await machines.host("primary-0")
    await register(machines.client_of(first))
    await machines.client_of(first).run("a", "go", session_id="s", run_id="r")
    await first.hosts.leave(first.id)
    assert await OrphanWatch(await machines.host("primary-1"), grace=0).once() == []


async def test_the_state_is_a_json_value_that_resume_takes(machines: Machines) -> None:
    client = await machines.client()
    await register(client, [reply(calls=[call("pay", amount=5), call("ask")]), reply("done")])
    result = await client.run("a", "go", session_id="s", run_id="r", invocation_state={"key": "canary-1"})
    text = json.dumps(result.to_state())
    assert "canary-1" not in text
    state = RunState(json.loads(text))
    with pytest.raises(UnknownInterrupt):
        state.approve("nothing")
    with pytest.raises(InputError):
        state.respond("r:0.0", "yes")
    state.reject(state.interrupts[0], "no")
    state.respond("r:0.1:colour", None)
    with pytest.raises(InputError, match="invocation_state"):
        await client.resume(state)
    done = await client.resume(json.loads(json.dumps(state)), invocation_state={"key": "canary-1"})
    assert done.status == "completed"
    assert [m.text for m in done.messages if m.name == "ask"] == ["it is None"]


async def test_a_run_without_a_session_is_carried_by_its_state(machines: Machines) -> None:
    client = await machines.client()
    model = await register(client, [reply("I pay.", calls=[call("pay", amount=5), call("note")]), reply("done")])
    result = await client.run("a", "go", user_id="ana")
    assert (result.status, ran) == ("interrupted", ["note"])
    state = RunState(json.loads(json.dumps(result.to_state())))
    other = await machines.client("primary-1")
    with pytest.raises(MissingAnswer):
        await other.resume(state)
    done = await other.resume(state.approve(state.interrupts[0], always=True))
    assert (done.status, done.output, ran) == ("completed", "done", ["note", ("pay", 5)])
    assert [m.role for m in done.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert len(model.requests) == 2


async def test_events_tell_what_is_asked_once_it_can_be_answered(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    events = []
    async for event in client.stream("a", "go", session_id="s", run_id="r"):
        if isinstance(event, Interrupted):
            assert (await RunStore(machines.store).get("r")).status == "interrupted"  # type: ignore[union-attr]
        events.append(event)
    assert [e.interrupt.id for e in events if isinstance(e, Interrupted)] == ["r:0.0"]
    assert isinstance(events[-1], RunEnded)
    assert [e.number for e in events] == list(range(1, len(events) + 1))
