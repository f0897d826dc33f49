"""Provider models against a real server of the chat-completions protocol on loopback."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest
from blockbuster import blockbuster_ctx

from orchestra.core.errors import ContextOverflow, ModelError, ModelNotConfigured, ModelUnavailable
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, Part, ToolCall
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, ToolSpec, Usage
from orchestra.core.tokens import message_tokens
from orchestra.models import FallbackModel, ProviderModel, RetryingModel, close_connections, context_window
from orchestra.testing import ScriptedModel
from tests.openai_server import OVERFLOW, Answer, Body, Called, Fault, OpenAIServer, Reaction, echo, in_order

KEY = "sk-canary-4711"
FORECAST = ToolSpec(
    "forecast",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., OpenAIServer]]:
    """Starts a server; OPENAI_BASE_URL and OPENAI_API_KEY lead to the newest one."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as servers:

        def start(answer: Callable[[Body], Reaction] | Reaction = echo, *, api_key: str = KEY) -> OpenAIServer:
            server = OpenAIServer(answer if callable(answer) else in_order(answer), api_key=api_key)
            servers.enter_context(server)
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            return server

        yield start


@pytest.fixture(autouse=True)
async def _nothing_blocks_the_loop() -> AsyncIterator[None]:
    with blockbuster_ctx():
        yield
    await close_connections()


def asked(*messages: Message, tools: tuple[ToolSpec, ...] = (), call_number: int = 0, **settings: Json) -> ModelRequest:
    return ModelRequest(messages or (Message("user", "Hello."),), tools, settings, call_number=call_number)


async def answered(model: Model, request: ModelRequest | None = None) -> tuple[list[Delta], ModelReply]:
    items = [item async for item in model.stream(request or asked())]
    deltas = [item for item in items if isinstance(item, Delta)]
    assert isinstance(items[-1], ModelReply)
    assert len(deltas) == len(items) - 1
    return deltas, items[-1]


def shown(deltas: list[Delta], kind: str = "text") -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


def model(name: str = "openai:test-model", **settings: Json) -> ProviderModel:
    return ProviderModel(name, settings)


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


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault(429, "slow down", headers={"Retry-After": "4"}), ModelUnavailable, "HTTP 429: slow down"),
        (Fault(500, "oops"), ModelUnavailable, "HTTP 500: oops"),
        (Fault(503, "overloaded"), ModelUnavailable, "overloaded"),
        (Fault(408, "too slow"), ModelUnavailable, "too slow"),
        (Fault(429, "You exceeded your quota", "insufficient_quota"), ModelError, "quota"),
        (Fault(403, "not for you"), ModelNotConfigured, "OPENAI_API_KEY"),
        (Fault(404, "The model does not exist", "model_not_found"), ModelError, "does not exist"),
        (Fault(400, "bad temperature"), ModelError, "bad temperature"),
        (OVERFLOW, ContextOverflow, "maximum context length"),
        (Fault(400, "the request exceeds the available context size, try increasing it"), ContextOverflow, "context"),
        (Fault(400, f"strange words with {KEY} in them"), ModelError, "strange words with ***"),
    ],
)
async def test_each_failure_is_one_of_our_errors(
    serve: Callable[..., OpenAIServer], fault: Fault, kind: type[ModelError], words: str
) -> None:
    server = serve(fault)
    with pytest.raises(kind) as caught:
        await answered(model())
    error = caught.value
    assert type(error) is kind
    assert words in str(error)
    assert KEY not in repr(error)
    assert error.model == "openai:test-model"
    assert (error.__cause__, error.__context__) == (None, None)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.retryable) == (kind, str(error), error.retryable)
    if fault.headers:
        assert isinstance(copy, ModelUnavailable)
        assert copy.retry_after == 4.0
    assert len(server.requests) == 1  # the client library itself retries nothing


async def test_a_refused_key_names_the_variable_and_not_the_key(serve: Callable[..., OpenAIServer]) -> None:
    serve(api_key="another")
    with pytest.raises(ModelNotConfigured, match="OPENAI_API_KEY") as caught:
        await answered(model())
    assert KEY not in str(caught.value)
    assert caught.value.exit_code == 2


async def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelNotConfigured, match="OPENAI_API_KEY, or OPENAI_BASE_URL"):
        await answered(model())


async def test_a_missing_library_says_what_to_install() -> None:
    with pytest.raises(ModelNotConfigured, match=r"pip install 'pydantic-ai-slim\[cohere\]'"):
        await answered(ProviderModel("cohere:command-r"))


@pytest.fixture
def nowhere() -> str:
    """The address of a server that has ended."""
    with OpenAIServer() as server:
        return server.base_url


async def test_a_server_that_is_not_there_may_come_back(monkeypatch: pytest.MonkeyPatch, nowhere: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", nowhere.replace("http://", "http://user:pass-canary@"))
    with pytest.raises(ModelUnavailable) as caught:
        await answered(model())
    assert "pass-canary" not in str(caught.value)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[oops")
    with pytest.raises(ModelNotConfigured, match="not a URL"):
        await answered(model())


@pytest.mark.parametrize("then", ["cut", "close"])
async def test_a_stream_that_breaks_is_no_reply(serve: Callable[..., OpenAIServer], then: str) -> None:
    serve(Answer("half of the ans", then=then))  # type: ignore[arg-type]
    words: list[str] = []

    async def read() -> None:
        async for item in model().stream(asked()):
            assert isinstance(item, Delta)
            words.append(item.text)

    with pytest.raises(ModelUnavailable):
        await read()
    assert "".join(words) == "half of the ans"


async def test_a_stream_that_stalls_ends_at_the_timeout(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("Hm", then="stall"))
    with pytest.raises(ModelUnavailable, match=r"(?i)time"):
        await answered(model(timeout=0.2))
    assert await asyncio.to_thread(server.wait_for, lambda state: state.hung_up == 1)


# --- retries and fallback -------------------------------------------------------------------------------------------


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


async def test_what_may_pass_is_asked_again(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(in_order(Fault(500), Fault(429), "third time lucky"))
    _, got = await answered(RetryingModel(model(), sleep=at_once))
    assert got.message.text == "third time lucky"
    assert len(server.requests) == 3
    assert server.connections == 1
    server = serve(Fault(503))
    with pytest.raises(ModelUnavailable):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 3
    server = serve(OVERFLOW)
    with pytest.raises(ContextOverflow):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 1


async def test_a_broken_stream_is_not_asked_again(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("half of the ans", then="cut"))
    with pytest.raises(ModelUnavailable):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 1


async def test_the_next_model_answers_when_the_server_fails(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Fault(500))
    _, got = await answered(FallbackModel([RetryingModel(model(), sleep=at_once), ScriptedModel(["from the script"])]))
    assert (got.message.text, got.model) == ("from the script", "scripted:inline")
    assert len(server.requests) == 3


# --- connections ----------------------------------------------------------------------------------------------------


async def test_leaving_closes_the_stream(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("The first words", then="stall"))
    for outer in (model(), RetryingModel(model()), FallbackModel([model()])):
        before = server.hung_up
        stream = outer.stream(asked())
        assert isinstance(await anext(stream), Delta)
        await stream.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(server.wait_for, lambda state: state.hung_up == before + 1)  # noqa: B023


async def test_cancelling_closes_the_stream(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("The first words", then="stall"))
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in RetryingModel(model()).stream(asked()):
            begun.set()

    task = asyncio.ensure_future(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.wait_for, lambda state: state.hung_up == 1)


async def test_a_stream_may_be_closed_by_another_task(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("The first words", then="stall"))
    stream = model().stream(asked())
    await asyncio.ensure_future(anext(stream))  # type: ignore[arg-type]
    await asyncio.ensure_future(stream.aclose())  # type: ignore[arg-type]
    assert await asyncio.to_thread(server.wait_for, lambda state: state.hung_up == 1)


async def test_many_models_share_the_connections_of_their_loop(serve: Callable[..., OpenAIServer]) -> None:
    server = serve()
    for number in range(20):
        await answered(model(f"openai:model-{number % 4}"))
    assert (len(server.requests), server.connections) == (20, 1)
    await asyncio.gather(*(answered(model()) for _ in range(30)))
    assert len(server.requests) == 50
    assert server.connections <= 30
    assert server.hung_up == 0


async def test_closing_ends_the_connections_and_the_next_call_opens_new_ones(
    serve: Callable[..., OpenAIServer],
) -> None:
    server = serve()
    await answered(model())
    await close_connections()
    assert await asyncio.to_thread(server.wait_for, lambda state: not state.open_connections)
    await answered(model())
    assert server.connections == 2


def test_each_loop_has_connections_of_its_own_and_ends_them(serve: Callable[..., OpenAIServer]) -> None:
    server = serve()
    shared = RetryingModel(model())
    texts: list[str] = []

    def run() -> None:
        texts.append(asyncio.run(answered(shared))[1].message.text)

    for _ in range(2):  # one after the other, and each loop is gone when the next one starts
        run()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["You said: Hello."] * 5
    assert server.connections == 5
    assert server.wait_for(lambda state: not state.open_connections)


async def test_a_model_travels_without_its_key(serve: Callable[..., OpenAIServer]) -> None:
    server = serve()
    mine = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-mine"}
    pickled = pickle.dumps(ProviderModel("openai:test-model", {"seed": 3}, environment=mine))
    assert b"sk-mine" not in pickled
    await answered(pickle.loads(pickled))
    assert server.requests[0]["seed"] == 3


async def test_the_window_is_the_smallest_that_the_library_knows(serve: Callable[..., OpenAIServer]) -> None:
    server = serve()
    known = await context_window(RetryingModel(model("openai-responses:gpt-5-mini")))
    assert known is not None
    assert known >= 100_000
    smaller = await context_window(model("openai-responses:gpt-3.5-turbo"))
    assert smaller is not None
    assert smaller < known
    several = FallbackModel([model("openai-responses:gpt-5-mini"), model("openai-responses:gpt-3.5-turbo")])
    assert await context_window(several) == smaller
    assert await context_window(model("openai:a-model-of-ones-own")) is None
    assert await context_window(ProviderModel("cohere:command-r")) is None
    assert await context_window(ScriptedModel(["hi"])) is None
    assert server.requests == []


FIRST_USE = """
import asyncio, sys
from blockbuster import blockbuster_ctx
from orchestra.core.messages import Message
from orchestra.core.model import ModelRequest
from orchestra.models import resolve
assert "pydantic_ai" not in sys.modules and "openai" not in sys.modules

async def main():
    with blockbuster_ctx():
        async for item in resolve("auto").stream(ModelRequest((Message("user", "first"),))):
            pass
    print(item.message.text)

asyncio.run(main())
"""


def test_the_very_first_call_of_a_process_does_not_block_the_loop(serve: Callable[..., OpenAIServer]) -> None:
    serve()
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_USE], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.stdout, result.stderr) == ("You said: first\n", "")


def test_the_server_runs_as_a_program() -> None:
    with subprocess.Popen([sys.executable, "-m", "tests.openai_server"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        environment = {"OPENAI_BASE_URL": url}
        _, got = asyncio.run(answered(ProviderModel("openai:test-model", environment=environment)))
        process.terminate()
    assert got.message.text == "You said: Hello."
