"""Runs without a session, with a session object of somebody else, and with the session of another agent."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from orchestra import Agent, Runtime
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.messages import Message
from orchestra.core.model import ModelRequest
from orchestra.testing import FunctionModel, ScriptedModel, call, reply


class ForeignSession:
    """The four methods, and nothing else."""

    def __init__(self) -> None:
        self.items: list[dict[str, object]] = []

    async def get_items(self, limit: int | None = None) -> list[object]:
        return list(self.items if limit is None else self.items[-limit:])

    async def add_items(self, items: list[object]) -> None:
        self.items += cast("list[dict[str, object]]", items)

    async def pop_item(self) -> object | None:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


def texts(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


def look() -> str:
    """Look."""
    return "found"


async def test_without_a_session_nothing_is_loaded_or_stored(runtime: Runtime) -> None:
    model = FunctionModel(lambda request: f"{len(request.messages)} messages")
    await runtime.register(Agent(name="a", model=model))
    before = sorted([key async for key in runtime.store.redis.scan_iter()])
    for _ in range(2):
        assert (await runtime.run("a", "hi")).output == "1 messages"
    assert sorted([key async for key in runtime.store.redis.scan_iter()]) == before


async def test_the_result_as_the_next_input(runtime: Runtime) -> None:
    model = ScriptedModel([reply(calls=[call("look")]), reply("one")])
    await runtime.register(Agent(name="a", model=model, tools=(look,)))
    first = await runtime.run("a", "hi")
    following = first.to_input_list()
    assert [item["role"] for item in following] == ["user", "assistant", "tool", "assistant"]
    model = ScriptedModel([reply("two")])
    await runtime.register(Agent(name="a", model=model, tools=(look,)))
    second = await runtime.run("a", [*following, {"role": "user", "content": "and now?"}])
    assert texts(model.requests[0]) == ["hi", "", "found", "one", "and now?"]
    assert len(second.to_input_list()) == 6
    assert "meta" not in str(second.to_input_list())


async def test_a_foreign_session_object(runtime: Runtime) -> None:
    session, model = ForeignSession(), ScriptedModel([reply(calls=[call("look")]), reply("one")])
    await runtime.register(Agent(name="a", model=model, tools=(look,)))
    await runtime.run("a", "hi", session=session)
    assert [item["role"] for item in session.items] == ["user", "assistant", "tool", "assistant"]
    model = ScriptedModel([reply("two")])
    await runtime.register(Agent(name="a", model=model, tools=(look,)))
    events = [event async for event in runtime.stream("a", "again", session=session)]
    assert events[-1].result.output == "two"  # type: ignore[union-attr]
    assert texts(model.requests[0]) == ["hi", "", "found", "one", "again"]
    assert [item["content"] for item in session.items] == ["hi", "", "found", "one", "again", "two"]
    failing = FunctionModel(lambda request: 1 / 0)  # type: ignore[arg-type, return-value]
    await runtime.register(Agent(name="a", model=failing))
    assert (await runtime.run("a", "again", session=session)).status == "failed"
    assert len(session.items) == 6


async def test_two_agents_that_share_a_session_object_see_one_history(runtime: Runtime) -> None:
    models = {name: FunctionModel(lambda request: "|".join(texts(request))) for name in ("a", "b")}
    await runtime.register(*(Agent(name=name, model=model) for name, model in models.items()))
    await runtime.run("a", "one", session_id="s")
    shared = runtime.session("s", "a")
    assert (await runtime.run("b", "two", session=shared)).output == "one|one|two"
    assert (await runtime.run("a", "three", session=shared)).turn == 2
    assert [message.text for message in cast("list[Message]", await shared.get_items())][:4] == [
        "one",
        "one",
        "two",
        "one|one|two",
    ]


async def test_which_session_is_meant(runtime: Runtime) -> None:
    with pytest.raises(InputError):
        await runtime.run("a", "hi", session_id="s", session=ForeignSession())
    for wrong in ("", "x" * 257):
        with pytest.raises(InputError):
            runtime.session(wrong)
    with pytest.raises(UnknownName):
        await runtime.session("nobody's").get_items()
    model = FunctionModel(lambda request: "hi")
    await runtime.register(Agent(name="a", model=model), Agent(name="b", model=model))
    await runtime.run("a", "hi", session_id="s")
    assert len(await runtime.session("s").get_items()) == 2
    await runtime.run("b", "hi", session_id="s")
    with pytest.raises(InputError, match="a, b"):
        await runtime.session("s").get_items()
    with pytest.raises(UnknownName):
        await runtime.run("nobody", "hi", session_id="s")


async def test_agents_do_not_see_each_others_log(runtime: Runtime) -> None:
    """Law 4: two agents of one session have a log each, and no prompt of one shows a message of the other."""
    models = {name: FunctionModel(lambda request: f"secret of {request.messages[-1].text}") for name in ("a", "b")}
    await runtime.register(*(Agent(name=name, model=model) for name, model in models.items()))
    for name in ("a", "b", "a", "b"):
        await runtime.run(name, name, session_id="s")
    assert texts(models["b"].requests[1]) == ["b", "secret of b", "b"]
    assert texts(models["a"].requests[1]) == ["a", "secret of a", "a"]


@pytest.mark.parametrize(
    "session_id", ["s1", "s1:messages", "a|b", "{x}:y", "  spaces ", "日本 🗾", "x" * 256, "*", "\n"]
)
async def test_any_session_id_is_safe(runtime: Runtime, session_id: str) -> None:
    await runtime.register(Agent(name="a", model=FunctionModel(lambda request: str(len(request.messages)))))
    outputs = [(await runtime.run("a", "hi", session_id=name)).output for name in (session_id, "s1", session_id)]
    assert outputs == (["1", "3", "5"] if session_id == "s1" else ["1", "1", "3"])


async def test_a_corrected_exchange_leaves_no_trace(runtime: Runtime) -> None:
    """On a host that has the log in its cache; also when as much is added as was popped."""
    model = FunctionModel(lambda request: f"re {request.messages[-1].text}")
    await runtime.register(Agent(name="a", model=model))
    for text in ("one", "wrong"):
        await runtime.run("a", text, session_id="s")
    session = runtime.session("s", "a")
    for _ in range(2):
        await session.pop_item()
    assert (await runtime.run("a", "right", session_id="s")).turn == 2
    assert texts(model.requests[-1]) == ["one", "re one", "right"]
    for _ in range(2):
        await session.pop_item()
    await session.add_items([{"role": "user", "content": "two"}, {"role": "assistant", "content": "by hand"}])
    await runtime.run("a", "three", session_id="s")
    assert texts(model.requests[-1]) == ["one", "re one", "two", "by hand", "three"]


async def test_a_pop_while_a_turn_runs(runtime: Runtime) -> None:
    """The turn is committed on the log as it then is; nothing of it is lost and what was popped stays popped."""
    going, on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "slow":
            going.set()
            await on.wait()
        return f"saw {len(request.messages)}"

    await runtime.register(Agent(name="a", model=FunctionModel(answer)))
    for text in ("one", "two"):
        await runtime.run("a", text, session_id="s")
    running = asyncio.ensure_future(runtime.run("a", "slow", session_id="s"))
    await going.wait()
    session = runtime.session("s", "a")
    popped = [cast("Message", await session.pop_item()).text for _ in range(2)]
    assert popped == ["saw 3", "two"]
    on.set()
    result = await running
    assert (result.output, result.turn) == ("saw 5", 2)
    log = cast("list[Message]", await session.get_items())
    assert [(message.meta.seq, message.meta.turn, message.text) for message in log] == [
        (1, 1, "one"),
        (2, 1, "saw 1"),
        (5, 2, "slow"),
        (6, 2, "saw 5"),
    ]
    assert (await runtime.run("a", "more", session_id="s")).output == "saw 5"


async def test_clearing_while_a_turn_runs_and_afterwards(runtime: Runtime) -> None:
    going, on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "slow":
            going.set()
            await on.wait()
        return f"saw {len(request.messages)}"

    await runtime.register(Agent(name="a", model=FunctionModel(answer)))
    await runtime.run("a", "one", session_id="s")
    running = asyncio.ensure_future(runtime.run("a", "slow", session_id="s"))
    await going.wait()
    session = runtime.session("s", "a")
    await session.clear_session()
    on.set()
    assert (await running).turn == 1
    assert [message.text for message in cast("list[Message]", await session.get_items())] == ["slow", "saw 3"]
    await session.clear_session()
    assert await session.get_items() == []
    assert (await runtime.run("a", "fresh", session_id="s")).output == "saw 1"
