"""``openai-responses:`` against a real server on loopback: the protocol, and conversations that the provider keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from openai import AsyncOpenAI

from orchestra.core.errors import ModelError, ModelUnavailable
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, ServerConversation, Usage
from tests.integration.models.asking import FORECAST, KEY, answered, asked, model, shown
from tests.openai_responses import said
from tests.openai_server import Answer, Called, OpenAIServer, in_order

NAME = "openai-responses:test-model"


def going_on(*messages: Message, **names: str) -> ModelRequest:
    system = Message("system", "Be brisk.")
    return ModelRequest((system, *messages), (FORECAST,), conversation=ServerConversation(**names))


async def test_text_and_calls_come_whole(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(
        Answer("Grüße aus 京都 🎌.", (Called("forecast", {"city": "京都"}), Called("forecast", {"days": 3})))
    )
    deltas, got = await answered(model(NAME), asked(tools=(FORECAST,)))
    assert shown(deltas) == "Grüße aus 京都 🎌." == got.message.text
    assert [(call.id, dict(call.arguments)) for call in got.message.tool_calls] == [
        ("call_resp_1_0", {"city": "京都"}),
        ("call_resp_1_1", {"days": 3}),
    ]
    assert (got.usage, got.finish_reason, got.response_id) == (Usage(11, 7, 3, model_calls=1), "tool_calls", "resp_1")
    assert server.faults == []


async def test_without_a_conversation_everything_goes_up(serve: Callable[..., OpenAIServer]) -> None:
    server = serve("Fine.")
    request = asked(
        Message("system", "Be brisk."),
        Message("user", "Weather?"),
        Message("assistant", "", (ToolCall("c1", "forecast", {"city": "Nara"}),)),
        Message("tool", "sunny", tool_call_id="c1", name="forecast"),
        tools=(FORECAST,),
    )
    await answered(model(NAME), request)
    (body,) = server.requests
    assert said(body["input"]) == ["system: Be brisk.", "user: Weather?", "call forecast", "result sunny"]
    assert {"previous_response_id", "conversation"} & set(body) == set()
    assert server.faults == []


async def test_a_chain_goes_on_from_the_reply_before_and_instructions_are_not_kept(
    serve: Callable[..., OpenAIServer],
) -> None:
    server = serve(in_order(Answer("", (Called("forecast", {"city": "Nara"}),)), "Sunny."))
    _, first = await answered(model(NAME), going_on(Message("user", "Weather?")))
    result = Message("tool", "sunny", tool_call_id=first.message.tool_calls[0].id, name="forecast")
    _, second = await answered(model(NAME), going_on(result, previous_response_id=first.response_id))
    assert [body.get("previous_response_id") for body in server.requests] == [None, "resp_1"]
    assert [said(body["input"]) for body in server.requests] == [["user: Weather?"], ["result sunny"]]
    assert [body["instructions"] for body in server.requests] == ["Be brisk.", "Be brisk."]
    assert said(server.responses.kept[second.response_id]) == [
        *("user: Weather?", "call forecast", "result sunny", "assistant: Sunny.")
    ]
    assert server.faults == []


async def a_client(server: OpenAIServer) -> AsyncOpenAI:
    """The SDK's own client, made in a thread: it looks for certificates on the disk."""
    return await asyncio.to_thread(AsyncOpenAI, api_key=KEY, base_url=server.base_url)


async def test_a_conversation_goes_on_under_its_own_name(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(in_order("Noted.", "Kyoto."))
    async with await a_client(server) as client:
        made = (await client.conversations.create()).id
    for text in ("I am in Kyoto.", "Where am I?"):
        await answered(model(NAME), going_on(Message("user", text), conversation_id=made))
    assert [(body["conversation"], said(body["input"])) for body in server.requests] == [
        (made, ["user: I am in Kyoto."]),
        (made, ["user: Where am I?"]),
    ]
    assert said(server.responses.conversations[made]) == [
        *("user: I am in Kyoto.", "assistant: Noted.", "user: Where am I?", "assistant: Kyoto.")
    ]


async def test_an_answer_that_the_caller_wrote_is_input(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(in_order("Noted.", "Fine."))
    _, first = await answered(model(NAME), going_on(Message("user", "I am in Kyoto.")))
    pair = (Message("user", "Like Osaka?"), Message("assistant", "Quieter."), Message("user", "How is it?"))
    await answered(model(NAME), going_on(*pair, previous_response_id=first.response_id))
    body = server.requests[1]
    assert body["previous_response_id"] == first.response_id
    assert said(body["input"]) == ["user: Like Osaka?", "assistant: Quieter.", "user: How is it?"]


async def test_what_the_provider_does_not_have_is_an_error_in_its_words(serve: Callable[..., OpenAIServer]) -> None:
    serve("never said")
    for names, words in (({"previous_response_id": "resp_0"}, "resp_0"), ({"conversation_id": "conv_7"}, "conv_7")):
        with pytest.raises(ModelError, match=rf"'{words}' not found") as caught:
            await answered(model(NAME), going_on(Message("user", "hi"), **names))
        assert not caught.value.retryable


@pytest.mark.parametrize("then", ["cut", "close"])
async def test_a_stream_that_breaks_is_no_reply_and_nothing_is_kept(
    serve: Callable[..., OpenAIServer], then: str
) -> None:
    server = serve(Answer("half of the ans", then=then))  # type: ignore[arg-type]
    words: list[Delta | ModelReply] = []

    async def read() -> None:
        async for item in model(NAME).stream(going_on(Message("user", "hi"))):
            words.append(item)

    with pytest.raises(ModelUnavailable):
        await read()
    assert "".join(item.text for item in words if isinstance(item, Delta)) == "half of the ans"
    assert server.responses.kept == {}


async def test_a_client_without_a_stream_gets_the_same(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("Sunny.", (Called("forecast", {"city": "Nara"}),)))
    async with await a_client(server) as client:
        got = await client.responses.create(model="test-model", input="Weather?")
    assert (got.output_text, got.id, got.status) == ("Sunny.", "resp_1", "completed")
    assert said(server.responses.kept["resp_1"]) == ["user: Weather?", "assistant: Sunny.", "call forecast"]


async def test_a_call_that_nothing_can_answer_is_no_reply_in_a_conversation(
    serve: Callable[..., OpenAIServer],
) -> None:
    good, bad = Called("forecast", {"city": "Nara"}, "good"), Called("forecast", '{"city": "Na', "bad")
    for calls in ((good, bad), (good, good)):
        serve(Answer("Let me look.", calls))
        with pytest.raises(ModelError, match="the reply holds malformed tool calls: forecast"):
            await answered(model(NAME), going_on(Message("user", "Weather?")))
        _, elsewhere = await answered(model(NAME), asked(tools=(FORECAST,)))
        assert elsewhere.message.tool_calls[0].id == "good"
