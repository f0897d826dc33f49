"""The model whose replies a function makes, for tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from orchestra.core.errors import ModelError
from orchestra.core.messages import Message
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.playback import completed, played

Reply: TypeAlias = ModelReply | str
ReplyFunction: TypeAlias = Callable[[ModelRequest], Reply | Awaitable[Reply]]


class FunctionModel:
    """Replies with what ``function(request)`` returns: a reply or its text.

    ``request.messages`` and ``request.tools`` are exactly what a model would get. An async function runs on the loop, a
    plain one in a thread. A :class:`ModelError` that it raises is the model's failure; any other exception becomes one.
    ``requests`` keeps every request this object got; pickling leaves it behind. ``keeps_conversations`` as for
    :class:`ScriptedModel`.
    """

    def __init__(self, function: ReplyFunction, *, name: str | None = None, keeps_conversations: bool = False) -> None:
        self._function = function
        self.keeps_conversations = keeps_conversations
        self._name = name or f"function:{getattr(function, '__qualname__', type(function).__name__)}"
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """``function:`` and the function's name."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The function's reply in several deltas."""
        self.requests.append(request)
        reply = completed(await self._reply(request), request, model=self._name)
        async with aclosing(played(reply)) as items:
            async for item in items:
                yield item

    async def _reply(self, request: ModelRequest) -> ModelReply:
        try:
            if inspect.iscoroutinefunction(self._function):
                result = await self._function(request)
            else:
                result = await asyncio.to_thread(self._function, request)
                if inspect.isawaitable(result):
                    result = await result
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(self._name, f"the function raised {type(error).__name__}: {error}") from error
        if isinstance(result, str):
            return ModelReply(Message("assistant", result))
        if isinstance(result, ModelReply):
            return result
        raise ModelError(self._name, f"the function returned {type(result).__name__}, not a reply or text")

    def __getstate__(self) -> dict[str, object]:
        """Everything but the requests."""
        return {**self.__dict__, "requests": []}
