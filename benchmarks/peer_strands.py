"""The runs in Strands Agents: its ``Swarm``, ``Graph`` and agents as tools; its file sessions as its persistence."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.agent import NullConversationManager
from strands.models.model import Model
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

from benchmarks.shapes import DONE, MESSAGE, TASK, Prepared, Shape


@tool
async def note(text: str) -> str:
    """Note something."""
    return f"noted: {text}"


class Scripted(Model):
    """Asks for ``name`` as often as ``times`` says, then answers. At once."""

    def __init__(self, name: str = "", arguments: object = None, times: int = 0) -> None:
        self._name, self._arguments, self._left, self.calls = name, json.dumps(arguments), times, 0

    def update_config(self, **_: Any) -> None:
        """There is nothing to set."""

    def get_config(self) -> dict[str, Any]:
        """A window that is never full."""
        return {"model_id": "scripted", "context_window_limit": 1_000_000}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Nothing here asks for it."""
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """One reply."""
        self.calls += 1
        yield {"messageStart": {"role": "assistant"}}
        if self._left > 0:
            self._left -= 1
            use = {"name": self._name, "toolUseId": f"c{self.calls}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": self._arguments}}}}
            stop = "tool_use"
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": DONE}}}
            stop = "end_turn"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}
        usage = {"inputTokens": 10, "outputTokens": 1, "totalTokens": 11}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}


class Strands:
    """With ``folder``: each run with a ``FileSessionManager`` there.

    Agents are made anew for each run, since they keep what was said. The whole history is shown to the model, as the
    others do it (by default it would show the last 40 messages).
    """

    def __init__(self, folder: Path | None) -> None:
        self.name = "Strands" if folder is None else "Strands, files"
        self._folder = folder

    def model_calls(self, shape: Shape) -> int:
        """How many a run has: whoever hands off is asked once more, for its last words."""
        return shape.nodes + shape.calls + (shape.count if shape.kind == "swarm" else 0)

    def prepare(self, shape: Shape, number: int) -> Prepared:
        """One run."""
        models: list[Scripted] = []
        manager = None
        if self._folder is not None:
            manager = FileSessionManager(f"{shape.kind}{shape.count}-{number}", str(self._folder))

        def agent(name: str, model: Scripted | None = None, **more: Any) -> Agent:
            models.append(model or Scripted())
            return Agent(
                name=name,
                agent_id=name,
                description="Does its part of the work.",
                model=models[-1],
                system_prompt="Work.",
                callback_handler=None,
                conversation_manager=NullConversationManager(),
                **more,
            )

        whole: Any
        if shape.kind == "swarm":
            hand = "handoff_to_agent"
            nodes = [
                agent(f"a{i}", Scripted(hand, {"agent_name": f"a{i + 1}", "message": MESSAGE}, 1))
                for i in range(shape.count)
            ]
            whole = Swarm([*nodes, agent(f"a{shape.count}")], session_manager=manager)
        elif shape.kind in ("graph", "chain"):
            builder = GraphBuilder()
            names = [f"n{i}" for i in range(shape.nodes)]
            for name in names:
                builder.add_node(agent(name), name)
            for i, name in enumerate(names[:-1]):
                builder.add_edge(name, names[i + 1] if shape.kind == "chain" else names[-1])
            for name in names[:1] if shape.kind == "chain" else names[:-1]:
                builder.set_entry_point(name)
            if manager is not None:
                builder.set_session_manager(manager)
            whole = builder.set_max_node_executions(shape.nodes).build()
        elif shape.kind == "child":
            child = agent("child").as_tool(description="Looks things up.")
            asks = Scripted("child", {"input": MESSAGE}, 1)
            whole = agent("parent", asks, tools=[child], session_manager=manager)
        else:
            noting = Scripted("note", {"text": "x"}, shape.count)
            whole = agent("noting", noting, tools=[note], session_manager=manager)

        async def run() -> tuple[str, int]:
            result = await whole.invoke_async(TASK, limits=None)
            if isinstance(whole, Agent):
                answer = str(result)
            else:
                order = result.node_history if shape.kind == "swarm" else result.execution_order
                answer = str(result.results[order[-1].node_id].result)
            return answer.strip(), sum(model.calls for model in models)

        return Prepared(run)
