"""What a sleep-time worker keeps between passes: the place in a script, retractions, a pass that it gives back."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from orchestra import Runtime
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.sleeptime.passes import MERGES
from orchestra.sleeptime.worker import SleepWorker
from orchestra.store.pass_store import Claim, PassStore
from orchestra.testing import ScriptedModel, call, reply
from tests.hosts import Machines
from tests.sleeping import Sleeper, passes, primary, said


async def test_a_scripted_sleeptime_model_goes_on_where_it_was(runtime: Runtime) -> None:
    """Which reply comes is told by the calls so far, over passes too."""
    script = ScriptedModel(
        [
            reply(calls=[call("core_memory_append", label="notes", content=text), call("memory_finish_edits")])
            for text in ("one", "two")
        ]
    )
    await runtime.register(primary(script))
    for count in (1, 2):
        await said(runtime, 2)
        await passes(runtime.store, count)
    (notes,) = await runtime.blocks.list(agent="a")
    assert notes.value == "one\ntwo"


async def test_retractions_are_told_once(runtime: Runtime) -> None:
    sleeper = Sleeper()
    await runtime.register(primary(sleeper.model))
    await said(runtime, 2)
    await passes(runtime.store, 1)
    session = runtime.session("s", "a")
    gone = [await session.pop_item(), await session.pop_item()]
    assert [message.meta.seq for message in cast("list[Message]", gone)] == [4, 3]
    for count in (2, 3):
        await said(runtime, 1 if count == 2 else 2)
        await passes(runtime.store, count)
    prompts = [request.messages[1].text for request in sleeper.model.requests]
    assert ["retracted" in prompt for prompt in prompts] == [False, True, False]
    assert "Messages 4, 3 were retracted" in prompts[1]
    assert sleeper.read == [[1, 2, 3, 4], [5, 6], [7, 8, 9, 10]]


async def test_a_worker_that_stops_gives_its_pass_back_at_once(machines: Machines) -> None:
    """It counts as no try, and the next worker need not wait for the lease."""
    going, first = asyncio.Event(), True

    async def act(request: ModelRequest) -> ModelReply:
        if first:
            going.set()
            await asyncio.Event().wait()
        return reply(calls=[call("memory_finish_edits")])

    host = await machines.host()
    client = machines.client_of(host)
    await client.register(primary(Sleeper(act).model))
    worker = await machines.worker(host)
    await said(client, 2)
    await going.wait()
    first = False
    await worker.stop()
    await machines.worker(host)
    (report,) = await passes(machines.store, 1)
    assert (report["tries"], report["upto"]) == (1, 4)


async def test_a_pass_that_loses_its_races_gives_its_lease_back_and_is_done_again(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It need not wait until the lease ends, and it counts as no try."""
    host = await machines.host()
    client = machines.client_of(host)

    async def act(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return reply(calls=[call("memory_finish_edits")])
        return reply(calls=[call("core_memory_append", label="notes", content="by the pass")])

    sleeper = Sleeper(act)
    await client.register(primary(sleeper.model))
    await said(client, 2)
    (notes,) = await client.blocks.list(agent="a")
    publish, lost = PassStore.publish, 0

    async def just_too_late(self: PassStore, claim: Claim, **more: Any) -> object:
        nonlocal lost
        if lost < MERGES:
            lost += 1
            await client.blocks.append(notes.id, f"by another {lost}")
        return await publish(self, claim, **more)

    monkeypatch.setattr(PassStore, "publish", just_too_late)
    # The lease lasts longer than this test may.
    worker = SleepWorker(host, backoff=0.1, lease_ms=3_600_000)
    await worker.start()
    try:
        (report,) = await passes(machines.store, 1)
    finally:
        await worker.stop()
    assert (lost, len(sleeper.read), report["tries"]) == (MERGES, 2, 1)
    after = (await client.blocks.get(notes.id)).value.split("\n")
    assert sorted(after) == [*(f"by another {number}" for number in range(1, MERGES + 1)), "by the pass"]
