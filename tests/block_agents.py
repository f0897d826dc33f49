"""Agents and blocks for tests: defining, listing, and calling the memory tools."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from orchestra import Agent, Block, Runtime
from orchestra.core.blocks import BlockView
from orchestra.core.messages import Message, ToolCall
from orchestra.memory.blocks import Blocks
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.testing import ScriptedModel, reply


async def define(store: Store, *names: str) -> None:
    for name in names:
        await DefinitionStore(store).put(name, f'{{"name":"{name}"}}', "h", [])


async def labels(blocks: Blocks, agent: str) -> list[str]:
    return [block.label for block in await blocks.list(agent=agent)]


async def called(runtime: Runtime, calls: Sequence[ToolCall], *blocks: Block, name: str = "a") -> list[Message]:
    """The results that a model gets for ``calls``, made one after the other by an agent with ``blocks``."""
    model = ScriptedModel([*(reply(calls=[one]) for one in calls), reply("done")])
    await runtime.register(Agent(name=name, model=model, blocks=blocks))
    result = await runtime.run(name, "go", session_id=uuid.uuid4().hex)
    assert result.status == "completed", result.error
    return [message for message in result.messages if message.role == "tool"]


async def block_of(runtime: Runtime, label: str = "notes", agent: str = "a") -> BlockView:
    return next(block for block in await runtime.blocks.list(agent=agent) if block.label == label)
