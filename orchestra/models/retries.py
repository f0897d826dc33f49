"""Trying again what may succeed later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

import tenacity

from orchestra.core.errors import ModelError, ModelUnavailable
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, keeps_conversations

TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
_Items: TypeAlias = AsyncGenerator[Delta | ModelReply, None]


class RetryingModel:
    """``model``, whose retryable errors are tried again as long as nothing of the reply has been shown.

    At most ``tries`` requests in all. The waits grow exponentially from ``first_wait`` seconds, with jitter, up to
    ``longest_wait``; a server that says how long to wait is heeded up to the same bound. Cancelling ends a wait at
    once. ``sleep`` is what waits (a test may hand in its own).
    """

    def __init__(
        self,
        model: Model,
        *,
        tries: int = TRIES,
        first_wait: float = FIRST_WAIT,
        longest_wait: float = LONGEST_WAIT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.model = model
        self._tries = tries
        self._longest_wait = longest_wait
        self._backoff = tenacity.wait_exponential(multiplier=first_wait, max=longest_wait) + tenacity.wait_random(
            0, first_wait
        )
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    @property
    def keeps_conversations(self) -> bool:
        """Whether the model itself does. A try that failed has left nothing in a conversation."""
        return keeps_conversations(self.model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The model's answer; errors as the model raises them, the last one when no try was left."""
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
            stop=tenacity.stop_after_attempt(self._tries),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        begun: tuple[Delta | ModelReply, _Items] = await attempts(self._begun, request)
        first, rest = begun
        async with aclosing(rest):
            yield first
            async for item in rest:
                yield item

    async def _begun(
        self, request: ModelRequest
    ) -> tuple[Delta | ModelReply, AsyncGenerator[Delta | ModelReply, None]]:
        """The first item of a new answer, and the rest of it. Up to here nothing was shown to anybody."""
        rest = closable(self.model.stream(request))
        try:
            return await anext(rest), rest
        except StopAsyncIteration:
            raise ModelError(self.name, "the answer ended without a reply") from None

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ModelUnavailable) else None
        return min(max(self._backoff(state), asked or 0.0), self._longest_wait)


async def closable(items: AsyncIterator[Delta | ModelReply]) -> AsyncGenerator[Delta | ModelReply, None]:
    """``items`` as a generator: closing it closes ``items`` too, when that can be closed."""
    try:
        async for item in items:
            yield item
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()
