from __future__ import annotations

import pickle
import threading

import pytest

from orchestra.core.errors import ModelError, ModelUnavailable
from orchestra.core.messages import Message
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest
from orchestra.testing import FunctionModel, call, reply

REQUEST = ModelRequest((Message("user", "Three nights in Kyoto."),), call_number=4)


async def answered(model: Model) -> ModelReply:
    items = [item async for item in model.stream(REQUEST)]
    assert all(isinstance(item, Delta) for item in items[:-1])
    assert isinstance(items[-1], ModelReply)
    return items[-1]


def echo(request: ModelRequest) -> str:
    return f"{threading.current_thread() is threading.main_thread()} {request.messages[-1].text}"


async def test_a_plain_function_runs_off_the_loop() -> None:
    model = FunctionModel(echo)
    assert isinstance(model, Model)
    assert (await answered(model)).message.text == "False Three nights in Kyoto."
    assert model.requests == [REQUEST]
    assert pickle.loads(pickle.dumps(model)).requests == []


async def test_an_async_function_may_return_calls() -> None:
    async def function(request: ModelRequest) -> ModelReply:
        return reply("", calls=[call("search", query=request.messages[0].text)])

    got = await answered(FunctionModel(function))
    assert got.message.tool_calls[0].id == "call-4-0"
    assert got.finish_reason == "tool_calls"
    assert got.usage.model_calls == 1


async def test_what_a_function_raises_is_a_model_error() -> None:
    def broken(request: ModelRequest) -> str:
        raise LookupError("no such city")

    with pytest.raises(ModelError, match="LookupError: no such city") as caught:
        await answered(FunctionModel(broken))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    def busy(request: ModelRequest) -> str:
        raise ModelUnavailable("mine", "busy")

    with pytest.raises(ModelUnavailable, match="busy"):
        await answered(FunctionModel(busy))


async def test_what_is_no_reply_is_refused() -> None:
    with pytest.raises(ModelError, match="returned int"):
        await answered(FunctionModel(lambda request: 3))  # type: ignore[arg-type, return-value]
