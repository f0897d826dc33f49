"""A server of the chat-completions protocol for each test that wants one, and a loop that nothing may block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest
from blockbuster import blockbuster_ctx

from orchestra.models import close_connections
from tests.integration.models.asking import KEY
from tests.openai_server import Body, OpenAIServer, Reaction, echo, in_order


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., OpenAIServer]]:
    """Starts a server; OPENAI_BASE_URL and OPENAI_API_KEY lead to the newest one."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ExitStack() as servers:

        def start(answer: Callable[[Body], Reaction] | Reaction = echo, *, api_key: str = KEY) -> OpenAIServer:
            server = OpenAIServer(answer if callable(answer) else in_order(answer), api_key=api_key)
            servers.enter_context(server)
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            return server

        yield start


@pytest.fixture(autouse=True)
async def _nothing_blocks_the_loop() -> AsyncIterator[None]:
    with blockbuster_ctx():
        yield
    await close_connections()
