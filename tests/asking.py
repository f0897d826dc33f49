"""Tools that wait for answers, and what they did: for tests of interrupts."""

from __future__ import annotations

from orchestra import Agent, ToolContext, tool
from orchestra.core.model import ModelReply
from orchestra.runtime.client import Client
from orchestra.testing import ScriptedModel, call, reply

ran: list[object] = []


@tool(needs_approval=True)
def pay(amount: int, ctx: ToolContext) -> str:
    """Pay."""
    ran.append(("pay", amount))
    ctx.agent.state.increment("paid", amount)
    return f"paid {amount}"


@tool
async def note(ctx: ToolContext) -> str:
    """Note."""
    ran.append("note")
    ctx.agent.state.increment("noted")
    return "noted"


@tool
async def ask(ctx: ToolContext) -> str:
    """Ask for a colour, between a piece that is done once and one that is not."""
    ran.append("begun")
    ctx.agent.state.increment("begun")
    await ctx.once("piece", lambda: ran.append("piece"))
    try:
        colour = ctx.interrupt("colour", "which one?")
    except Exception:
        ran.append("swallowed")
        raise
    return f"it is {colour!r}"


PAYING = [reply("I pay.", calls=[call("pay", amount=5), call("note")]), reply("done")]


async def register(client: Client, replies: list[ModelReply] = PAYING, **more: object) -> ScriptedModel:
    """An agent ``a`` with these replies and all three tools."""
    model = ScriptedModel(replies)
    fields = {"name": "a", "model": model, "tools": (pay, note, ask), **more}
    await client.register(Agent.model_validate(fields))
    return model
