"""Agents whose memory sleeps, for tests: a model that notes what it reads, and waiting for passes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from orchestra import Agent, Block, Sleeptime
from orchestra.core.jsontext import Json, loads
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.runtime.client import Client
from orchestra.store.connection import Store
from orchestra.store.pass_store import PassStore
from orchestra.testing import FunctionModel, call, reply
from tests.waiting import until

NOTES = Block(label="notes", description="What matters.")
HELLO = FunctionModel(lambda request: "hello")


def primary(sleep: object, *, every: int = 2, blocks: tuple[Block, ...] = (NOTES,), **more: object) -> Agent:
    """An agent ``a`` whose passes ask the model ``sleep``."""
    sleeptime = Sleeptime.model_validate({"every": every, "model": sleep, **more})
    return Agent(name="a", model=HELLO, blocks=blocks, sleeptime=sleeptime)


async def reports(store: Store, session: str = "s") -> list[dict[str, Json]]:
    return [loads(text) for text in await PassStore(store).reports(f"a|{session}")]


async def drained(store: Store) -> None:
    """Wait until no pass is due."""

    async def empty() -> bool:
        return not await PassStore(store).pending()

    await until("the queue of passes is empty", empty)


async def passes(store: Store, count: int, session: str = "s") -> list[dict[str, Json]]:
    async def enough() -> list[dict[str, Json]] | None:
        found = await reports(store, session)
        return found if len(found) >= count else None

    found = await until(f"{count} passes are published", enough)
    assert found is not None
    return found


def read_by(request: ModelRequest) -> list[int]:
    """The sequence numbers of the messages that a sleep-time model was shown."""
    return [int(number) for number in re.findall(r"^\[(\d+)\] ", request.messages[1].text, re.MULTILINE)]


class Sleeper:
    """A sleep-time model that notes what it reads; ``act`` answers, else it finishes at once."""

    def __init__(self, act: Callable[[ModelRequest], Awaitable[ModelReply]] | None = None) -> None:
        self.read: list[list[int]] = []
        self.active = self.most = 0
        self._act = act
        self.model = FunctionModel(self.answer)

    async def answer(self, request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "user":
            self.read.append(read_by(request))
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            return await self._act(request) if self._act is not None else reply(calls=[call("memory_finish_edits")])
        finally:
            self.active -= 1


async def said(client: Client, count: int, session: str = "s") -> None:
    for number in range(count):
        await client.run("a", f"message {number}", session_id=session)
