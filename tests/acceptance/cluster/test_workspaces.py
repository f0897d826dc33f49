"""A workspace on Ray: a tool writes on a host, the program keeps and brings back, the host goes on with that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestra import Agent, Runtime, ToolContext
from orchestra.testing import ScriptedModel, call, reply

pytestmark = pytest.mark.ray


async def save(text: str, ctx: ToolContext) -> str:
    """Add to the file; the whole file comes back."""
    assert ctx.workspace is not None
    with (ctx.workspace / "lines").open("a") as file:
        file.write(text)
    return (ctx.workspace / "lines").read_text()


async def test_log_and_files_come_back_on_every_host(config: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    model = ScriptedModel([part for text in "abc" for part in (reply(calls=[call("save", text=text)]), reply("ok"))])
    async with Runtime.start(config(primary=2)) as runtime:
        await runtime.register(Agent(name="a", model=model, tools=(save,), workspace=str(tmp_path / "work")))
        for _ in range(2):
            await runtime.run("a", "go", session_id="s")
            if not await runtime.snapshots("s"):
                snapshot = await runtime.snapshot("s")
        assert (tmp_path / "work/lines").read_text() == "ab"
        await runtime.restore(snapshot)
        result = await runtime.run("a", "go", session_id="s")
        assert [message.text for message in result.messages if message.role == "tool"] == ["ab"]
