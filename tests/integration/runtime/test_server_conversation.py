"""Conversations that the provider keeps: what is sent, where the next call and the next run go on, who is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestra import Agent, Block, HookContext, Message, RunResult, Runtime, tool
from orchestra.core.agent import Limits
from orchestra.core.errors import InputError, ServerConversationError
from orchestra.core.events import RunEnded
from orchestra.core.messages import ToolCall
from orchestra.core.model import ModelReply, ModelRequest, ServerConversation
from orchestra.models import close_connections
from orchestra.runtime.request import RunRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply
from tests.openai_responses import said
from tests.openai_server import Answer, Called, OpenAIServer, in_order


@tool
def forecast(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def asking(*, end: str = "Sunny.", response_id: str = "r2") -> ScriptedModel:
    """Calls the tool, then answers."""
    first = reply(calls=[call("forecast", city="Nara")], response_id="r1")
    return ScriptedModel([first, reply(end, response_id=response_id)], keeps_conversations=True)


def sent(model: ScriptedModel | FunctionModel) -> list[list[str]]:
    return [[f"{message.role}: {message.text}" for message in request.messages] for request in model.requests]


def places(model: ScriptedModel | FunctionModel) -> list[ServerConversation | None]:
    return [request.conversation for request in model.requests]


# --- one run --------------------------------------------------------------------------------------------------------


async def test_after_a_reply_only_the_results_go_up_with_the_instructions(runtime: Runtime) -> None:
    model = asking()
    await runtime.register(Agent(name="a", model=model, instructions="Help.", tools=(forecast,)))
    result = await runtime.run("a", "Weather?", previous_response_id="r0")
    assert sent(model) == [
        ["system: Help.", "user: Weather?"],
        ["system: Help.", "tool: sunny in Nara"],
    ]
    assert places(model) == [ServerConversation(None, "r0"), ServerConversation(None, "r1")]
    assert (result.status, result.output, result.last_response_id) == ("completed", "Sunny.", "r2")
    # The result has the whole turn, whatever went up.
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]


async def test_a_chain_can_begin_in_the_run(runtime: Runtime) -> None:
    model = asking()
    await runtime.register(Agent(name="a", model=model, tools=(forecast,)))
    result = await runtime.run("a", "Weather?", auto_previous_response_id=True)
    assert places(model) == [ServerConversation(), ServerConversation(None, "r1")]
    again = await runtime.run("a", "And now?", previous_response_id=result.last_response_id)
    assert places(model)[2:] == [ServerConversation(None, "r2"), ServerConversation(None, "r1")]
    assert again.last_response_id == "r2"


async def test_a_conversation_keeps_its_name(runtime: Runtime) -> None:
    model = asking()
    await runtime.register(Agent(name="a", model=model, tools=(forecast,)))
    async for event in runtime.stream("a", "Weather?", conversation_id="c1"):
        if isinstance(event, RunEnded):
            assert event.result.last_response_id == "r2"
    assert places(model) == [ServerConversation("c1"), ServerConversation("c1")]
    assert sent(model) == [["user: Weather?"], ["tool: sunny in Nara"]]


async def test_without_the_options_everything_goes_up_and_no_id_comes_back(runtime: Runtime) -> None:
    model = asking()
    await runtime.register(Agent(name="a", model=model, tools=(forecast,)))
    result = await runtime.run("a", "Weather?")
    assert [len(messages) for messages in sent(model)] == [1, 3]
    assert places(model) == [None, None]
    assert result.last_response_id is None


async def test_the_blocks_of_now_are_in_each_call(runtime: Runtime) -> None:
    append = call("core_memory_append", label="notes", content="Likes temples.")
    model = ScriptedModel([reply(calls=[append]), reply("Noted.")], keeps_conversations=True)
    notes = Block(label="notes", description="What to know.", value="Is in Kyoto.")
    await runtime.register(Agent(name="a", model=model, blocks=(notes,)))
    await runtime.run("a", "I like temples.", auto_previous_response_id=True)
    first, second = sent(model)
    assert "Likes temples." not in first[0]
    assert "Likes temples." in second[0]
    assert [len(first), len(second)] == [2, 2]


async def test_a_hook_that_makes_the_request_anew_does_not_leave_the_conversation(runtime: Runtime) -> None:
    class Anew:
        def before_model(self, context: HookContext, request: ModelRequest) -> ModelRequest:
            short = Message("user", "in short")
            return ModelRequest((*request.messages, short), request.tools, call_number=request.call_number)

    model = asking()
    await runtime.register(Agent(name="a", model=model, tools=(forecast,), hooks=(Anew(),)))
    result = await runtime.run("a", "Weather?", previous_response_id="r0")
    assert (result.status, result.last_response_id) == ("completed", "r2")
    assert places(model) == [ServerConversation(None, "r0"), ServerConversation(None, "r1")]
    assert [messages[-1] for messages in sent(model)] == ["user: in short", "user: in short"]


# --- runs that stop under way ---------------------------------------------------------------------------------------


async def test_a_run_that_stops_before_its_results_are_sent_is_not_gone_on_with(runtime: Runtime) -> None:
    await runtime.register(Agent(name="a", model=asking(), tools=(forecast,)))
    limits = Limits(model_calls=1)
    result = await runtime.run("a", "Weather?", previous_response_id="r0", limits=limits)
    assert (result.status, result.reason, result.last_response_id) == ("limit", "model_calls", "r0")
    begun = await runtime.run("a", "Weather?", auto_previous_response_id=True, limits=limits)
    assert (begun.status, begun.last_response_id) == ("limit", None)


@pytest.mark.parametrize("names", [{"previous_response_id": "r0"}, {"auto_previous_response_id": True}])
async def test_a_chain_needs_an_id_in_each_reply(runtime: Runtime, names: dict[str, object]) -> None:
    class Nameless:
        name = "own:nameless"
        keeps_conversations = True

        async def stream(self, request: ModelRequest) -> object:
            yield ModelReply(Message("assistant", "Hello."))

    await runtime.register(Agent(name="a", model=Nameless()))  # type: ignore[arg-type]
    result = await runtime.run("a", "hi", **names)  # type: ignore[arg-type]
    assert (result.status, result.reason) == ("failed", "model")
    assert "own:nameless: the reply has no response id" in result.error
    named = await runtime.run("a", "hi", conversation_id="c1")
    assert (named.status, named.last_response_id) == ("completed", None)


async def test_a_call_id_that_comes_twice_is_no_second_call(runtime: Runtime) -> None:
    started = []

    @tool
    def count() -> str:
        """Count."""
        started.append(1)
        return "counted"

    twice = reply(calls=[ToolCall("c1", "count", {})], response_id="r1")
    model = FunctionModel(lambda request: twice, keeps_conversations=True)
    await runtime.register(Agent(name="a", model=model, tools=(count,)))
    result = await runtime.run("a", "go", previous_response_id="r0")
    assert (result.status, result.last_response_id, started) == ("failed", "r0", [1])
    assert "call id 'c1' came twice" in result.error


# --- who is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [{"conversation_id": "c"}, {"previous_response_id": "r"}, {"auto_previous_response_id": True}]
)
async def test_a_model_that_cannot_is_refused_by_name_before_it_is_asked(
    runtime: Runtime, names: dict[str, object]
) -> None:
    model = ScriptedModel(["one"], name="scripted:plain")
    both = [ScriptedModel(["one"], name="own:can", keeps_conversations=True), model]
    await runtime.register(
        Agent(name="a", model=model), Agent(name="b", model=both), Agent(name="c", model="extractive")
    )
    for agent, named in (("a", "scripted:plain"), ("b", "own:can, scripted:plain"), ("c", "extractive")):
        with pytest.raises(ServerConversationError, match=f"model {named} does not keep"):
            await runtime.run(agent, "hi", **names)  # type: ignore[arg-type]
    assert model.requests == both[0].requests == []


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"conversation_id": "c", "previous_response_id": "r"}, "conversation_id and previous_response_id"),
        ({"conversation_id": "c", "auto_previous_response_id": True}, "conversation_id and auto_previous_response_id"),
        ({"conversation_id": ""}, "conversation_id is an id"),
        ({"previous_response_id": " "}, "previous_response_id is an id"),
        ({"previous_response_id": 7}, "previous_response_id is an id"),
    ],
)
async def test_names_that_are_none(runtime: Runtime, names: dict[str, object], words: str) -> None:
    await runtime.register(Agent(name="a", model=asking(), tools=(forecast,)))
    before = runtime.store.commands
    with pytest.raises(ServerConversationError, match=words) as caught:
        await runtime.run("a", "hi", **names)  # type: ignore[arg-type]
    assert isinstance(caught.value, InputError)
    assert runtime.store.commands == before


def test_a_stored_request_has_its_conversation_and_an_old_one_has_none() -> None:
    kept = ServerConversation(previous_response_id="r0")
    request = RunRequest("run", "a", (Message("user", "hi"),), conversation=kept)
    for one in (request, RunRequest("run", "a", (Message("user", "hi"),))):
        again = RunRequest.from_text(one.to_text(), run_id="run", agent="a", session_id="s", user_id=None)
        assert again.conversation == one.conversation


# --- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    look = Answer("", (Called("forecast", {"city": "Nara"}), Called("forecast", {"city": "Kyoto"})))
    with OpenAIServer(in_order(look, "Sunny in both.", "You asked for Nara and Kyoto.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


async def test_the_whole_way_over_http(runtime: Runtime, provider: OpenAIServer) -> None:
    agent = Agent(name="a", model="openai-responses:gpt-test", instructions="Help.", tools=(forecast,))
    await runtime.register(agent)
    last: str | None = None
    results: list[RunResult] = []
    try:
        for text in ("Weather in Nara and Kyoto?", "What did I ask?"):
            result = await runtime.run("a", text, previous_response_id=last, auto_previous_response_id=True)
            results.append(result)
            last = result.last_response_id
    finally:
        await close_connections()
    assert [result.output for result in results] == ["Sunny in both.", "You asked for Nara and Kyoto."]
    assert [said(body["input"]) for body in provider.requests] == [
        ["user: Weather in Nara and Kyoto?"],
        ["result sunny in Nara", "result sunny in Kyoto"],
        ["user: What did I ask?"],
    ]
    assert [body.get("previous_response_id") for body in provider.requests] == [None, "resp_1", "resp_2"]
    assert {body["instructions"] for body in provider.requests} == {"Help."}
    assert last == "resp_3"
    assert said(provider.responses.kept[last]) == [
        *("user: Weather in Nara and Kyoto?", "call forecast", "call forecast"),
        *("result sunny in Nara", "result sunny in Kyoto", "assistant: Sunny in both."),
        *("user: What did I ask?", "assistant: You asked for Nara and Kyoto."),
    ]
    assert provider.faults == []


async def test_what_a_run_said_that_stopped_can_be_put_in_front_of_the_next_input(
    runtime: Runtime, provider: OpenAIServer
) -> None:
    agent = Agent(name="a", model="openai-responses:gpt-test", tools=(forecast,))
    await runtime.register(agent)
    try:
        stopped = await runtime.run("a", "Weather?", auto_previous_response_id=True, limits=Limits(model_calls=1))
        assert (stopped.status, stopped.last_response_id) == ("limit", None)
        again = [*stopped.messages, Message("user", "So?")]
        result = await runtime.run("a", again, auto_previous_response_id=True)
    finally:
        await close_connections()
    assert (result.status, result.output, result.last_response_id) == ("completed", "Sunny in both.", "resp_2")
    assert said(provider.responses.kept["resp_2"]) == [
        *("user: Weather?", "call forecast", "call forecast", "result sunny in Nara", "result sunny in Kyoto"),
        *("user: So?", "assistant: Sunny in both."),
    ]
    assert provider.faults == []
