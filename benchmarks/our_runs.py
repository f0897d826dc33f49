"""The runs in Orchestra: one runtime for all of them, every definition registered once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from benchmarks.shapes import DONE, MESSAGE, SHAPES, TASK, Prepared, Shape
from orchestra import Agent, Graph, Limits, Runtime, Swarm, tool
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from orchestra.core.runnable import Runnable


@tool
async def note(text: str) -> str:
    """Note something."""
    return f"noted: {text}"


class Scripted:
    """Asks for ``name`` as often as ``times`` says, then answers. At once."""

    def __init__(self, name: str = "", arguments: Mapping[str, Json] | None = None, times: int = 0) -> None:
        self._tool, self._arguments, self._times = name, arguments or {}, times

    @property
    def name(self) -> str:
        """For people."""
        return "scripted"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelReply]:
        """One reply."""
        usage, number = Usage(10, 1), request.call_number
        if number < self._times:
            call = ToolCall(f"c{number}", self._tool, self._arguments)
            yield ModelReply(Message("assistant", "", (call,)), usage, "tool_calls")
        else:
            yield Delta(DONE)
            yield ModelReply(Message("assistant", DONE), usage)


def runnable_of(shape: Shape) -> Runnable:
    """The definition, with names of its own."""
    mark = f"{shape.kind}-{shape.count}"

    def agent(name: str, model: Scripted | None = None, tools: tuple[object, ...] = ()) -> Agent:
        return Agent(
            name=f"{mark}-{name}",
            model=model or Scripted(),
            tools=tools,  # type: ignore[arg-type]
            description="Does its part of the work.",
            instructions="Work.",
            limits=Limits(model_calls=None),
        )

    if shape.kind == "swarm":
        hands = [
            Scripted("handoff_to_agent", {"agent_name": f"{mark}-a{i + 1}", "message": MESSAGE}, 1)
            for i in range(shape.count)
        ]
        agents = [agent(f"a{i}", model) for i, model in enumerate([*hands, Scripted()])]
        return Swarm(mark, agents=agents)
    if shape.kind in ("graph", "chain"):
        names = [f"n{i}" for i in range(shape.nodes)]
        nodes = {name: agent(name) for name in names}
        edges = [(name, names[i + 1] if shape.kind == "chain" else names[-1]) for i, name in enumerate(names[:-1])]
        return Graph(mark, nodes=nodes, edges=edges)
    if shape.kind == "child":
        child = agent("child")
        return agent("parent", Scripted(f"{mark}-child", {"input": MESSAGE}, 1), (child.as_tool(),))
    return agent("noting", Scripted("note", {"text": "x"}, shape.count), (note,))


class Ours:
    """``stored``: each run with a new session, journaled and committed; else without a session."""

    def __init__(self, name: str, runtime: Runtime, *, stored: bool) -> None:
        self.name, self._runtime, self._stored = name, runtime, stored

    @staticmethod
    async def register(runtime: Runtime) -> None:
        """All that can be run."""
        await runtime.register(*map(runnable_of, SHAPES))

    def model_calls(self, shape: Shape) -> int:
        """How many a run has: a handoff ends a turn."""
        return shape.nodes + shape.calls

    def prepare(self, shape: Shape, number: int) -> Prepared:
        """A run of its own, with a new session where there are sessions."""
        name = f"{shape.kind}-{shape.count}" + {"child": "-parent", "tools": "-noting"}.get(shape.kind, "")
        session = f"bench-{number}" if self._stored else None

        async def run() -> tuple[str, int]:
            result = await self._runtime.run(name, TASK, session_id=session)
            return str(result.output), result.usage.model_calls

        return Prepared(run)
