from __future__ import annotations

import base64

import pytest
from pydantic_ai import messages as library
from pydantic_ai.usage import RequestUsage

from orchestra.core.errors import ModelError
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, Part, ToolCall
from orchestra.core.model import ModelRequest, ToolSpec
from orchestra.models.conversion import model_reply, request_messages, request_parameters
from orchestra.models.surrogates import WholeText, whole

REQUEST = ModelRequest((Message("user", "Hello."),))


def converted(*parts: library.ModelResponsePart, finish: library.FinishReason | None = "stop") -> Message:
    response = library.ModelResponse(parts=list(parts), usage=RequestUsage(input_tokens=1), finish_reason=finish)
    return model_reply(response, REQUEST, model="openai:m", provider="openai").message


def test_neighbours_that_the_user_side_says_are_one_request() -> None:
    messages = (
        Message("system", "Be brisk."),
        Message("user", "One."),
        Message("user", "Two."),
        Message("assistant", "Yes.", (ToolCall("a", "f"),)),
        Message("tool", "done", tool_call_id="a"),
        Message("user", "Three."),
    )
    first, second, third = request_messages(messages, system="openai")
    assert [type(part).__name__ for part in first.parts] == ["SystemPromptPart", "UserPromptPart", "UserPromptPart"]
    assert [type(part).__name__ for part in second.parts] == ["TextPart", "ToolCallPart"]
    result, last = third.parts
    assert isinstance(result, library.ToolReturnPart)
    assert (result.tool_name, result.content, result.outcome) == ("f", "done", "success")
    assert isinstance(last, library.UserPromptPart)


def test_an_assistant_message_that_says_nothing_is_left_out() -> None:
    converted = request_messages(
        (Message("user", "One."), Message("assistant", ""), Message("user", "Two.")), system="x"
    )
    assert all(isinstance(message, library.ModelRequest) for message in converted)


def test_parts_of_each_kind() -> None:
    image = base64.b64encode(b"\x89PNG").decode()
    parts = (
        Part("text", "Look."),
        Part("image", data=image),
        Part("image", url="https://example.org/a.jpg"),
        Part("file", data=base64.b64encode(b"%PDF").decode(), media_type="application/pdf"),
        Part("file", url="https://example.org/a.pdf"),
        Part("data", value={"score": 7}),
        Part("reasoning", "never shown to another model"),
    )
    (message,) = request_messages((Message("user", parts),), system="openai")
    (part,) = message.parts
    assert isinstance(part, library.UserPromptPart)
    assert not isinstance(part.content, str)
    text, png, jpg, pdf, link, data = part.content
    assert (text, data) == ("Look.", '{"score":7}')
    assert isinstance(png, library.BinaryContent)
    assert (png.data, png.media_type) == (b"\x89PNG", "image/png")
    assert isinstance(jpg, library.ImageUrl)
    assert isinstance(pdf, library.BinaryContent)
    assert pdf.media_type == "application/pdf"
    assert isinstance(link, library.DocumentUrl)


def test_reasoning_goes_back_to_the_provider_that_marked_it_and_to_no_other() -> None:
    thought = library.ThinkingPart(
        "Spring, then.", id="rs_1", signature="c2ln", provider_name="anthropic", provider_details={"kind": "full"}
    )
    message = converted(thought, library.TextPart("May."))
    assert message.text == "May."
    again = Message.from_json(message.to_json())
    (same,) = request_messages((again,), system="anthropic")
    assert same.parts[0] == thought
    (other,) = request_messages((again,), system="openai")
    assert [type(part).__name__ for part in other.parts] == ["TextPart"]
    tagged = converted(library.ThinkingPart("in tags", id="content", provider_name="openai"), library.TextPart("May."))
    (mine,) = request_messages((tagged,), system="openai")
    assert [type(part).__name__ for part in mine.parts] == ["TextPart"]


def test_neighbouring_text_is_one_text() -> None:
    assert converted(library.TextPart("Three "), library.TextPart("nights.")).content == "Three nights."


@pytest.mark.parametrize(
    "arguments", ['{"a": 1', "[1]", "3", '"text"', "null", '{"a": NaN}', '{"a": Infinity}', "[" * 100_000, [1]]
)
def test_arguments_that_are_no_object_are_no_call(arguments: object) -> None:
    bad = library.ToolCallPart("f", arguments, tool_call_id="x")  # type: ignore[arg-type]
    assert converted(library.TextPart("words"), bad).tool_calls == ()
    with pytest.raises(ModelError, match="malformed tool calls: f"):
        converted(bad)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [(None, {}), ("", {}), (" ", {}), ("{}", {}), ({"a": [1]}, {"a": [1]}), ('{"a":"\\ud83c\\udf8c"}', {"a": "🎌"})],
)
def test_arguments_that_are_one(arguments: str | dict[str, object] | None, value: dict[str, object]) -> None:
    (call,) = converted(library.ToolCallPart("f", arguments, tool_call_id="x"), finish="tool_call").tool_calls
    assert dict(call.arguments) == value


def test_a_call_without_a_name_is_no_call() -> None:
    with pytest.raises(ModelError, match="no name"):
        converted(library.ToolCallPart("", "{}", tool_call_id="x"))


def test_schemas_of_tools_go_out_as_they_are_given() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    parameters = request_parameters(
        ModelRequest((), (ToolSpec("f", "does it", schema),), output_schema={"type": "object", "title": "Out"}),
        native_schema=False,
    )
    (tool,) = parameters.function_tools
    assert (tool.parameters_json_schema, tool.strict) == (schema, False)
    assert parameters.output_mode == "prompted"


def test_a_character_in_two_halves_is_shown_once_it_is_whole() -> None:
    text = WholeText()
    high, low = "🎌".encode("utf-16-be")[:2], "🎌".encode("utf-16-be")[2:]
    first, second = (half.decode("utf-16-be", "surrogatepass") for half in (high, low))
    assert [text.add("a" + first), text.add(second + "b"), text.add(first), text.add("c")] == [
        "a",
        "🎌b",
        "",
        "\ufffdc",
    ]
    assert whole(first) == "\ufffd"
    assert whole(f"{first}{second} ok {second}") == "🎌 ok \ufffd"
    assert whole("京都") == "京都"
