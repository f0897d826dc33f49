from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from orchestra.core.errors import (
    ContextOverflow,
    InputError,
    ModelError,
    ModelNotConfigured,
    ModelUnavailable,
)
from orchestra.core.messages import Message
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest
from orchestra.models import FallbackModel, RetryingModel
from orchestra.testing import FunctionModel, ScriptedModel, ScriptedReply, reply

REQUEST = ModelRequest((Message("user", "Three nights in Kyoto."),))


async def answered(model: Model) -> ModelReply:
    items = [item async for item in model.stream(REQUEST)]
    assert isinstance(items[-1], ModelReply)
    return items[-1]


class Flaky:
    """Raises its errors one after the other, then answers; counts requests and the streams that were closed."""

    name = "test:flaky"

    def __init__(self, *errors: ModelError, after: str = "") -> None:
        self.errors = list(errors)
        self.after = after
        self.asked = 0
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        self.asked += 1
        try:
            if self.errors:
                if self.after:
                    yield Delta(self.after)
                raise self.errors.pop(0)
            yield Delta("fine")
            yield ModelReply(Message("assistant", "fine"))
        finally:
            self.closed += 1


class Sleeps:
    def __init__(self) -> None:
        self.waited: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)


def busy(after: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("test:flaky", "busy", after)


async def test_what_may_pass_is_tried_three_times_with_growing_waits() -> None:
    model, sleeps = Flaky(busy(), busy()), Sleeps()
    got = await answered(RetryingModel(model, sleep=sleeps))
    assert got.message.text == "fine"
    assert model.asked == model.closed == 3
    first, second = sleeps.waited
    assert 0.5 <= first <= 1.0 <= second <= 1.5


async def test_the_last_error_comes_when_no_try_is_left() -> None:
    model, sleeps = Flaky(*(ModelUnavailable("m", str(number)) for number in range(9))), Sleeps()
    with pytest.raises(ModelUnavailable, match="2"):
        await answered(RetryingModel(model, sleep=sleeps))
    assert (model.asked, len(sleeps.waited)) == (3, 2)


@pytest.mark.parametrize(("asked", "low", "high"), [(7.0, 7.0, 7.0), (3600.0, 30.0, 30.0), (0.0, 0.5, 1.0)])
async def test_a_server_that_says_how_long_is_heeded_within_bounds(asked: float, low: float, high: float) -> None:
    sleeps = Sleeps()
    await answered(RetryingModel(Flaky(busy(asked)), sleep=sleeps))
    assert low <= sleeps.waited[0] <= high


@pytest.mark.parametrize("error", [ModelError("m", "no"), ModelNotConfigured("m", "no"), ContextOverflow("m", "no")])
async def test_what_cannot_pass_is_not_tried_again(error: ModelError) -> None:
    model, sleeps = Flaky(error), Sleeps()
    with pytest.raises(type(error)):
        await answered(RetryingModel(model, sleep=sleeps))
    assert (model.asked, sleeps.waited) == (1, [])


async def test_nothing_is_tried_again_after_a_word_was_shown() -> None:
    model, sleeps = Flaky(busy(), after="Kyo"), Sleeps()
    stream = RetryingModel(model, sleep=sleeps).stream(REQUEST)
    assert await anext(stream) == Delta("Kyo")
    with pytest.raises(ModelUnavailable):
        await anext(stream)
    assert (model.asked, model.closed, sleeps.waited) == (1, 1, [])


async def test_a_wait_can_be_cancelled() -> None:
    model, waiting = Flaky(busy()), asyncio.Event()

    async def for_ever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(answered(RetryingModel(model, sleep=for_ever)))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.asked == 1


async def test_leaving_a_stream_closes_the_one_below() -> None:
    model = Flaky()
    for outer in (RetryingModel(model), FallbackModel([model]), FallbackModel([RetryingModel(model)])):
        before = model.closed
        stream = outer.stream(REQUEST)
        assert await anext(stream) == Delta("fine")
        await stream.aclose()
        assert model.closed == before + 1


async def test_an_answer_without_a_reply_is_an_error() -> None:
    class Mute:
        name = "test:mute"

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
            nothing: tuple[ModelReply, ...] = ()
            for item in nothing:
                yield item

    with pytest.raises(ModelError, match="without a reply"):
        await answered(RetryingModel(Mute()))


# --- fallback -------------------------------------------------------------------------------------------------------


async def test_the_next_model_answers_when_one_fails() -> None:
    second = FunctionModel(lambda request: "from the second", name="test:second")
    model = FallbackModel([Flaky(ModelNotConfigured("test:flaky", "no key")), second])
    got = await answered(model)
    assert (got.message.text, got.model) == ("from the second", "test:second")
    assert second.requests == [REQUEST]


async def test_half_an_answer_is_not_continued_by_another_model() -> None:
    second = ScriptedModel(["from the second"])
    broken = ScriptedModel([ScriptedReply(reply("half"), error="unavailable", problem="gone")])
    stream = FallbackModel([broken, second]).stream(REQUEST)
    assert await anext(stream) == Delta("half")
    with pytest.raises(ModelUnavailable, match="gone"):
        await anext(stream)
    assert second.requests == []


async def test_an_overflow_goes_to_the_runtime_and_not_to_the_next_model() -> None:
    second = ScriptedModel(["from the second"])
    with pytest.raises(ContextOverflow):
        await answered(FallbackModel([Flaky(ContextOverflow("a", "too long")), second]))
    assert second.requests == []


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ((busy(9), ModelNotConfigured("b", "no key")), ModelUnavailable),
        ((ModelNotConfigured("a", "no key"), ModelNotConfigured("b", "no library")), ModelNotConfigured),
        ((ModelNotConfigured("a", "no key"), ModelError("b", "odd")), ModelError),
        ((busy(9), busy(4)), ModelUnavailable),
    ],
)
async def test_when_all_fail_the_error_tells_of_all(errors: tuple[ModelError, ...], kind: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        await answered(FallbackModel([Flaky(error) for error in errors]))
    assert type(caught.value) is kind
    for error in errors:
        assert error.problem in caught.value.problem
    if isinstance(caught.value, ModelUnavailable):
        assert caught.value.retry_after in (4, 9)


async def test_one_failure_is_passed_on_as_it_is_and_no_model_is_an_error() -> None:
    error = ModelError("a", "odd")
    with pytest.raises(ModelError) as caught:
        await answered(FallbackModel([Flaky(error)]))
    assert caught.value is error
    with pytest.raises(InputError):
        FallbackModel([])
