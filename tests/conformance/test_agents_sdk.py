"""Sessions in the OpenAI Agents SDK, cases S7 and S34 to S41.

Its Runner and its scripted model, over Orchestra's sessions and over its own, with the same expectations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import (
    Agent,
    MaxTurnsExceeded,
    ModelRetrySettings,
    ModelSettings,
    RunConfig,
    Runner,
    RunState,
    Session,
    SessionSettings,
    function_tool,
    handoff,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from redis.asyncio import Redis

from orchestra.core.errors import StoreUnavailable
from orchestra.memory import CompactionSession, InMemorySession, RedisSession
from tests.conformance.session_backends import (
    COMPACTING,
    ENCRYPTED,
    MEMORY,
    PROVIDER,
    REDIS,
    REDIS_DECODING,
    REDIS_URL,
    SDK_REDIS,
    SDK_SQLITE,
    SQLITE,
    Place,
)
from tests.conformance.test_session_connections import NO_RETRY, own_server
from tests.conformance.test_sessions import Open, each, said
from tests.servers import Server

QUIET = RunConfig(tracing_disabled=True)
EVERY = (REDIS, REDIS_DECODING, REDIS_URL, SQLITE, MEMORY, ENCRYPTED, COMPACTING, PROVIDER, SDK_SQLITE, SDK_REDIS)
__all__ = ["own_server"]


def text_of(item: Any) -> str:
    """What an item says, in a word: its text, or ``call NAME`` and ``output TEXT`` of tools."""
    if item.get("type") == "function_call":
        return f"call {item['name']}"
    if item.get("type") == "function_call_output":
        return f"output {item['output']}"
    content = item["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def texts(items: Any) -> list[str]:
    return [text_of(item) for item in items]


def model_of(*steps: Any) -> ScriptedModel:
    return ScriptedModel([[step] if not isinstance(step, list | ModelStep) else step for step in steps])


def answer(text: str) -> Any:
    return assistant_message(text, item_id=f"message-{text}")


def agent_of(model: ScriptedModel, **options: Any) -> Agent[Any]:
    return Agent(name="guide", instructions="Help.", model=model, **options)


@function_tool
def look_up(city: str) -> str:
    """Look a city up."""
    return f"{city} is sunny"


@each(*EVERY)
async def test_s34_the_second_run_sees_the_first(opened: Open) -> None:
    session = opened()
    assert isinstance(session, Session)
    model = model_of(answer("San Francisco"), answer("California"))
    agent = agent_of(model)
    first = await Runner.run(agent, "Where is the bridge?", session=session, run_config=QUIET)
    assert first.final_output == "San Francisco"
    await Runner.run(agent, "And the state?", session=session, run_config=QUIET)
    assert texts(model.calls[1].input) == ["Where is the bridge?", "San Francisco", "And the state?"]
    assert texts(await session.get_items()) == [
        *("Where is the bridge?", "San Francisco"),
        *("And the state?", "California"),
    ]


@each(*EVERY)
async def test_s34_s35_streamed_and_stored_when_the_iterator_ends(opened: Open) -> None:
    session = opened()
    model = model_of(answer("one"), answer("two"))
    agent = agent_of(model)
    for words, expected in (("a", ["a", "one"]), ("b", ["a", "one", "b", "two"])):
        result = Runner.run_streamed(agent, words, session=session, run_config=QUIET)
        async for _ in result.stream_events():
            pass
        assert texts(await session.get_items()) == expected
    assert texts(model.calls[1].input) == ["a", "one", "b"]


@pytest.fixture
def own_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that ``run_sync`` takes."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield made
    made.close()
    asyncio.set_event_loop(None)


def test_s34_run_sync(server: Server, own_loop: asyncio.AbstractEventLoop) -> None:
    session = RedisSession("sync", url=server.url, key_prefix="run-sync")
    model = model_of(answer("one"), answer("two"))
    for words in ("a", "b"):
        Runner.run_sync(agent_of(model), words, session=session, run_config=QUIET)
    assert texts(model.calls[1].input) == ["a", "one", "b"]

    async def end() -> None:
        assert texts(await session.get_items()) == ["a", "one", "b", "two"]
        await session.close()
        async with Redis.from_url(server.url) as client:
            await client.flushdb()

    own_loop.run_until_complete(end())


@each(*EVERY)
async def test_two_sessions_share_nothing_and_none_remembers_nothing(opened: Open) -> None:
    model = model_of(*(answer(str(n)) for n in range(3)))
    agent = agent_of(model)
    await Runner.run(agent, "a", session=opened("one"), run_config=QUIET)
    await Runner.run(agent, "b", session=opened("two"), run_config=QUIET)
    await Runner.run(agent, "c", run_config=QUIET)
    assert [texts(call.input) if isinstance(call.input, list) else [call.input] for call in model.calls] == [
        *(["a"], ["b"], ["c"])
    ]


@each(*EVERY)
@pytest.mark.parametrize("streamed", [False, True])
async def test_s36_tool_calls_and_outputs_are_stored_in_pairs(opened: Open, streamed: bool) -> None:
    session = opened()
    calls = [function_call("look_up", {"city": city}, call_id=f"call-{city}") for city in ("Lisbon", "Porto")]
    model = model_of(calls, answer("Both sunny."))
    agent = agent_of(model, tools=[look_up])
    if streamed:
        result = Runner.run_streamed(agent, "Weather?", session=session, run_config=QUIET)
        async for _ in result.stream_events():
            pass
    else:
        await Runner.run(agent, "Weather?", session=session, run_config=QUIET)
    found = await session.get_items()
    outputs = ["output Lisbon is sunny", "output Porto is sunny"]
    assert texts(found) == ["Weather?", "call look_up", "call look_up", *outputs, "Both sunny."]
    assert [item["call_id"] for item in found[1:5]] == ["call-Lisbon", "call-Porto"] * 2


@each(*EVERY)
async def test_s07_s37_the_runs_limit_beats_the_sessions_and_sends_no_half_pair(opened: Open) -> None:
    session = opened(session_settings={"limit": 100})
    call = function_call("look_up", {"city": "Lisbon"}, call_id="call-1")
    model = model_of([call], answer("Sunny."), answer("one"), answer("two"))
    agent = agent_of(model, tools=[look_up])
    await Runner.run(agent, "Weather?", session=session, run_config=QUIET)
    for limit, expected in ((2, ["Sunny.", "b"]), (1, ["one", "c"])):
        limited = RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=limit))
        await Runner.run(agent, expected[-1], session=session, run_config=limited)
        assert texts(model.last_call.input) == expected  # type: ignore[union-attr]
    assert len(await session.get_items()) == 8, "nothing of it shortens what is stored"


@each(*EVERY)
async def test_s38_a_callback_that_changes_the_history_stores_only_the_new_turn(opened: Open) -> None:
    session = opened()
    model = model_of(answer("one"), answer("two"))
    agent = agent_of(model)
    await Runner.run(agent, "a", session=session, run_config=QUIET)

    def turned(history: list[Any], new: list[Any]) -> list[Any]:
        history[0]["content"] = "changed"
        return [*reversed(history), *history, *new]

    shaped = RunConfig(tracing_disabled=True, session_input_callback=turned)
    await Runner.run(agent, "b", session=session, run_config=shaped)
    stored = texts(await session.get_items())
    assert stored[:2] == ["a", "one"]
    assert stored[-2:] == ["b", "two"]
    assert stored.count("b") == 1


@each(*EVERY)
async def test_correcting_by_popping_leaves_no_trace_in_the_prompt(opened: Open) -> None:
    session = opened()
    model = model_of(answer("four"), answer("six"))
    agent = agent_of(model)
    await Runner.run(agent, "2 + 2?", session=session, run_config=QUIET)
    assert text_of(await session.pop_item()) == "four"
    assert text_of(await session.pop_item()) == "2 + 2?"
    await Runner.run(agent, "3 + 3?", session=session, run_config=QUIET)
    assert texts(model.calls[1].input) == ["3 + 3?"]
    assert texts(await session.get_items()) == ["3 + 3?", "six"]


@each(*EVERY)
async def test_a_handoff_goes_on_in_the_same_session(opened: Open) -> None:
    session = opened()
    second_model = model_of(answer("The expert answers."), answer("Again."))
    expert = Agent(name="expert", model=second_model)
    hand = handoff(expert)
    model = model_of([function_call(hand.tool_name, {}, call_id="call-h")])
    first = agent_of(model, handoffs=[hand])
    result = await Runner.run(first, "A hard one.", session=session, run_config=QUIET)
    assert result.last_agent is expert
    await Runner.run(result.last_agent, "More.", session=session, run_config=QUIET)
    found = await session.get_items()
    assert texts(found)[0] == "A hard one."
    assert texts(found)[-3:] == ["The expert answers.", "More.", "Again."]
    assert [item["call_id"] for item in found if "call_id" in item] == ["call-h", "call-h"]
    assert texts(second_model.calls[1].input) == texts(found)[:-1]


@each(*EVERY)
async def test_s41_interrupted_serialised_resumed_each_call_has_one_output(opened: Open) -> None:
    ran: list[str] = []

    @function_tool(needs_approval=True)
    def delete(name: str) -> str:
        """Delete a file."""
        ran.append(name)
        return f"{name} is gone"

    session = opened()
    names = ("a", "b")
    model = model_of([function_call("delete", {"name": n}, call_id=f"call-{n}") for n in names], answer("Done."))
    agent = agent_of(model, tools=[delete])
    result = await Runner.run(agent, "Clean up.", session=session, run_config=QUIET)
    assert len(result.interruptions) == 2
    assert ran == []
    kept = result.to_state().to_string()
    state = await RunState.from_string(agent, kept)
    state.approve(state.get_interruptions()[0])
    state.reject(state.get_interruptions()[1])
    result = await Runner.run(agent, state, session=session, run_config=QUIET)
    assert result.final_output == "Done."
    assert ran == ["a"]
    found = await session.get_items()
    kinds = [(item["type"], item["call_id"]) for item in found if "call_id" in item]
    assert sorted(kinds) == [(f"function_call{end}", f"call-{n}") for end in ("", "_output") for n in names]
    assert texts(found)[0] == "Clean up."
    assert texts(found)[-1] == "Done."


@each(*EVERY)
async def test_s40_a_model_call_that_is_tried_again_stores_one_question_and_one_answer(opened: Open) -> None:
    session = opened()
    model = model_of(ModelStep.raise_error(ConnectionError("try again")), answer("one"))
    retrying = ModelRetrySettings(max_retries=2, policy=lambda context: True, backoff={"initial_delay": 0.0})
    agent = agent_of(model, model_settings=ModelSettings(retry=retrying))
    await Runner.run(agent, "a", session=session, run_config=QUIET)
    assert len(model.calls) == 2
    assert texts(await session.get_items()) == ["a", "one"]


@each(*EVERY)
async def test_a_run_that_fails_can_be_followed_by_another(opened: Open) -> None:
    session = opened()
    loop = [function_call("look_up", {"city": "Lisbon"}, call_id="call-1")]
    model = model_of(loop, answer("Sunny."))
    agent = agent_of(model, tools=[look_up])
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent, "Weather?", session=session, run_config=QUIET, max_turns=1)
    await Runner.run(agent, "Well?", session=session, run_config=QUIET)
    assert texts(model.calls[1].input) == ["Weather?", "call look_up", "output Lisbon is sunny", "Well?"]


async def test_s39_a_store_that_fails_is_heard_of_in_a_stream(own_server: Server) -> None:
    session = RedisSession("s", url=own_server.url, redis_kwargs=NO_RETRY)
    agent = agent_of(model_of(answer("one")))
    await session.add_items(said("before"))
    own_server.process.kill()
    own_server.process.wait()
    result = Runner.run_streamed(agent, "a", session=session, run_config=QUIET)
    with pytest.raises(StoreUnavailable):
        async for _ in result.stream_events():
            pass
    await session.close()


async def test_the_runner_compacts_after_a_turn(place: Place) -> None:
    inner = RedisSession("s", redis_client=place.client, key_prefix=place.prefix)
    session = CompactionSession(inner, lambda items: len(items) >= 4, lambda items: said("the story so far"))
    steps = [ModelStep(output=[answer(text)], response_id=f"response-{text}") for text in ("one", "two", "three")]
    model = ScriptedModel(steps)
    agent = agent_of(model)
    for words in ("a", "b", "c"):
        await Runner.run(agent, words, session=session, run_config=QUIET)
    assert texts(model.calls[2].input) == ["the story so far", "c"]
    assert texts(await inner.get_items()) == ["the story so far", "c", "three"]


async def test_the_same_items_as_in_its_own_session(place: Place) -> None:
    """Item by item what the SDK's file holds, and as JSON texts of the same objects."""
    sessions = [SDK_SQLITE.make(place, "s"), REDIS.make(place, "s"), InMemorySession("s")]
    for session in sessions:
        call = function_call("look_up", {"city": "Lisbon"}, call_id="call-1")
        model = model_of([call], answer("Sunny 🌞."))
        await Runner.run(agent_of(model, tools=[look_up]), "Weather?", session=session, run_config=QUIET)
    found = [await session.get_items() for session in sessions]
    assert found[0] == found[1] == found[2]
    sessions[0].close()
