"""Agents and runs for the conformance tests of swarms and graphs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orchestra import Agent, Graph, Runtime, Swarm
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.result import RunResult
from orchestra.testing import FunctionModel, ScriptedModel, call, reply

SESSIONS = pytest.mark.parametrize("session", ["s", None])


def says(name: str, *replies: object, **fields: Any) -> Agent:
    """An agent that replies with these, or with its name in capitals."""
    model = ScriptedModel(
        [*(one if isinstance(one, ModelReply) else reply(str(one)) for one in replies or [name.upper()])]
    )
    return Agent(name=name, description=f"{name} of the team", model=model, **fields)


def hand(to: str, message: str = "go on", **context: object) -> ModelReply:
    """A reply that hands off."""
    return reply(calls=[call("handoff_to_agent", agent_name=to, message=message, context=context)])


def asked(agent: Agent) -> list[ModelRequest]:
    """The requests that the agent's model got."""
    assert isinstance(agent.model, ScriptedModel | FunctionModel)
    return agent.model.requests


def last_input(agent: Agent, request: int = -1) -> str:
    """What the agent was told at last."""
    return [m.text for m in asked(agent)[request].messages if m.role == "user"][-1]


def failing(name: str) -> Agent:
    """An agent whose model fails."""

    async def fail(request: ModelRequest) -> ModelReply:
        raise ValueError(f"{name} is broken")

    return Agent(name=name, model=FunctionModel(fail))


async def run(runtime: Runtime, pattern: Swarm | Graph, session: str | None = "s", **options: Any) -> RunResult:
    """Register and run it."""
    await runtime.register(pattern)
    async with asyncio.timeout(20):
        return await runtime.run(pattern.name, "the task", session_id=session, **options)
