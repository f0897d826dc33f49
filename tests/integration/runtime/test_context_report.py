"""What the next prompt of a session will hold, and that asking for it changes nothing."""

from __future__ import annotations

import pytest
from rich.console import Console

from orchestra import Agent, Block, Runtime, tool
from orchestra.cli.context_screen import show_context
from orchestra.core.conversation import Compaction, Conversation, WindowGuard
from orchestra.core.errors import UnknownName
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens, text_tokens
from orchestra.store.context_store import ContextStore
from orchestra.testing import FunctionModel
from tests.waiting import until

LONG = "a long story about nothing in particular, told again and again " * 30


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


def agent(**more: object) -> tuple[Agent, FunctionModel]:
    model = FunctionModel(lambda request: "ok")
    fields = {
        "blocks": (Block(label="notes", value="v"),),
        "tools": (clock,),
        "instructions": "Help.",
        "conversation": Conversation(guard=WindowGuard(minimum=0), compaction=Compaction(retries=0)),
        **more,
    }
    return Agent(name="a", model=model, **fields), model  # type: ignore[arg-type]


async def test_the_parts_are_those_of_the_next_prompt(runtime: Runtime) -> None:
    one, model = agent()
    await runtime.register(one)
    await runtime.run("a", "hello", session_id="s")
    (notes,) = await runtime.blocks.list(agent="a")
    await runtime.blocks.append(notes.id, "w")
    report = await runtime.context("s")
    names = [part.name for part in report.parts]
    assert names == ["instructions", "blocks", "tools", "user messages", "replies", "memory updates"]
    assert report.tokens == pytest.approx(sum(part.tokens for part in report.parts), abs=2)
    await runtime.run("a", "again", session_id="s")
    request = model.requests[-1]
    tools = next(part for part in report.parts if part.name == "tools")
    assert tools.count == len(request.tools)
    estimate = sum(map(message_tokens, request.messages[:-1])) + tools.tokens
    assert report.tokens == pytest.approx(estimate, abs=3)
    assert text_tokens("Help.") == report.parts[0].tokens
    assert report == (await runtime.context("s", "a")) or report.tokens < (await runtime.context("s")).tokens


async def test_what_is_left_out_is_named_with_its_reason(runtime: Runtime) -> None:
    one, _ = agent(context_tokens=2_000)
    await runtime.register(one)
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", "ok")] * 4)
    await runtime.run("a", "go", session_id="s")
    before = await runtime.context("s")

    async def compacted() -> bool:
        return (await ContextStore(runtime.store).record("a|s")).cycle == 1

    await until("the session is compacted", compacted)
    after = await runtime.context("s")
    assert after.tokens < before.tokens + 500
    assert [part.name for part in after.parts if part.name == "summary"] == ["summary"]
    assert after.left_out[0].name == "summarised messages"
    assert "leave room for a reply" in after.left_out[0].reason
    assert {gate.name: gate.due for gate in after.gates} == {
        "memory flush": False,
        "pruning": False,
        "compaction": False,
    }
    console = Console(record=True, width=100)
    show_context(after, console)
    text = console.export_text()
    assert "summarised messages" in text
    assert "█" in text
    assert all(len(line) <= 100 for line in text.split("\n"))
    assert (await runtime.context("s")).to_json() == after.to_json()


async def test_a_session_that_is_not_there(runtime: Runtime) -> None:
    with pytest.raises(UnknownName):
        await runtime.context("none")


@pytest.mark.parametrize("strategy", ["full", "window"])
async def test_a_step_that_the_strategy_does_not_have_is_never_due(runtime: Runtime, strategy: str) -> None:
    fields = {"guard": {"minimum": 0}, "strategy": strategy, "window": {"messages": 100}}
    one, _ = agent(conversation=Conversation.model_validate(fields), context_tokens=2_000)
    await runtime.register(one)
    await runtime.session("s", "a").add_items([Message("user", LONG), Message("assistant", LONG)] * 6)
    gates = {gate.name: gate for gate in (await runtime.context("s")).gates}
    for name in ("memory flush", "compaction"):
        assert (gates[name].due, gates[name].reason) == (False, f"not a part of the strategy {strategy}")
