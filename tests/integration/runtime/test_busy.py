"""Several runs on one session: in order, or refused; several sessions: side by side."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra import Agent, Runtime
from orchestra.core.agent import OnBusy
from orchestra.core.errors import HostFull, SessionBusy, StoreUnavailable
from orchestra.core.messages import Message
from orchestra.core.model import ModelRequest
from orchestra.runtime.host import Host
from orchestra.testing import FunctionModel
from tests.hosts import Machines


class Held:
    """A model that holds the run whose input is "hold" until it is released."""

    def __init__(self) -> None:
        self.held, self.release = asyncio.Event(), asyncio.Event()
        self.model = FunctionModel(self.answer)

    async def answer(self, request: ModelRequest) -> str:
        text = request.messages[-1].text
        if text == "hold":
            self.held.set()
            await self.release.wait()
        return f"answer to {text}"


async def test_runs_of_one_session_wait_in_order(runtime: Runtime) -> None:
    held = Held()
    await runtime.register(Agent(name="a", model=held.model))
    runs = [asyncio.ensure_future(runtime.run("a", "hold", session_id="s"))]
    await held.held.wait()
    for number in range(5):
        runs.append(asyncio.ensure_future(runtime.run("a", f"{number}", session_id="s")))
        await asyncio.sleep(0)
    other = await runtime.run("a", "meanwhile", session_id="other")
    assert other.output == "answer to meanwhile"
    held.release.set()
    assert [run.turn for run in await asyncio.gather(*runs)] == [1, 2, 3, 4, 5, 6]
    log = cast("list[Message]", await runtime.session("s", "a").get_items())
    assert [message.text for message in log if message.role == "user"] == ["hold", "0", "1", "2", "3", "4"]


@pytest.mark.parametrize(("of_agent", "of_run"), [("queue", "reject"), ("reject", None)])
@pytest.mark.parametrize("hosts", [1, 2])
async def test_reject(machines: Machines, of_agent: OnBusy, of_run: OnBusy | None, hosts: int) -> None:
    """Whether the session is held on this host or on another one."""
    held = Held()
    clients = [await machines.client(f"primary-{number}") for number in range(hosts)]
    await clients[0].register(Agent(name="a", model=held.model, on_busy=of_agent))
    first = asyncio.ensure_future(clients[0].run("a", "hold", session_id="s", run_id="r1"))
    await held.held.wait()
    with pytest.raises(SessionBusy) as raised:
        await clients[-1].run("a", "hi", session_id="s", on_busy=of_run)
    assert raised.value.session == "s"
    queued = asyncio.ensure_future(clients[-1].run("a", "hi", session_id="s", on_busy="queue"))
    held.release.set()
    assert [result.turn for result in await asyncio.gather(first, queued)] == [1, 2]


async def test_runs_that_wait_for_a_session_take_no_place(machines: Machines) -> None:
    """Two places, three runs of one session: another session is served all the same."""
    held = Held()
    client = machines.client_of(await machines.host(max_turns=2))
    await client.register(Agent(name="a", model=held.model))
    runs = [asyncio.ensure_future(client.run("a", text, session_id="s")) for text in ("hold", "x", "y")]
    await held.held.wait()
    async with asyncio.timeout(5):
        assert (await client.run("a", "hi", session_id="other")).output == "answer to hi"
    held.release.set()
    await asyncio.gather(*runs)


async def test_a_full_host_refuses(machines: Machines) -> None:
    held = Held()
    host = Host(machines.store, "primary-0", functions=machines.functions, max_turns=1, max_pending=1)
    await host.start()
    machines.hosts.append(host)
    client = machines.client_of(host)
    await client.register(Agent(name="a", model=held.model))
    runs = [asyncio.ensure_future(client.run("a", "hold", session_id=name)) for name in ("s1", "s2")]
    await held.held.wait()
    with pytest.raises(HostFull) as raised:
        await client.run("a", "hi", session_id="s3")
    assert raised.value.retryable
    held.release.set()
    await asyncio.gather(*runs)
    assert (await client.run("a", "hi", session_id="s3")).status == "completed"


async def test_a_lease_that_its_own_host_left_behind_blocks_nobody(machines: Machines) -> None:
    """A turn began, its host could not store its end, and the caller did not come again."""
    held = Held()
    host = await machines.host()
    client = machines.client_of(host)
    await client.register(Agent(name="a", model=held.model))
    first = await client.run("a", "hi", session_id="s")
    commit = host.threads.commit

    async def away(*_: object) -> object:
        raise StoreUnavailable("unix://nowhere", "gone")

    host.threads.commit = away  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreUnavailable):
        await client.run("a", "lost", session_id="s")
    host.threads.commit = commit  # type: ignore[method-assign]
    async with asyncio.timeout(5):
        after = await client.run("a", "more", session_id="s")
    assert (first.turn, after.turn) == (1, 2)
