"""Nodes whose end a test controls, and a journal in memory. Nothing here waits for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

from orchestra.core.errors import Fenced
from orchestra.core.graph import Edge, Graph
from orchestra.core.handoff import Handoff
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import Usage
from orchestra.core.swarm import Swarm
from orchestra.patterns.engine import execute
from orchestra.patterns.graph_plan import GraphPlan
from orchestra.patterns.outcome import PatternOutcome
from orchestra.patterns.planning import Planner
from orchestra.patterns.swarm_plan import SwarmPlan
from orchestra.patterns.visits import NodeResult, Visit

TASK = (Message("user", "the task"),)
Answer = Callable[[Visit], NodeResult]


def done(output: Json = None, *, calls: int = 1, agent: str = "") -> NodeResult:
    """A completed result; ``calls`` model calls of ``agent``."""
    usage = Usage(input_tokens=10 * calls, output_tokens=calls, model_calls=calls)
    text = output if isinstance(output, str) else dumps(output)
    return NodeResult(
        "completed", output=output, text=text, usage=usage, usage_by_agent={agent: usage} if agent else {}
    )


def failed(error: str = "broken", reason: str = "error") -> NodeResult:
    return NodeResult("failed", reason, error)


def handed(target: str, message: str = "go on", context: Json = None) -> NodeResult:
    return NodeResult("completed", handoff=Handoff(target, message, context), usage=Usage(model_calls=1))


def named(visit: Visit) -> NodeResult:
    """What a node gives unless a test says otherwise: its name and the number of the visit."""
    return done(f"{visit.node}{visit.number}" if visit.item is None else f"{visit.node}{visit.given.item}")


class Journal:
    """Settlements as JSON text, as a store would keep them. ``limit``: the process dies at that write."""

    def __init__(self, kept: Sequence[tuple[str, str]] = (), *, limit: int | None = None) -> None:
        self.kept = list(kept)
        self.limit = limit

    def known(self) -> Sequence[Json]:
        return [loads(text) for _, text in self.kept]

    async def write(self, name: str, value: Json) -> None:
        if self.limit is not None and len(self.kept) >= self.limit:
            raise Fenced("run")
        assert name not in [kept for kept, _ in self.kept], f"{name} was kept before"
        self.kept.append((name, dumps(value)))


class Stage:
    """Runs visits. Those in ``held`` (by key or node) end when :meth:`release` says so, the others at once."""

    def __init__(self, answers: Mapping[str, NodeResult | Answer] | None = None, held: Collection[str] = ()) -> None:
        self.answers, self.held = dict(answers or {}), set(held)
        self.visits: list[Visit] = []
        self.cancelled: list[str] = []
        self.running: set[str] = set()
        self._released: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    async def __call__(self, visit: Visit) -> NodeResult:
        self.visits.append(visit)
        self.running.add(visit.key)
        async with self._changed:
            self._changed.notify_all()
        try:
            if self.held & {visit.key, visit.node}:
                await self._gate(visit.key).wait()
            answer = self.answers.get(visit.key, self.answers.get(visit.node, named))
            return answer(visit) if callable(answer) else answer
        except asyncio.CancelledError:
            self.cancelled.append(visit.key)
            raise
        finally:
            self.running.discard(visit.key)

    @property
    def started(self) -> list[str]:
        return [visit.key for visit in self.visits]

    def text(self, key: str) -> str:
        """What the visit was given."""
        return next(visit.given.text for visit in self.visits if visit.key == key)

    def release(self, *keys: str) -> None:
        for key in keys:
            self._gate(key).set()

    async def until_started(self, *keys: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: set(keys) <= set(self.started))

    def _gate(self, key: str) -> asyncio.Event:
        return self._released.setdefault(key, asyncio.Event())


def graph(nodes: str, *edges: tuple[str, str] | Edge, **options: object) -> Graph:
    """A graph of one-letter nodes that are agents' names."""
    return Graph("g", nodes={name: f"agent-{name}" for name in nodes}, edges=edges, **options)  # type: ignore[arg-type]


def plan_of(pattern: Graph | Swarm) -> Planner:
    return GraphPlan(pattern, TASK) if isinstance(pattern, Graph) else SwarmPlan(pattern, TASK)


async def play(
    pattern: Graph | Swarm, stage: Stage | None = None, journal: Journal | None = None, **options: object
) -> PatternOutcome:
    """A run with the limits of the definition."""
    limits = {"node_timeout": pattern.node_timeout, "execution_timeout": pattern.execution_timeout}
    if isinstance(pattern, Graph):
        limits["max_concurrency"] = pattern.max_concurrency
    return await execute(
        plan_of(pattern),
        Stage() if stage is None else stage,
        Journal() if journal is None else journal,
        run_id="run",
        **{**limits, **options},  # type: ignore[arg-type]
    )
