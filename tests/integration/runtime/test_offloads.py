"""Large tool results are put away, read page by page, and belong to their session."""

from __future__ import annotations

import re
from typing import cast

from orchestra import Agent, Runtime, tool
from orchestra.core.conversation import Conversation, Offload
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.core.tokens import message_tokens
from orchestra.memory.session_list import delete_session
from orchestra.testing import FunctionModel, call, reply

ROWS = "\n".join(f"row {number}: {'x' * 60} value {number * 7}" for number in range(400))


@tool
def table() -> str:
    """Give a large table."""
    return ROWS


def reference_in(text: str) -> str:
    found = re.search(r"reference='([0-9a-f]+)'", text)
    assert found, text
    return found[1]


def reading(request: ModelRequest) -> ModelReply | str:
    """Asks for the table, then for what it did not see, then says what it got."""
    results = [message for message in request.messages if message.role == "tool"]
    if request.messages[-1].text == "read":
        return reply(calls=[call("table")])
    if len(results) == 1 and request.messages[-1].role == "tool":
        return reply(calls=[call("retrieve_offloaded", reference=reference_in(results[0].text), pattern="row 200:")])
    return request.messages[-1].text


async def test_the_message_has_a_preview_and_the_rest_can_be_read(runtime: Runtime) -> None:
    model = FunctionModel(reading)
    await runtime.register(Agent(name="a", model=model, tools=(table,)))
    result = await runtime.run("a", "read", session_id="s")
    assert "value 1400" in cast("str", result.output)
    preview = next(message for message in result.messages if message.role == "tool")
    assert message_tokens(preview) <= 1000
    assert preview.text.startswith("row 0:")
    assert preview.text.endswith("value 2793")
    stored = await runtime.session("s", "a").get_items()
    assert not any("row 200:" in message.text for message in cast("list[Message]", stored)[:3])


async def test_a_reference_is_of_use_in_its_session_only_and_goes_with_it(runtime: Runtime) -> None:
    known: list[str] = []

    def asks(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        if last.text == "read":
            return reply(calls=[call("table")])
        if last.text == "again":
            return reply(calls=[call("retrieve_offloaded", reference=known[0], lines="1")])
        if last.role == "tool" and last.name == "table":
            known.append(reference_in(last.text))
            return "read"
        return last.text

    await runtime.register(Agent(name="a", model=FunctionModel(asks), tools=(table,)))
    await runtime.run("a", "read", session_id="s")
    assert cast("str", (await runtime.run("a", "again", session_id="s")).output).startswith("1: row 0:")
    other = await runtime.run("a", "again", session_id="other")
    assert "there is no result" in cast("str", other.output)
    await delete_session(runtime.store, await runtime.session("s", "a").open())
    assert "there is no result" in cast("str", (await runtime.run("a", "again", session_id="s")).output)


async def test_who_asked_an_agent_can_read_what_it_refers_to(runtime: Runtime) -> None:
    """Both are in one session, whatever thread each of them has."""

    def reads(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        return reference_in(last.text) if last.role == "tool" else reply(calls=[call("table")])

    def leads(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        if last.role == "user":
            return reply(calls=[call("reader", input="read the table")])
        if last.name == "reader":
            return reply(calls=[call("retrieve_offloaded", reference=last.text, lines="2")])
        return last.text

    reader = Agent(name="reader", model=FunctionModel(reads), tools=(table,), description="Reads.")
    lead = Agent(name="lead", model=FunctionModel(leads), tools=(reader.as_tool(),))
    await runtime.register(lead)
    result = await runtime.run("lead", "go", session_id="s")
    assert cast("str", result.output).startswith("2: row 1:")


async def test_limits_of_single_tools_and_none_at_all(runtime: Runtime) -> None:
    def asks(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        return reply(calls=[call("table")]) if last.role == "user" else last.text

    for name, offload in (("never", Offload(tools={"table": 0})), ("off", Offload(enabled=False))):
        model = FunctionModel(asks)
        conversation = Conversation(offload=offload)
        await runtime.register(Agent(name=name, model=model, tools=(table,), conversation=conversation))
        assert (await runtime.run(name, "go", session_id="s")).output == ROWS
        names = [spec.name for spec in model.requests[0].tools]
        assert ("retrieve_offloaded" in names) == (name == "never")


async def test_without_a_session_a_result_stays_whole(runtime: Runtime) -> None:
    def asks(request: ModelRequest) -> ModelReply | str:
        last = request.messages[-1]
        return reply(calls=[call("table")]) if last.role == "user" else last.text

    model = FunctionModel(asks)
    await runtime.register(Agent(name="a", model=model, tools=(table,)))
    assert (await runtime.run("a", "go")).output == ROWS
    assert [spec.name for spec in model.requests[0].tools] == ["table"]
