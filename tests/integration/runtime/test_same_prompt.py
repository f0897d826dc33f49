"""Every prompt is a function of log and decisions: a session that warm hosts serve, and its twin on cold ones only."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest

from orchestra import Agent, Block
from orchestra.context.invariants import faults
from orchestra.core.conversation import Conversation
from orchestra.core.jsontext import dumps
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.runtime.client import Client
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.waiting import until

TEXT = "alpha 한국어 문서 👩‍👩‍👧 berth 14 e\u0301 https://example.org/c "
STEPS = 50
WARM = ("warm-0", "warm-1")


@dataclass
class Twin:
    """One of two sessions that are told the same; ``asked`` is what the model was shown in it, as texts."""

    session: str
    snapshots: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def shown(request: ModelRequest) -> str:
    """All of a request but the ids that no two sessions share."""
    rows = [
        [m.role, m.text, m.name, [[call.name, dumps(dict(call.arguments))] for call in m.tool_calls]]
        for m in request.messages
    ]
    return re.sub(r"offload-[0-9a-f]+|\b[0-9a-f]{16,}\b", "ID", repr(rows)).replace("twin b", "twin a")


def answering(twins: dict[str, Twin]) -> FunctionModel:
    def answer(request: ModelRequest) -> ModelReply | str:
        last, first = request.messages[-1], request.messages[0]
        if "takes the place of these messages" in first.text:
            return f"A summary of {len(last.text)} characters."
        said = [m.text for m in request.messages if m.role == "user" and m.text.startswith("twin ")][-1]
        assert faults(request.messages[1:]) == []
        twins[said[5]].asked.append(shown(request))
        if last.role == "tool":
            return "NO_REPLY"
        if "will soon be shortened" in last.text:
            return reply(calls=[call("core_memory_append", label="task", content="saved")])
        if number := re.search(r"read (\d+)$", said):
            return reply(calls=[call("read", number=int(number[1]))])
        if "edit" in said:
            return reply(calls=[call("core_memory_append", label="task", content=said[7:])])
        return "done"

    return FunctionModel(answer)


async def read(number: int) -> str:
    """Read so many lines."""
    return TEXT * number


async def do(client: Client, twin: Twin, name: str, operation: str, number: int, step: int) -> object:
    """One operation on the session; what of its outcome must be that of the other one's."""
    session = client.session(twin.session, "a")
    if operation in ("say", "read", "edit"):
        result = await client.run("a", f"twin {name} step {step} {operation} {number}", session_id=twin.session)
        return result.status, result.error
    items = await session.get_items()
    if not items:
        return None
    turn = await (await session.open()).turn()
    if operation == "pop":
        await session.pop_item()
    elif operation == "clear" and number % 4 == 0:
        await session.clear_session()
    elif operation == "rewind" and turn > 1:
        await session.rewind(max(1, turn - number % 8))
    elif operation == "fork" and turn > 1:
        await session.fork(max(1, turn - number % 12), f"{name}{step}")
        twin.session, twin.snapshots = f"{name}{step}", []
    elif operation == "snapshot":
        twin.snapshots.append(await client.snapshot(twin.session, "a"))
    elif operation == "restore" and twin.snapshots:
        await client.restore(twin.snapshots[number % len(twin.snapshots)])
    return len(items), turn


@pytest.mark.parametrize("seed", range(5))
async def test_a_session_on_warm_hosts_and_its_twin_on_cold_ones_are_shown_the_same(
    machines: Machines, seed: int
) -> None:
    """Also behind summaries, pruned results, pinned notes, flushes, forks, snapshots, pops, rewinds and clears."""
    draw = random.Random(seed)
    settings: dict[str, object] = {
        "guard": {"minimum": 0},
        "pruning": {"ttl": 1e-6 if seed % 2 else 3_600, "soft_ratio": 0.1, "min_prunable": 3_000},
        "compaction": {"retries": 0, "block_stream": True, "keep_recent": 900},
        "offload": {"enabled": seed % 3 > 0},
        "history_limit": {"default": 0 if seed % 4 else 6, "hysteresis": True},
        "pressure": None if seed % 4 else 0.6,
        "notes_tokens": 100,
    }
    twins = {"a": Twin("a"), "b": Twin("b")}
    warm = {name: await machines.client(name) for name in WARM}
    await warm[WARM[0]].register(
        Agent(
            name="a",
            model=answering(twins),
            tools=(read,),
            blocks=(Block(label="task", scope="session", limit=50_000),),
            context_tokens=4_000 if seed % 2 else 5_000,
            conversation=Conversation.model_validate(settings),
        )
    )
    others = ["edit", "edit", "pop", "rewind", "fork", "clear", "snapshot", "restore"]
    for step in range(STEPS):
        operation, number = draw.choice([*["say", "read"] * 6, *others]), draw.randrange(5, 60)
        served = warm[WARM[step % 3 == 0]]
        outcome = await do(served, twins["a"], "a", operation, number, step)
        cold = await machines.host(f"cold-{step}")
        assert await do(machines.client_of(cold), twins["b"], "b", operation, number, step) == outcome
        await until("nothing is summarised", lambda: not any(host.background.working for host in machines.hosts))
        await cold.stop()
        machines.hosts.remove(cold)
        for place, (one, other) in enumerate(zip(twins["a"].asked, twins["b"].asked, strict=True)):
            assert one == other, (step, operation, place)
