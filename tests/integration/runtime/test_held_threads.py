"""What goes on around a thread that a waiting run holds: passes, its time to live, deletion, what is stored of it."""

from __future__ import annotations

import pytest

from orchestra import Agent, Approve, Block, Conversation, Sleeptime
from orchestra.core.errors import AlreadyAnswered, Fenced, RunNotFound
from orchestra.core.interrupts import InterruptView
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.memory.session_list import delete_session
from orchestra.store.interrupt_store import Suspension
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.asking import note, pay, ran, register
from tests.hosts import Machines
from tests.sleeping import passes


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


async def test_a_pass_goes_on_and_sees_nothing_of_the_open_calls(machines: Machines) -> None:
    seen: list[str] = []

    def sleep(request: ModelRequest) -> ModelReply:
        seen.append("\n".join(message.text for message in request.messages))
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    replies = [reply("first done"), reply("I pay.", calls=[call("pay", amount=5), call("note")]), reply("second done")]
    sleeptime = Sleeptime(every=1, consolidator="llm", model=FunctionModel(sleep))
    await client.register(
        Agent(
            name="a",
            model=ScriptedModel(replies),
            tools=(pay, note),
            blocks=(Block(label="notes"),),
            sleeptime=sleeptime,
        )
    )
    await client.run("a", "one", session_id="s")
    await client.run("a", "two", session_id="s", run_id="r")
    await machines.worker(host)
    await passes(machines.store, 1)
    assert "first done" in seen[0]
    assert not any(text in seen[0] for text in ("two", "I pay.", "noted"))
    done = await client.resume("r", {"r:0.0": Approve()})
    assert (done.status, done.turn, ran) == ("completed", 2, ["note", ("pay", 5)])
    await passes(machines.store, 2)
    assert "I pay." in seen[-1]


async def test_a_session_does_not_end_while_it_is_held(machines: Machines) -> None:
    client = await machines.client()
    await register(client, [reply("hi"), reply(calls=[call("pay", amount=1)]), reply("x")], conversation=_ending())
    await client.run("a", "one", session_id="s")
    keys = machines.store.keys
    assert await machines.store.read("PTTL", keys.head("a|s")) > 0  # type: ignore[operator]
    await client.run("a", "two", session_id="s", run_id="r")
    for key in (keys.head("a|s"), keys.log("a|s"), keys.turns("a|s"), keys.run("r")):
        assert await machines.store.read("PTTL", key) == -1
    await client.resume("r", {"r:0.0": Approve()})
    assert await machines.store.read("PTTL", keys.head("a|s")) > 0  # type: ignore[operator]


def _ending() -> Conversation:
    return Conversation(ttl=3600)


async def test_a_run_whose_session_was_deleted_is_not_resumed(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    await client.run("a", "one", session_id="s", run_id="r")
    await delete_session(machines.store, await client.session("s", "a").open())
    with pytest.raises(RunNotFound):
        await client.resume("r", {"r:0.0": Approve()})
    assert ran == ["note"]


async def test_nothing_of_the_invocation_state_is_kept(machines: Machines) -> None:
    client = await machines.client()
    await register(client)
    result = await client.run("a", "one", session_id="s", run_id="r", invocation_state={"key": "canary-77"})
    keys = machines.store.keys
    stored = [await machines.store.fields(keys.run("r")), await machines.store.fields(keys.head("a|s"))]
    events = await machines.store.read("XRANGE", keys.events, "-", "+")
    assert "r:0.0" in str(stored)
    assert "interrupt" in str(events)
    assert "canary-77" not in f"{stored}{events}{result.to_state()}{result}"
    done = await client.resume("r", {"r:0.0": Approve()}, invocation_state={"key": "canary-77"})
    assert done.status == "completed"


async def test_a_host_that_is_late_with_its_suspend_is_fenced(machines: Machines) -> None:
    """It asks, its call is answered while its reply is lost on the way, and it sends the same call again."""
    host = await machines.host()
    client = machines.client_of(host)
    await register(client)
    await client.run("a", "one", session_id="s", run_id="r")
    token = int((await machines.store.fields(machines.store.keys.run("r")))["token"])
    late = Suspension("r", "a|s", token, "{}", (InterruptView("r:0.0", "approval"),), {})
    await host.interrupts.suspend(late)  # the same call again while nobody has answered: nothing changes
    await host.interrupts.answer("r", "a|s", {"r:0.0": '{"approve":true}'})
    with pytest.raises(Fenced):
        await host.interrupts.suspend(late)
    with pytest.raises(AlreadyAnswered):
        await host.interrupts.answer("r", "a|s", {"r:0.0": '{"approve":true}'})
    assert (await client.resume("r")).output == "done"
