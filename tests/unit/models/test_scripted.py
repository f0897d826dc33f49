from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError, ConfigErrors, ContextOverflow, InputError, ModelError, ModelUnavailable
from orchestra.core.messages import Message, Part
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, Usage
from orchestra.core.tokens import message_tokens
from orchestra.models.script import load_script
from orchestra.testing import ScriptedModel, ScriptedReply, call, reply


def asked(number: int = 0, text: str = "Hello there.") -> ModelRequest:
    return ModelRequest((Message("user", text),), call_number=number)


async def answered(model: Model, request: ModelRequest) -> tuple[list[Delta], ModelReply]:
    items = [item async for item in model.stream(request)]
    deltas = [item for item in items if isinstance(item, Delta)]
    assert isinstance(items[-1], ModelReply)
    assert len(deltas) == len(items) - 1
    return deltas, items[-1]


async def test_the_call_number_alone_chooses_the_reply() -> None:
    model = ScriptedModel(["one", "two", "three"])
    assert isinstance(model, Model)
    for number, text in ((2, "three"), (0, "one"), (2, "three"), (1, "two")):
        _, got = await answered(model, asked(number))
        assert got.message.text == text
    assert [request.call_number for request in model.requests] == [2, 0, 2, 1]


async def test_beyond_the_end_is_an_error_that_counts() -> None:
    with pytest.raises(ModelError, match=r"the script has 1 replies, call 2 was asked"):
        await answered(ScriptedModel(["only"]), asked(1))


@pytest.mark.parametrize(
    "text", ["Kyoto is lovely in May.", "京都は五月がいちばん美しいです、とても。", "a" * 40, "  two  spaces "]
)
async def test_text_comes_in_several_deltas_that_join_to_it(text: str) -> None:
    deltas, got = await answered(ScriptedModel([text]), asked())
    assert len(deltas) > 1
    assert "".join(delta.text for delta in deltas) == text == got.message.text
    assert got.finish_reason == "stop"


async def test_reasoning_is_a_delta_of_its_own_kind() -> None:
    message = Message("assistant", (Part("reasoning", "hm, spring"), Part("text", "May.")))
    deltas, _ = await answered(ScriptedModel([ModelReply(message)]), asked())
    assert "".join(delta.text for delta in deltas if delta.kind == "reasoning") == "hm, spring"
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == "May."


async def test_calls_get_ids_from_number_and_position() -> None:
    model = ScriptedModel(["hi", reply(calls=[call("a", x=1), call("b")])])
    _, got = await answered(model, asked(1))
    assert [(item.id, item.name, dict(item.arguments)) for item in got.message.tool_calls] == [
        ("call-1-0", "a", {"x": 1}),
        ("call-1-1", "b", {}),
    ]
    assert got.finish_reason == "tool_calls"


async def test_usage_is_the_estimate_unless_it_is_given() -> None:
    model = ScriptedModel(["word " * 10, reply("x", usage=Usage(7, 9))])
    request = asked()
    _, got = await answered(model, request)
    assert got.usage == Usage(message_tokens(request.messages[0]), message_tokens(got.message), model_calls=1)
    _, got = await answered(model, asked(1))
    assert got.usage == Usage(7, 9, model_calls=1)


async def test_an_error_line_may_come_after_words() -> None:
    broken = ScriptedReply(reply("half of it"), error="unavailable", problem="gone")
    model = ScriptedModel([broken, ContextOverflow("m", "big")])
    stream = model.stream(asked())
    assert [await anext(stream) for _ in range(3)] == [Delta("half "), Delta("of "), Delta("it")]
    with pytest.raises(ModelUnavailable, match="gone"):
        await anext(stream)
    with pytest.raises(ContextOverflow, match="big"):
        await answered(model, asked(1))


async def test_a_delayed_reply_can_be_cancelled() -> None:
    model = ScriptedModel([ScriptedReply(reply("late"), delay=3600)])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await answered(model, asked())
    assert len(model.requests) == 1


async def test_it_survives_pickling_and_its_json_form_without_the_requests() -> None:
    lines: list[ModelReply | ScriptedReply | str] = [
        reply("one", calls=[call("a", x={"y": [1, None]})]),
        ScriptedReply(error="overflow", problem="too much"),
        "three",
    ]
    model = ScriptedModel(lines, name="scripted:mine")
    await answered(model, asked())
    for copy in (pickle.loads(pickle.dumps(model)), ScriptedModel.from_spec(model.to_spec())):
        assert copy.requests == []
        assert (copy.name, copy.replies) == (model.name, model.replies)
        assert await answered(copy, asked()) == await answered(model, asked())
    assert len(model.requests) == 3


def test_a_line_says_something() -> None:
    with pytest.raises(InputError, match="line 2"):
        ScriptedModel(["one", ScriptedReply()])


async def test_a_file_holds_texts_calls_delays_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(
        """
- text: Grüße aus 京都 🎌
- calls: [{name: note_city, arguments: {city: Kyoto, nights: 3}}]
- {text: Done., usage: {input_tokens: 5, output_tokens: 2}}
- error: {kind: unavailable, problem: overloaded}
- error: broken
- {text: later, delay: 0.5}
""",
        encoding="utf-8",
    )
    model = load_script(path)
    assert model.name == f"scripted:{path}"
    _, first = await answered(model, asked(0))
    assert first.message.text == "Grüße aus 京都 🎌"
    _, second = await answered(model, asked(1))
    assert dict(second.message.tool_calls[0].arguments) == {"city": "Kyoto", "nights": 3}
    assert second.message.tool_calls[0].id == "call-1-0"
    _, third = await answered(model, asked(2))
    assert third.usage == Usage(5, 2, model_calls=1)
    with pytest.raises(ModelUnavailable, match="overloaded"):
        await answered(model, asked(3))
    with pytest.raises(ModelError, match="broken"):
        await answered(model, asked(4))
    assert model.replies[5].delay == 0.5


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("- text: ok\n- txt: wrong\n", 2, "1.txt"),
        ("- text: ok\n-\n  calls:\n    - {name: a}\n    - arguments: {}\n", 5, "1.calls.1.name"),
        ("- delay: 1\n", 1, "0"),
        ("- {text: a, delay: -1}\n", 1, "0.delay"),
        ("- error: {kind: sad, problem: x}\n", 1, "0.error.kind"),
    ],
)
def test_a_wrong_file_is_an_error_with_file_line_and_field(tmp_path: Path, text: str, line: int, field: str) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigErrors) as caught:
        load_script(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert field in [error.field for error in caught.value.errors]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("text", "problem"), [("a: 1", "list"), ("", "list"), ("- [", "expected")])
def test_what_is_not_a_list_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        load_script(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_script(tmp_path / "absent.yaml")
