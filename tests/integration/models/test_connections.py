"""Connections to a provider: shared, closed by whoever leaves, one set for each event loop."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from orchestra.core.model import Delta
from orchestra.models import FallbackModel, ProviderModel, RetryingModel, close_connections, context_window
from orchestra.models.windows import large_enough
from orchestra.testing import ScriptedModel
from tests.integration.models.asking import answered, asked, model
from tests.openai_server import Answer, OpenAIServer


async def test_leaving_closes_the_stream(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("The first words", then="stall"))
    for outer in (model(), RetryingModel(model()), FallbackModel([model()])):
        before = server.hung_up
        stream = outer.stream(asked())
        assert isinstance(await anext(stream), Delta)
        await stream.aclose()
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
    await asyncio.ensure_future(anext(stream))
    await asyncio.ensure_future(stream.aclose())
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
    # A model that is too small for the conversation is left out, so that the next one answers; all of them are not.
    large = FallbackModel([model("openai-responses:gpt-3.5-turbo"), model("openai-responses:gpt-5-mini")])
    assert (await large_enough(large, smaller + 1)).name == "openai-responses:gpt-5-mini"
    assert await large_enough(large, smaller) is large
    assert await large_enough(large, 10_000_000) is large
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
