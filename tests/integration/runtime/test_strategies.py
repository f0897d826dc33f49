"""How a configuration shapes what is shown: strategies, limits for users, preprocessors, pruning that stays."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from orchestra import Agent, Runtime
from orchestra.context.summary_message import is_summary
from orchestra.core.conversation import Conversation
from orchestra.core.errors import ConfigError
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.testing import FunctionModel, call, reply
from tests.hosts import Machines
from tests.waiting import until


def only_users(messages: list[Message]) -> list[Message]:
    """A preprocessor by import path; it changes what it gets, too."""
    kept = [message for message in messages if message.role == "user"]
    messages.clear()
    return kept


seen: list[int] = []


def noting(messages: list[Message]) -> list[Message]:
    """A preprocessor that notes how many messages it gets."""
    seen.append(len(messages))
    return messages


def shown(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages if message.role != "system"]


def model_and_agent(conversation: dict[str, object], **more: object) -> tuple[FunctionModel, Agent]:
    model = FunctionModel(lambda request: "short" if "takes the place" in request.messages[0].text else "ok")
    made = Conversation.model_validate({"guard": {"minimum": 0}, **conversation})
    return model, Agent(name="a", model=model, conversation=made, **more)  # type: ignore[arg-type]


async def play(runtime: Runtime, count: int, user: str | None = None) -> None:
    for number in range(count):
        await runtime.run("a", f"say {number}", session_id="s", user_id=user)


@pytest.mark.parametrize(
    ("window", "expected"),
    [({"turns": 2}, ["say 2", "ok", "say 3", "ok", "say 4"]), ({"messages": 3}, ["say 3", "ok", "say 4"])],
)
async def test_a_window_shows_the_newest(runtime: Runtime, window: dict[str, int], expected: list[str]) -> None:
    model, agent = model_and_agent({"strategy": "window", "window": window})
    await runtime.register(agent)
    await play(runtime, 5)
    assert shown(model.requests[-1])[-3:] == expected[-3:]
    assert len(shown(model.requests[-1])) <= len(expected) + 1


async def test_a_users_own_limit_beats_the_default(runtime: Runtime) -> None:
    model, agent = model_and_agent({"history_limit": {"default": 1, "users": {"ana": 0}}})
    await runtime.register(agent)
    await play(runtime, 4, "ana")
    assert len(shown(model.requests[-1])) == 7
    await runtime.session("s", "a").clear_session()
    model.requests.clear()
    for number in range(4):
        await runtime.run("a", f"say {number}", session_id="t", user_id="bob")
    assert shown(model.requests[-1]) == ["say 2", "ok", "say 3"]


async def test_preprocessors_in_order_and_the_log_stays(runtime: Runtime) -> None:
    path = f"{__name__}:only_users"
    model, agent = model_and_agent({"preprocessors": [{"redact": "say"}, path, {"window_size": 2}]})
    await runtime.register(agent)
    await play(runtime, 4)
    assert shown(model.requests[-1]) == ["[redacted] 1", "[redacted] 2", "say 3"]
    stored = [message.text for message in await runtime.session("s", "a").get_items()]  # type: ignore[attr-defined]
    assert stored[:2] == ["say 0", "ok"]


async def test_a_preprocessor_that_is_not_there_is_an_error_at_once(runtime: Runtime) -> None:
    _, agent = model_and_agent({"preprocessors": ["nowhere.at:all"]})
    with pytest.raises(ConfigError, match="nowhere"):
        await runtime.register(agent)


async def test_summarizing_leaves_the_newest_alone(runtime: Runtime) -> None:
    long = "and so on and so forth " * 20
    model, agent = model_and_agent(
        {"strategy": "summarizing", "summarizing": {"ratio": 0.5, "preserve_recent": 4}}, context_tokens=1_000
    )
    await runtime.register(agent)
    for number in range(9):
        await runtime.run("a", f"say {number} {long}", session_id="s")
        await until("no summary is being made", lambda: not runtime._inline_host.background.working)
    request = next(one for one in reversed(model.requests) if "takes the place" not in one.messages[0].text)
    assert is_summary(request.messages[0])
    assert len(request.messages) >= 5
    assert len(await runtime.session("s", "a").get_items()) == 18


async def test_what_was_pruned_stays_so_on_every_host(machines: Machines) -> None:
    model, agent = model_and_agent({"pruning": {"ttl": 1e-6, "soft_ratio": 0.01}}, context_tokens=20_000)
    warm = await machines.client("primary-0")
    await warm.register(agent)
    items: list[Message] = []
    for number in range(4):
        call = ToolCall(f"c{number}", "read", {})
        items += [
            Message("user", "read"),
            Message("assistant", "", (call,)),
            Message("tool", f"{number} " * 4_000, tool_call_id=call.id, name="read"),
            Message("assistant", "done"),
        ]
    await warm.session("s", "a").add_items(items)
    for number in range(2):
        await warm.run("a", f"warm {number}", session_id="s")
        await (await machines.client(f"cold-{number}")).run("a", f"cold {number}", session_id="s")
    results = [[message.text for message in request.messages if message.role == "tool"] for request in model.requests]
    assert all("characters …]" in text for text in results[0][:2])
    for before, after in itertools.pairwise(results):
        assert after[: len(before)][:2] == before[:2]


def reading_agent(**more: object) -> tuple[FunctionModel, Agent]:
    """An agent that reads a long text in each turn, ``fail`` many times and then not at all."""

    async def read() -> str:
        """Read it."""
        return "word " * 2_000

    def answer(request: ModelRequest) -> ModelReply | str:
        asked = [message.text for message in request.messages if message.role == "user"][-1]
        results = [message for message in request.messages if message.role == "tool"]
        if asked == "fail" and len(results) == 8:
            raise ValueError("away")
        if request.messages[-1].role == "user" or asked == "fail":
            return reply(calls=[call("read")])
        return "done"

    model = FunctionModel(answer)
    fields = {"pruning": {"ttl": 1e-6, "soft_ratio": 0.01}, "offload": {"enabled": False}}
    made = Conversation.model_validate(fields)
    return model, Agent(name="a", model=model, tools=(read,), conversation=made, context_tokens=60_000, **more)  # type: ignore[arg-type]


def newest_result(model: FunctionModel) -> str:
    message = model.requests[-1].messages[-1]
    assert message.role == "tool"
    return message.text


async def test_what_was_pruned_in_a_session_is_not_pruned_in_its_fork(runtime: Runtime) -> None:
    """The new messages of the fork must not have the numbers of those that were decided on."""
    model, agent = reading_agent()
    await runtime.register(agent)
    for number in range(6):
        await runtime.run("a", f"read {number}", session_id="s")
    assert len({message.text for message in model.requests[-1].messages if message.role == "tool"}) == 2
    await runtime.session("s", "a").fork(1, "f")
    for number in range(4):
        await runtime.run("a", f"read {number}", session_id="f")
        assert newest_result(model) == "word " * 2_000


async def test_what_was_pruned_of_a_turn_that_is_not_kept_is_not_decided_for_the_next(runtime: Runtime) -> None:
    model, agent = reading_agent(persistence="turn")
    await runtime.register(agent)
    failed = await runtime.run("a", "fail", session_id="s")
    assert failed.status == "failed"
    assert await runtime.session("s", "a").get_items() == []
    for number in range(3):
        await runtime.run("a", f"read {number}", session_id="s")
        assert newest_result(model) == "word " * 2_000


async def test_a_slow_preprocessor_keeps_nobody_else_waiting(runtime: Runtime) -> None:
    """A pattern that takes a second and then fails: the loop of the host goes on meanwhile."""
    model, agent = model_and_agent({"preprocessors": [{"redact": "(a|aa)+$"}]})
    await runtime.register(agent)
    await runtime.session("s", "a").add_items([Message("user", "a" * 80 + "b"), Message("assistant", "ok")])
    worked, over = list[float](), asyncio.Event()

    async def beat() -> None:
        while not over.is_set():
            before = time.thread_time()
            await asyncio.sleep(0.005)
            worked.append(time.thread_time() - before)

    beating = asyncio.ensure_future(beat())
    result = await runtime.run("a", "go", session_id="s")
    over.set()
    await beating
    assert (result.status, result.reason) == ("failed", "ConfigError")
    assert "takes too long" in result.error
    assert model.requests == []
    assert len(worked) > 20
    assert max(worked) < 0.05


async def test_preprocessors_work_once_for_the_calls_of_a_turn(runtime: Runtime) -> None:
    model, agent = reading_agent()
    seen.clear()
    conversation = agent.conversation.model_copy(update={"preprocessors": (f"{__name__}:noting",)})
    await runtime.register(agent.model_copy(update={"conversation": conversation}))
    await runtime.run("a", "read 0", session_id="s")
    await runtime.run("a", "read 1", session_id="s")
    assert len(model.requests) == 4
    assert seen == [0, 4]


async def test_what_is_redacted_is_not_shown_to_who_summarises(runtime: Runtime) -> None:
    fields = {
        "preprocessors": [{"redact": r"\b\d{16}\b"}],
        "compaction": {"block_stream": True, "retries": 0},
        "flush": {"enabled": False},
    }
    model, agent = model_and_agent(fields, context_tokens=2_000)
    await runtime.register(agent)
    for number in range(8):
        await runtime.run("a", f"my card {number} is 1234567812345678 " + "and so on " * 100, session_id="s")
    asked = [request for request in model.requests if "takes the place" in request.messages[0].text]
    words = " ".join(message.text for request in asked for message in request.messages)
    assert "my card 0 is [redacted]" in words
    assert "1234567812345678" not in words
