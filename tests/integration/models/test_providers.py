"""Provider models against a real server on loopback: what is asked and what is answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestra.core.errors import ModelError, ModelUnavailable
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, Part, ToolCall
from orchestra.core.model import ModelRequest, Usage
from orchestra.core.tokens import message_tokens
from tests.integration.models.asking import FORECAST, KEY, answered, asked, model, shown
from tests.openai_server import Answer, Body, Called, Fault, OpenAIServer, Reaction, in_order

# --- words ----------------------------------------------------------------------------------------------------------

WORDS = "Grüße aus 京都 🎌👩‍👩‍👧 – three nights."


@pytest.mark.parametrize("escaped", [False, True], ids=["utf-8", "escaped halves"])
async def test_text_comes_whole_however_it_is_cut(serve: Callable[..., OpenAIServer], escaped: bool) -> None:
    server = serve(Answer(WORDS, reasoning="🤔 spring or autumn?", escaped=escaped))
    deltas, got = await answered(model())
    assert shown(deltas) == WORDS == got.message.text
    assert shown(deltas, "reasoning") == "🤔 spring or autumn?"
    assert len(deltas) > 5
    for delta in deltas:
        delta.text.encode()  # no half of a character is ever shown
    assert [part.type for part in got.message.content if isinstance(part, Part)] == ["reasoning", "text"]
    assert got.usage == Usage(11, 7, 3, model_calls=1)
    assert (got.finish_reason, got.model) == ("stop", "openai:test-model")
    assert Message.from_json(got.message.to_json()) == got.message
    assert server.faults == []


async def test_a_reply_without_reasoning_is_plain_text(serve: Callable[..., OpenAIServer]) -> None:
    serve("May.")
    _, got = await answered(model())
    assert got.message == Message("assistant", "May.")


async def test_usage_that_is_not_reported_is_estimated(serve: Callable[..., OpenAIServer]) -> None:
    serve(Answer("word " * 8, usage=None))
    request = asked(Message("user", "abcd" * 5))
    _, got = await answered(model(), request)
    assert got.usage == Usage(message_tokens(request.messages[0]), message_tokens(got.message), model_calls=1)


@pytest.mark.parametrize(("said", "finish"), [("length", "length"), ("content_filter", "content_filter")])
async def test_why_it_stopped(serve: Callable[..., OpenAIServer], said: str, finish: str) -> None:
    serve(Answer("half of", finish_reason=said))
    assert (await answered(model()))[1].finish_reason == finish


# --- tools ----------------------------------------------------------------------------------------------------------


async def test_parallel_calls_with_split_arguments(serve: Callable[..., OpenAIServer]) -> None:
    calls = (
        Called("forecast", {"city": "京都 🎌", "days": 3}, "call_a"),
        Called("forecast", '{"city": "S\\u00e3o Paulo \\ud83c\\udf34", "deep": {"n": [1, 2.5, null]}}', "call_b"),
        Called("forecast", "", "call_c"),
    )
    serve(Answer("Let me look.", calls))
    deltas, got = await answered(model(), asked(tools=(FORECAST,)))
    assert shown(deltas) == "Let me look." == got.message.text
    assert [(call.id, dict(call.arguments)) for call in got.message.tool_calls] == [
        ("call_a", {"city": "京都 🎌", "days": 3}),
        ("call_b", {"city": "São Paulo 🌴", "deep": {"n": [1, 2.5, None]}}),
        ("call_c", {}),
    ]
    assert got.finish_reason == "tool_calls"


async def test_what_is_said_and_done_before_is_sent_as_it_was(serve: Callable[..., OpenAIServer]) -> None:
    server = serve("Fine.")
    request = asked(
        Message("system", "Be brisk."),
        Message("user", (Part("text", "Where is this?"), Part("image", url="https://example.org/a.png"))),
        Message(
            "assistant",
            (Part("reasoning", "not for others"), Part("text", "Looking.")),
            (ToolCall("c1", "forecast", {"city": "京都", "days": 3}), ToolCall("c2", "forecast", {"city": "Nara"})),
        ),
        Message("tool", "sunny", tool_call_id="c1", name="forecast"),
        Message("tool", "no such city", tool_call_id="c2", is_error=True),
        Message("user", "And now?"),
        tools=(FORECAST,),
        temperature=0.2,
        max_tokens=50,
        top_k=7,
    )
    await answered(model(temperature=0.9, seed=4), request)
    (body,) = server.requests
    function = {"name": "forecast", "description": FORECAST.description, "parameters": dict(FORECAST.parameters)}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert (body["temperature"], body["max_tokens"], body["seed"], body["model"]) == (0.2, 50, 4, "test-model")
    system, user, assistant, first, second, last = body["messages"]
    assert system == {"role": "system", "content": "Be brisk."}
    assert user["content"] == [
        {"type": "text", "text": "Where is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    assert (assistant["role"], assistant["content"]) == ("assistant", "Looking.")
    assert [(call["id"], call["function"]["arguments"]) for call in assistant["tool_calls"]] == [
        ("c1", '{"city":"京都","days":3}'),
        ("c2", '{"city":"Nara"}'),
    ]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    assert (second["tool_call_id"], "no such city" in second["content"], "error" in second["content"]) == (
        "c2",
        True,
        True,
    )
    assert last == {"role": "user", "content": "And now?"}
    assert server.faults == []
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_settings_that_no_library_knows_reach_the_server(serve: Callable[..., OpenAIServer]) -> None:
    server = serve()
    await answered(model(min_p=0.1), asked(reasoning_effort="low", extra_body={"guided": True}))
    body = server.requests[0]
    assert (body["min_p"], body["reasoning_effort"], body["guided"]) == (0.1, "low", True)


async def test_a_whole_conversation_goes_round(serve: Callable[..., OpenAIServer]) -> None:
    def answer(body: Body) -> Reaction:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if results:
            return f"It will be {' and '.join(results)}."
        return Answer(calls=[Called("forecast", {"city": "Kyoto"}, "a"), Called("forecast", {"city": "Nara"}, "b")])

    server = serve(answer)
    question = Message("user", "Kyoto and Nara?")
    _, first = await answered(model(), asked(question, tools=(FORECAST,)))
    results = [
        Message("tool", f"sunny in {call.arguments['city']}", tool_call_id=call.id, name=call.name)
        for call in first.message.tool_calls
    ]
    _, second = await answered(model(), asked(question, first.message, *results, tools=(FORECAST,), call_number=1))
    assert second.message.text == "It will be sunny in Kyoto and sunny in Nara."
    assert server.faults == []


async def test_malformed_calls_are_left_out(serve: Callable[..., OpenAIServer]) -> None:
    good = Called("forecast", {"city": "Kyoto"}, "good")
    for bad in ('{"city": "Kyo', "[1]", '{"n": NaN}', "text"):
        server = serve(Answer(calls=[Called("forecast", bad, "bad"), good]))
        _, got = await answered(model(), asked(tools=(FORECAST,)))
        assert [call.id for call in got.message.tool_calls] == ["good"]
        assert server.faults == []
    serve(Answer("At least words.", [Called("forecast", "{", "bad")]))
    _, got = await answered(model(), asked(tools=(FORECAST,)))
    assert (got.message.text, got.message.tool_calls, got.finish_reason) == ("At least words.", (), "stop")
    serve(Answer(calls=[Called("forecast", '{"city": "Kyo', "bad")], finish_reason="length"))
    with pytest.raises(ModelError, match=r"malformed tool calls: forecast \(the reply was cut off"):
        await answered(model(), asked(tools=(FORECAST,)))


async def test_ids_that_repeat_become_ids_of_their_own(serve: Callable[..., OpenAIServer]) -> None:
    serve(Answer(calls=[Called("forecast", {"city": name}, "call_0") for name in ("Kyoto", "Nara")]))
    before = Message("assistant", "", (ToolCall("call_0", "forecast", {"city": "Osaka"}),))
    result = Message("tool", "rain", tool_call_id="call_0", name="forecast")
    request = asked(Message("user", "?"), before, result, tools=(FORECAST,), call_number=5)
    ids = [[call.id for call in (await answered(model(), request))[1].message.tool_calls] for _ in range(2)]
    assert ids[0] == ids[1] == ["call_5_0", "call_5_1"]


# --- structured output ----------------------------------------------------------------------------------------------


async def test_an_output_schema_is_the_servers_to_keep(serve: Callable[..., OpenAIServer]) -> None:
    server = serve('{"score": 7}')
    schema: dict[str, Json] = {
        "type": "object",
        "title": "Review",
        "properties": {"score": {"type": "integer"}},
        "required": ["score"],
    }
    _, got = await answered(model(), ModelRequest((Message("user", "Score?"),), output_schema=schema))
    assert got.message.text == '{"score": 7}'
    wanted = server.requests[0]["response_format"]
    assert (wanted["type"], wanted["json_schema"]["name"]) == ("json_schema", "Review")
    assert wanted["json_schema"]["schema"]["properties"] == {"score": {"type": "integer"}}


# --- other providers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["vllm", "ollama"])
async def test_another_provider_is_reached_the_way_its_own_variables_say(
    serve: Callable[..., OpenAIServer], monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    server = serve(in_order(Answer(WORDS, [Called("forecast", {"city": "京都"})]), Fault(503)))
    for variable, value in (("BASE_URL", server.base_url), ("API_KEY", KEY)):
        monkeypatch.setenv(f"{provider.upper()}_{variable}", value)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    deltas, got = await answered(model(f"{provider}:some-model"), asked(tools=(FORECAST,)))
    assert shown(deltas) == WORDS == got.message.text
    assert dict(got.message.tool_calls[0].arguments) == {"city": "京都"}
    assert got.model == f"{provider}:some-model"
    with pytest.raises(ModelUnavailable):
        await answered(model(f"{provider}:some-model"))
    assert (len(server.requests), server.connections) == (2, 1)  # the client library retried nothing
