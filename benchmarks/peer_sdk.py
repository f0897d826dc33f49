"""The runs in the OpenAI Agents SDK: ``Runner``, handoffs, agents as tools; its SQLite sessions as its persistence.

It has no graph of its own: nodes are runs that a program starts together or one after the other, as its documentation
does it, each with a session of its own where something is stored.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents import set_tracing_disabled as disable_tracing
from agents.testing import assistant_message, function_call

from benchmarks.shapes import DONE, MESSAGE, TASK, Prepared, Shape

CONFIG = RunConfig(tracing_disabled=True)
MAX_TURNS = 10_000
CALL_IDS = itertools.count()
disable_tracing(True)


@function_tool
async def note(text: str) -> str:
    """Note something."""
    return f"noted: {text}"


class Scripted(Model):
    """Asks for ``tool`` as often as ``times`` says, then answers. At once."""

    def __init__(self, tool: str = "", arguments: str = "{}", times: int = 0) -> None:
        self._call, self._left, self.calls = (tool, arguments), times, 0

    async def get_response(self, *_: object, **__: object) -> ModelResponse:
        """One reply."""
        self.calls += 1
        if self._left > 0:
            self._left -= 1
            output = function_call(*self._call, call_id=f"c{next(CALL_IDS)}")
        else:
            output = assistant_message(DONE)
        return ModelResponse([output], Usage(requests=1, input_tokens=10, output_tokens=1, total_tokens=11), None)

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[Any]:
        """Nothing here streams."""
        raise NotImplementedError


class Sdk:
    """With ``folder``: each run (or node) with a ``SQLiteSession`` in a file there."""

    def __init__(self, folder: Path | None) -> None:
        self.name = "Agents SDK" if folder is None else "Agents SDK, SQLite"
        self._file = None if folder is None else folder / "sdk.db"

    def model_calls(self, shape: Shape) -> int:
        """How many a run has: a handoff ends a turn."""
        return shape.nodes + shape.calls

    def prepare(self, shape: Shape, number: int) -> Prepared:
        """One run."""
        sessions: dict[str, SQLiteSession] = {}
        models: list[Scripted] = []

        def session(node: str) -> SQLiteSession | None:
            if self._file is None:
                return None
            made = sessions[node] = SQLiteSession(f"{shape.title}-{number}-{node}", self._file)
            return made

        def model(tool: str = "", arguments: str = "{}", times: int = 0) -> Scripted:
            models.append(Scripted(tool, arguments, times))
            return models[-1]

        async def one(agent: Agent[None], text: str, kept: SQLiteSession | None) -> str:
            result = await Runner.run(agent, text, session=kept, run_config=CONFIG, max_turns=MAX_TURNS)
            return str(result.final_output)

        if shape.kind in ("graph", "chain"):
            names = [f"n{i}" for i in range(shape.nodes)]
            agents = [Agent[None](name=name, instructions="Work.", model=model()) for name in names]
            kept = [session(name) for name in names]

            async def run() -> str:
                if shape.kind == "chain":
                    text = TASK
                    for agent, own in zip(agents, kept, strict=True):
                        text = await one(agent, text, own)
                    return text
                parts = await asyncio.gather(*(one(a, TASK, s) for a, s in zip(agents[:-1], kept[:-1], strict=True)))
                joined = "\n".join(f"{name}: {part}" for name, part in zip(names, parts, strict=False))
                return await one(agents[-1], f"{TASK}\n{joined}", kept[-1])
        else:
            first = {"swarm": self._swarm, "child": self._child, "tools": self._tools}[shape.kind](shape, model)
            own = session("run")

            async def run() -> str:
                return await one(first, TASK, own)

        async def counted() -> tuple[str, int]:
            return await run(), sum(made.calls for made in models)

        def close() -> None:
            for made in sessions.values():
                made.close()

        return Prepared(counted, close)

    def _swarm(self, shape: Shape, model: Any) -> Agent[None]:
        agent = Agent[None](name=f"a{shape.count}", instructions="Work.", model=model())
        for i in range(shape.count - 1, -1, -1):
            handing = model(f"transfer_to_a{i + 1}", "{}", 1)
            agent = Agent[None](name=f"a{i}", instructions="Work.", model=handing, handoffs=[agent])
        return agent

    def _child(self, _: Shape, model: Any) -> Agent[None]:
        child = Agent[None](name="child", instructions="Work.", model=model())
        tool: FunctionTool = child.as_tool(
            tool_name="child", tool_description="Looks things up.", run_config=CONFIG, max_turns=MAX_TURNS
        )
        asks = model("child", f'{{"input": "{MESSAGE}"}}', 1)
        return Agent[None](name="parent", instructions="Work.", model=asks, tools=[tool])

    def _tools(self, shape: Shape, model: Any) -> Agent[None]:
        return Agent[None](
            name="noting", instructions="Work.", model=model("note", '{"text": "x"}', shape.count), tools=[note]
        )
