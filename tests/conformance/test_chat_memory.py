"""Chat memory: whole histories, preprocessors at both ends, and adapters to and from sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from agents import SQLiteSession as SdkSQLiteSession
from hypothesis import given
from hypothesis import strategies as st

from orchestra.core.errors import InputError, SessionClosed
from orchestra.memory import (
    ChatHistoryProvider,
    EncryptedSession,
    FilterMessages,
    InMemoryChatHistory,
    Preprocessor,
    RedisChatHistory,
    SQLiteSession,
    SystemPrompt,
    WindowSize,
    provider_session,
    session_provider,
)
from orchestra.memory.call_pairs import calls_of, result_of
from tests.conformance.session_backends import KEY, Place
from tests.conformance.test_sessions import said

KINDS = ["memory", "redis", "sqlite", "encrypted", "sdk-sqlite"]


def provider_of(kind: str, place: Place, *preprocessors: Preprocessor) -> Any:
    if kind == "memory":
        return InMemoryChatHistory(preprocessors=preprocessors)
    if kind == "redis":
        return RedisChatHistory(redis_client=place.client, key_prefix=place.prefix, ttl=60, preprocessors=preprocessors)
    sessions: dict[str, Any] = {}

    def factory(name: str) -> Any:
        if name not in sessions:
            path = place.folder / f"{kind}.db"
            made: Any = SdkSQLiteSession(name, path) if kind == "sdk-sqlite" else SQLiteSession(name, path)
            place.made.append(made)
            sessions[name] = EncryptedSession(made, KEY) if kind == "encrypted" else made
        return sessions[name]

    return session_provider(factory)


def tool_turn(name: str = "c1") -> list[dict[str, Any]]:
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": "done"},
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_store_replaces_and_load_gives_a_list(kind: str, place: Place) -> None:
    history = provider_of(kind, place)
    assert isinstance(history, ChatHistoryProvider)
    assert await history.load("nobody") == []
    await history.store("s", said("a", "b"))
    await history.store("t", said("other"))
    await history.store("s", said("c"))
    assert await history.load("s") == said("c")
    assert await history.load("t") == said("other")
    await history.store("s", [])
    assert await history.load("s") == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_that_fails_leaves_the_old_history(kind: str, place: Place) -> None:
    history = provider_of(kind, place)
    await history.store("s", said("a", "b"))
    with pytest.raises((InputError, TypeError)):
        await history.store("s", [*said("c"), {"bad": object()}])
    assert await history.load("s") == said("a", "b")


@pytest.mark.parametrize("kind", ["memory", "redis"])
async def test_preprocessors_apply_in_order_at_load_and_at_store(kind: str, place: Place) -> None:
    plain, short = provider_of(kind, place), FilterMessages(lambda message: len(message["content"]) <= 3)
    messages = said("a", "long one", "b", "another long one")
    filtered_first = provider_of(kind, place, short, WindowSize(2))
    await filtered_first.store("s", messages)
    assert await filtered_first.load("s") == said("a", "b")
    window_first = provider_of(kind, place, WindowSize(2), short)
    await window_first.store("s", messages)
    assert await window_first.load("s") == said("b")
    if kind == "redis":
        await plain.store("s", messages)
        assert await filtered_first.load("s") == said("a", "b"), "at load too"
        assert await plain.load("s") == messages, "loading changes nothing stored"
        await filtered_first.store("s", messages)
        assert await plain.load("s") == said("a", "b"), "what a preprocessor took away at store is gone"


async def test_a_preprocessor_gets_copies(place: Place) -> None:
    def shouting(messages: Sequence[Any]) -> Sequence[Any]:
        for message in messages:
            message["content"] = message["content"].upper()
        return messages

    given_messages = said("a")
    loud = provider_of("redis", place, shouting)
    quiet = provider_of("redis", place)
    await loud.store("s", given_messages)
    assert given_messages == said("a")
    await quiet.store("s", given_messages)
    assert await loud.load("s") == said("A")
    assert await quiet.load("s") == said("a")


def test_a_window_never_leaves_half_of_a_pair() -> None:
    messages = [*said("a"), *tool_turn(), *said("b")]
    sizes = {size: [*WindowSize(size)(messages)] for size in range(1, 6)}
    assert sizes[1] == said("b")
    assert sizes[2] == said("b"), "the result goes with its call"
    assert sizes[3] == [*tool_turn(), *said("b")]
    assert sizes[4] == sizes[5] == messages
    waiting = [*said("a"), tool_turn()[0]]
    assert WindowSize(1)(waiting) == waiting[1:], "a call that has no result yet is whole"
    with pytest.raises(InputError, match="window"):
        WindowSize(0)


def test_a_filter_takes_the_other_half_along() -> None:
    both = [*tool_turn("1"), *tool_turn("2")]
    assert FilterMessages(lambda message: message["role"] != "tool")([*said("a"), *both]) == said("a")
    assert FilterMessages(lambda message: message["role"] == "tool")([*said("a"), *both]) == []
    assert FilterMessages(lambda message: message.get("tool_call_id") != "2")(both) == tool_turn("1")


ITEMS = st.one_of(
    st.sampled_from(said("a", "b")),
    st.sampled_from("xyz").map(lambda name: {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}),
    st.sampled_from("xyz").map(lambda name: {"type": "function_call_output", "call_id": name, "output": ""}),
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=3, unique=True).map(
        lambda names: {"role": "assistant", "content": "", "tool_calls": [{"id": name} for name in names]}
    ),
    st.sampled_from("xyz").map(lambda name: {"role": "tool", "tool_call_id": name, "content": ""}),
)


def unanswered(messages: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Places of calls without a result behind them, and of results without a call before them."""
    calls: list[tuple[str, int]] = []
    strays = []
    for place, item in enumerate(messages):
        calls += [(call, place) for call in calls_of(item)]
        if (answered := result_of(item)) is not None:
            first = next((entry for entry in calls if entry[0] == answered), None)
            if first is None:
                strays.append(place)
            else:
                calls.remove(first)
    return [place for _, place in calls], strays


@given(st.lists(ITEMS, max_size=12), st.integers(1, 12))
def test_after_a_window_what_was_a_pair_is_a_pair_or_gone(messages: list[Any], size: int) -> None:
    numbered = [{**message, "place": place} for place, message in enumerate(messages)]
    left = list(WindowSize(size)(numbered))
    places = [message["place"] for message in left]
    assert places == sorted(places)
    assert all(place >= len(messages) - size for place in places)
    calls, strays = unanswered(messages)
    calls_left, strays_left = unanswered(left)
    assert {left[place]["place"] for place in strays_left} <= set(strays)
    assert {left[place]["place"] for place in calls_left} <= set(calls)
    dropped = [place for place in range(max(0, len(messages) - size), len(messages)) if place not in places]
    assert all(calls_of(messages[place]) or result_of(messages[place]) for place in dropped), "nothing else goes"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_current_system_prompt_wins(kind: str, place: Place) -> None:
    history = provider_of(kind, place)
    stored = [{"role": "system", "content": "old"}, *said("a")]
    await history.store("s", stored)
    session = provider_session(history, "s")
    assert await session.get_items() == said("a")
    await session.add_items(said("b"))
    assert await session.pop_item() == said("b")[0]
    assert await history.load("s") == stored, "kept, but not given out"
    current = [{"role": "system", "content": "new"}, *said("a")]
    assert SystemPrompt("new")(stored) == current
    if kind == "redis":
        assert await provider_of(kind, place, SystemPrompt("new")).load("s") == current


async def test_a_window_on_a_provider_bounds_what_its_session_keeps(place: Place) -> None:
    session = provider_session(provider_of("redis", place, WindowSize(3)), "s")
    for word in "abcde":
        await session.add_items(said(word))
    assert await session.get_items() == said("c", "d", "e")


async def test_appends_of_one_provider_session_wait_for_each_other() -> None:
    session = provider_session(InMemoryChatHistory(), "s")
    await asyncio.gather(*(session.add_items(said(str(n))) for n in range(20)))
    assert len(await session.get_items()) == 20


async def test_a_conversation_can_be_forgotten_and_a_history_closed(place: Place) -> None:
    for history in (InMemoryChatHistory(), RedisChatHistory(url=place.url, key_prefix=place.prefix)):
        await history.store("s", said("a"))
        await history.delete("s")
        await history.delete("s")
        assert await history.load("s") == []
    assert isinstance(history, RedisChatHistory)
    assert await history.ping()
    await history.close()
    await history.close()
    with pytest.raises(SessionClosed):
        await history.load("s")
    with pytest.raises(SessionClosed):
        await history.ping()
