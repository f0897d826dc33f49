"""Connections to providers, shared by all models of one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from openai import AsyncOpenAI
from pydantic_ai import models as library
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

OPENAI_URL = "https://api.openai.com/v1"
LibraryModel: TypeAlias = library.Model[Any]  # Any: each provider has a client type of its own
LibraryProvider: TypeAlias = Provider[Any]

# A stream that ends without a reason was cut off; taking it for a whole reply would store half an answer.
_COMPLETE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
# On a server of one's own the name of a model tells nothing: settings go out as they are (the library would drop the
# temperature for a name that looks like a reasoning model's), and the limit under the name that every server knows.
_COMPATIBLE = OpenAIModelProfile(
    openai_chat_streaming_requires_finish_reason=True,
    openai_supports_reasoning=False,
    openai_chat_supports_max_completion_tokens=False,
)


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider is reached. Empty fields: as the client library finds it in the environment."""

    provider: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)


class Connections:
    """The HTTP clients of one event loop: one for each way to reach a provider, whatever the number of models.

    A client's sockets belong to the loop that opened them. They are closed by :meth:`close`, or when the loop shuts
    down its asynchronous generators (as ``asyncio.run`` does at its end).
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._providers: dict[Access, LibraryProvider] = {}
        self._models: dict[tuple[Access, str], LibraryModel] = {}
        self._closing = AsyncExitStack()
        self._life: AsyncGenerator[None, None] | None = None

    async def model(self, access: Access, name: str) -> LibraryModel:
        """The library's model ``name`` over the shared client of ``access``, made at its first use."""
        if (found := self._models.get((access, name))) is not None:
            return found
        async with self._lock:
            if (found := self._models.get((access, name))) is not None:
                return found
            if self._life is None:
                self._life = self._until_the_loop_ends()
                await anext(self._life)
            if (provider := self._providers.get(access)) is None:
                # Clients read certificates from disk when they are made, models import parts of their library.
                provider = await asyncio.to_thread(_provider, access, self._closing.push_async_callback)
                await self._closing.enter_async_context(provider)
                self._providers[access] = provider
            model = await asyncio.to_thread(_model, access, provider, name)
            self._models[access, name] = model
            return model

    async def close(self) -> None:
        """Close every connection; the next use opens new ones."""
        if self._life is not None:
            await self._life.aclose()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._life = None
            self._providers.clear()
            self._models.clear()
            closing, self._closing = self._closing, AsyncExitStack()
            await closing.aclose()


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()


def connections() -> Connections:
    """The connections of the running event loop."""
    loop = asyncio.get_running_loop()
    if (found := _by_loop.get(loop)) is None:
        found = _by_loop[loop] = Connections()
    return found


def _provider(access: Access, on_close: Callable[..., object]) -> LibraryProvider:
    if not access.provider.startswith("openai"):
        return infer_provider(access.provider)
    http_client = library.create_async_httpx2_client()
    on_close(http_client.aclose)
    client = AsyncOpenAI(
        base_url=access.base_url or OPENAI_URL,
        # Servers of one's own often want no key, the client always wants one.
        api_key=access.api_key or "none",
        http_client=http_client,
        max_retries=0,  # retrying is done in one place: orchestra.models.retries
    )
    if not access.base_url or urlsplit(access.base_url).hostname == "api.openai.com":
        return OpenAIProvider(openai_client=client)
    return OpenAICompatibleProvider("openai-compatible", openai_client=client)


def _model(access: Access, provider: LibraryProvider, name: str) -> LibraryModel:
    if access.provider == "openai-responses":
        return OpenAIResponsesModel(name, provider=provider)
    if access.provider == "openai":
        profile = _COMPATIBLE if isinstance(provider, OpenAICompatibleProvider) else _COMPLETE
        return OpenAIChatModel(name, provider=provider, profile=profile)
    return library.infer_model(f"{access.provider}:{name}", provider_factory=lambda _: provider)
