"""Calls that a message writes out, and the extractive model that makes them."""

from __future__ import annotations

import pytest

from orchestra.core.messages import Message, Meta, ToolCall
from orchestra.core.model import ModelReply, ModelRequest, ToolSpec
from orchestra.models.extractive import ExtractiveModel
from orchestra.models.extractive_saving import ExtractiveSaver
from orchestra.models.extractive_summary import ExtractiveSummary
from orchestra.models.written_calls import written_call

READ = ToolSpec("read_report", "Read.", {"type": "object", "properties": {}})
INSERT = ToolSpec("archival_memory_insert", "Insert.", {"type": "object", "properties": {}})


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Please look at read_report(number=12).", {"number": 12}),
        ('read_report(city="a, b", deep=true) and read_report(number=1)', {"city": "a, b", "deep": True}),
        ("read_report(city=Kyoto)", {"city": "Kyoto"}),
        ("read_report()", {}),
        ("other(number=1) read_report", None),
        ("my_read_report(number=1)", None),
    ],
)
def test_the_first_call_of_a_known_tool(text: str, arguments: dict[str, object] | None) -> None:
    found = written_call(text, {"read_report"})
    assert (None if found is None else dict(found.arguments)) == arguments


async def replied(*messages: Message, tools: tuple[ToolSpec, ...] = (READ,)) -> Message:
    request = ModelRequest(messages, tools)
    *_, last = [item async for item in ExtractiveModel().stream(request)]
    assert isinstance(last, ModelReply)
    return last.message


async def test_it_calls_once_and_quotes_what_the_result_begins_with() -> None:
    asked = Message("user", "Please look at read_report(number=12).")
    calling = await replied(asked)
    assert [(call.name, dict(call.arguments)) for call in calling.tool_calls] == [("read_report", {"number": 12})]
    result = Message("tool", "Report 12 counts 47 ships.\nberth 1: Aurora", tool_call_id=calling.tool_calls[0].id)
    answered = await replied(asked, calling, result)
    assert answered.tool_calls == ()
    assert answered.text == "Report 12 counts 47 ships."
    assert (await replied(asked, tools=())).tool_calls == ()


async def test_a_note_of_the_runtime_is_no_question() -> None:
    note = Message("user", "<memory_update>…</memory_update>", meta=Meta(synthetic=True))
    said = Message("user", "My boat is called Albatros.")
    assert "Albatros" in (await replied(note, said)).text
    assert "Albatros" in (await replied(said, note)).text


def test_a_summary_keeps_what_users_said_and_is_a_fifth_at_most() -> None:
    messages = [Message("user", "My boat is called Albatros and lies at berth 14 in Lisbon.")]
    for number in range(60):
        messages += [Message("assistant", f"Noted: thing {number}."), Message("tool", f"crate {number} cleared. " * 40)]
    picked = ExtractiveSummary()
    for message in messages:
        picked.add(message)
    text = picked.text()
    assert "My boat is called Albatros and lies at berth 14 in Lisbon." in text
    assert len(text) < sum(len(message.text) for message in messages) / 4
    again = ExtractiveSummary(previous=text)
    for message in messages[1:]:
        again.add(message)
    assert "Albatros" in again.text(60)
    assert ExtractiveSummary().text() == ""
    assert ExtractiveSummary(partials=(text, text)).text() == text


async def test_the_saver_saves_once_and_only_what_was_said() -> None:
    said = Message("user", "My boat is called Albatros.")
    note = Message("user", "Save now.", meta=Meta(synthetic=True))

    async def saved(*messages: Message, tools: tuple[ToolSpec, ...] = (INSERT,)) -> Message:
        *_, last = [item async for item in ExtractiveSaver("notes").stream(ModelRequest(messages, tools))]
        assert isinstance(last, ModelReply)
        return last.message

    calling = await saved(said, note)
    assert dict(calling.tool_calls[0].arguments) == {"content": "My boat is called Albatros."}
    done = Message("tool", "added", tool_call_id=calling.tool_calls[0].id)
    assert (await saved(said, note, calling, done)).text == "NO_REPLY"
    assert (await saved(note)).text == "NO_REPLY"
    assert (await saved(said, note, tools=())).text == "NO_REPLY"
    block = await saved(said, note, tools=(ToolSpec("core_memory_append", "", {}),))
    assert block.tool_calls == (
        ToolCall("save", "core_memory_append", {"label": "notes", "content": "My boat is called Albatros."}),
    )
