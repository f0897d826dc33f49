"""Sessions and runs that wait, case S41: interrupted, serialised, resumed, each call has exactly one output."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from orchestra import Agent, Reject, RunState, Runtime
from orchestra.core.messages import Message
from orchestra.testing import ScriptedModel, call, reply
from tests.asking import note, pay, ran
from tests.hosts import Machines


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def checked(messages: list[Message]) -> list[str]:
    """The outputs in the order of their calls; each call has exactly one."""
    calls = [one.id for message in messages for one in message.tool_calls]
    outputs = Counter(message.tool_call_id for message in messages if message.role == "tool")
    assert outputs == dict.fromkeys(calls, 1)
    assert [message.tool_call_id for message in messages if message.role == "tool"] == calls
    return [message.text for message in messages if message.role == "tool"]


@pytest.mark.parametrize("session", ["s", None])
async def test_s41_interrupted_serialised_resumed(machines: Machines, session: str | None) -> None:
    client = await machines.client()
    calls = [call("pay", amount=1), call("note"), call("pay", amount=2)]
    model = ScriptedModel([reply(calls=calls), reply(calls=[call("pay", amount=3)]), reply("done")])
    await client.register(Agent(name="a", model=model, tools=(pay, note)))
    result = await client.run("a", "go", session_id=session)
    rounds = 0
    while result.status == "interrupted":
        rounds += 1
        state = RunState(json.loads(json.dumps(result.to_state())))
        for asked in state.interrupts:
            state.approve(asked) if asked.arguments != {"amount": 2} else state.reject(asked, "no")
        client = await machines.client(f"primary-{rounds}")
        result = await client.resume(json.loads(json.dumps(state)))
    assert (result.status, rounds) == ("completed", 2)
    outputs = checked(list(result.messages))
    assert outputs[:2] == ["paid 1", "noted"]
    assert "Reason: no" in outputs[2]
    assert outputs[3] == "paid 3"
    assert ran == ["note", ("pay", 1), ("pay", 3)]
    if session is not None:
        log = [one for one in await client.session(session, "a").get_items() if isinstance(one, Message)]
        assert checked(log) == outputs
    # What the model was shown had each output once, too, in every call.
    for request in model.requests:
        checked([message for message in request.messages if message.role != "system"])


async def test_s41_the_session_goes_on_after_a_rejection(runtime: Runtime) -> None:
    model = ScriptedModel([reply(calls=[call("pay", amount=1)]), reply("not paid"), reply("hello")])
    await runtime.register(Agent(name="a", model=model, tools=(pay,)))
    result = await runtime.run("a", "go", session_id="s")
    await runtime.resume(result.run_id, {result.interrupts[0].id: Reject()})
    assert (await runtime.run("a", "hi", session_id="s")).turn == 2
    checked([message for message in model.requests[-1].messages if message.role != "system"])
    assert ran == []
