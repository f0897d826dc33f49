"""Session classes of the OpenAI Agents SDK carry the history of our runs, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestra import Agent, Runtime
from orchestra.testing import FunctionModel, reply
from tests.servers import Server

sqlalchemy_session = pytest.importorskip("agents.extensions.memory.sqlalchemy_session", reason="openai-agents")


async def test_the_sqlalchemy_session_of_the_sdk(server: Server, namespace: str, tmp_path: Path) -> None:
    model = FunctionModel(lambda request: reply(f"answer to {request.messages[-1].text}"))
    url = f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}"
    session = sqlalchemy_session.SQLAlchemySession.from_url("ana-1", url=url, create_tables=True)
    config = {"redis": {"url": server.url}, "namespace": namespace}
    async with Runtime.start(config, inline=True) as runtime:
        await runtime.register(Agent(name="a", model=model, instructions="Help."))
        await runtime.run("a", "first", session=session)
        await runtime.run("a", "second", session=session)
        # The second run saw the first; what both made is in the SDK's session and nowhere in ours.
        assert [message.text for message in model.requests[1].messages] == [
            *("Help.", "first", "answer to first", "second")
        ]
        assert [item["content"] for item in await session.get_items()] == [
            *("first", "answer to first", "second", "answer to second")
        ]
        assert await runtime.store.scored(runtime.store.keys.threads) == []
    await session.engine.dispose()
