"""Models behind a provider's API, through a maintained client library."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import ModuleType
from urllib.parse import urlsplit

from orchestra.core.errors import ModelNotConfigured
from orchestra.core.jsontext import Json
from orchestra.core.model import Delta, ModelReply, ModelRequest
from orchestra.models.catalog import PROVIDERS, split_name

_LIBRARY = "orchestra.models.answers"
_loaded: list[ModuleType] = []


async def _answers() -> ModuleType:
    """The module that uses the client library. Importing it takes about a second, so the first time in a thread."""
    if not _loaded:
        _loaded.append(await asyncio.to_thread(importlib.import_module, _LIBRARY))
    return _loaded[0]


async def close_connections() -> None:
    """Close the connections to providers that the running event loop holds. The next model call opens new ones."""
    if _loaded:
        await _loaded[0].close()


class ProviderModel:
    """``provider:name`` behind that provider's API.

    ``settings`` (``temperature``, ``max_tokens``, …) are sent with every request; those of a request win. Names that
    the client library does not know go into the body of the request as they are. Keys and addresses are read from
    ``environment`` (by default the process's own) at each call and are never part of a pickled model.

    One object serves any number of agents, sessions and event loops. Nothing is retried here.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Json] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._provider, self._model = split_name(name)
        self._settings = dict(settings or {})
        self._environment = environment

    @property
    def name(self) -> str:
        """``provider:name``."""
        return f"{self._provider}:{self._model}"

    @property
    def keeps_conversations(self) -> bool:
        """Whether the provider's protocol has conversations that the provider keeps."""
        return PROVIDERS[self._provider].keeps_conversations

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """Answer ``request``. Closing the generator closes the HTTP stream.

        Raises:
            ModelNotConfigured: key, server or client library is missing, or the server refused the key.
            ModelUnavailable: not reached, too slow, overloaded, or the stream broke.
            ContextOverflow: the request is larger than the model's window.
            ModelError: everything else.
        """
        answers, access, secrets = await self._ready()
        settings = {**self._settings, **request.settings}
        items = answers.answer(access, self._model, request, settings, secrets=secrets)
        async with aclosing(items):
            async for item in items:
                yield item

    async def context_window(self) -> int | None:
        """The model's window in tokens, when the client library knows it."""
        answers, access, _ = await self._ready()
        window: int | None = await answers.context_window(access, self._model)
        return window

    async def _ready(self) -> tuple[ModuleType, object, tuple[str, ...]]:
        """The library, the way to the provider, and the words that must not show up in an error."""
        environment = os.environ if self._environment is None else self._environment
        needs = PROVIDERS[self._provider]
        secrets = tuple(value for name in needs.variables if (value := environment.get(name)) and "URL" not in name)
        base_url = api_key = ""
        if self._provider.startswith("openai"):
            base_url, api_key = environment.get("OPENAI_BASE_URL", ""), environment.get("OPENAI_API_KEY", "")
            if not base_url and not api_key:
                raise ModelNotConfigured(
                    self.name, "set OPENAI_API_KEY, or OPENAI_BASE_URL for an OpenAI-compatible server of your own"
                )
            try:
                password = urlsplit(base_url).password
            except ValueError:
                raise ModelNotConfigured(self.name, "OPENAI_BASE_URL is not a URL") from None
            secrets = (*secrets, password) if password else secrets
        try:
            answers = await _answers()
        except ImportError:
            raise ModelNotConfigured(self.name, f"its client library is not installed: {needs.install}") from None
        return answers, answers.Access(self._provider, base_url, api_key), secrets

    def __getstate__(self) -> dict[str, object]:
        """Without the environment, which holds keys: in another process the model reads that process's own."""
        return {**self.__dict__, "_environment": None}
