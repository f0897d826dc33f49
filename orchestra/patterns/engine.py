"""The one engine of swarms and graphs: starts what is ready, keeps each result, ends with everything ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, cast

from orchestra.core.errors import Fenced, StoreUnavailable
from orchestra.core.jsontext import Json, fault
from orchestra.patterns.outcome import PatternOutcome
from orchestra.patterns.planning import Planner, Stop
from orchestra.patterns.visits import NODE_TIMEOUT, NodeResult, Settlement, Visit, interrupt_id, split_key

RunNode: TypeAlias = Callable[[Visit], Awaitable[NodeResult]]


@dataclass(frozen=True, slots=True)
class NodeStart:
    """A visit starts."""

    visit: Visit


@dataclass(frozen=True, slots=True)
class NodeEnd:
    """A visit ended; its result is kept. ``seconds`` by the clock; 0 when ``replayed`` from an earlier process."""

    node: str
    number: int
    item: int | None
    result: NodeResult
    seconds: float
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's answer about a visit that needs an approval."""

    approved: bool
    reason: str = ""


class Checkpoints(Protocol):
    """Where the settlements of a run are kept, in the order in which they were written."""

    def known(self) -> Sequence[Json]:
        """The settlements of earlier processes of this run, in their order."""

    async def write(self, name: str, value: Json) -> None:
        """Keep a settlement. ``name`` is unique in the run; when this returns, it outlives this process.

        Raises:
            Fenced, StoreUnavailable: this process may not, or cannot, go on with the run.
        """


async def execute(
    planner: Planner,
    run_node: RunNode,
    checkpoints: Checkpoints,
    *,
    run_id: str,
    max_concurrency: int | None = None,
    node_timeout: float | None = None,
    execution_timeout: float | None = None,
    approval: Callable[[Visit], Approval | None] | None = None,
    finish: asyncio.Event | None = None,
    emit: Callable[[NodeStart | NodeEnd], None] | None = None,
    fatal: tuple[type[Exception], ...] = (Fenced, StoreUnavailable),
) -> PatternOutcome:
    """Run ``planner``'s visits with ``run_node`` to the end of the run, and tell what it came to.

    A visit starts as soon as it is ready, at most ``max_concurrency`` at a time. Each result is written before anything
    follows from it. What ``run_node`` raises is the failure of that node. Timeouts are in seconds; a visit that is over
    its time is cancelled and waited for. After an interrupt nothing new starts, and what runs is waited for and kept.
    Setting ``finish`` is the gentle way to cancel: what runs is waited for, nothing new starts.

    When this returns or raises, nothing that it started is running.

    Args:
        emit: Is called at each start and end. It must not raise.
        approval: The answer for a visit that is ``gated``; ``None`` as answer, or no function: the run is interrupted.
        fatal: Errors of ``run_node`` that are no node's failure: this process cannot go on with the run.

    Raises:
        InputError: the checkpoints do not fit the planner.
        CancelledError: the caller was cancelled; all visits were cancelled and have ended.
        Exception: what writing a checkpoint raised, or one of ``fatal``.
    """
    execution = _Execution(planner, run_node, checkpoints, run_id, node_timeout, approval, emit or _silent, fatal)
    execution.replay()
    return await execution.run(max_concurrency, execution_timeout, finish)


def _silent(_: NodeStart | NodeEnd) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A visit ended: with its result, or with an error that ends this process's part of the run."""

    visit: Visit
    result: NodeResult | Exception
    seconds: float


class _Execution:
    """One call of :func:`execute`. Owns the tasks of the visits that run."""

    def __init__(
        self,
        planner: Planner,
        run_node: RunNode,
        checkpoints: Checkpoints,
        run_id: str,
        node_timeout: float | None,
        approval: Callable[[Visit], Approval | None] | None,
        emit: Callable[[NodeStart | NodeEnd], None],
        fatal: tuple[type[Exception], ...],
    ) -> None:
        self.planner, self.run_node, self.checkpoints, self.run_id = planner, run_node, checkpoints, run_id
        self.node_timeout, self.approval, self.emit, self.fatal = node_timeout, approval, emit, fatal
        self.waiting: deque[Visit] = deque()
        self.running: dict[str, asyncio.Task[None]] = {}
        self.news: asyncio.Queue[_Ended | Stop] = asyncio.Queue()
        self.unsettled: list[tuple[Visit, NodeResult]] = []
        self.stop: Stop | None = None

    def replay(self) -> None:
        """Bring the planner to where the earlier processes left the run."""
        for value in self.checkpoints.known():
            settlement = Settlement.from_json(cast("dict[str, Json]", value))
            self.planner.settled(settlement)
            self.emit(NodeEnd(*split_key(settlement.visit), settlement.result, 0.0, replayed=True))

    async def run(
        self, max_concurrency: int | None, execution_timeout: float | None, finish: asyncio.Event | None
    ) -> PatternOutcome:
        """Start, settle, and so on, until nothing runs."""
        problem: Exception | None = None
        clock: asyncio.TimerHandle | None = None
        if execution_timeout is not None:
            # News like any other rather than a cancellation: that could hit a write, whose outcome nobody would know.
            over = Stop("limit", "execution_timeout", f"the run took longer than {execution_timeout:g} s")
            clock = asyncio.get_running_loop().call_later(execution_timeout, self.news.put_nowait, over)
        try:
            async with asyncio.TaskGroup() as group:
                watcher = group.create_task(self._watch(finish)) if finish is not None else None
                try:
                    await self._loop(group, max_concurrency)
                except Exception as error:  # the group would wrap it in another one
                    problem = error
                for task in (*self.running.values(), *([watcher] if watcher else [])):
                    task.cancel()
        finally:
            if clock is not None:
                clock.cancel()
        if problem is not None:
            raise problem
        await self._keep_the_rest()
        return self.planner.outcome(self.unsettled, self._why())

    async def _loop(self, group: asyncio.TaskGroup, max_concurrency: int | None) -> None:
        while True:
            self.waiting.extend(self.planner.ready())
            if any(stop is not None and stop.running == "cancel" for stop in (self.stop, self.planner.stop)):
                return
            full = max_concurrency is not None and len(self.running) >= max_concurrency
            if self.waiting and self.stop is None and not full:
                await self._start(self.waiting.popleft(), group)
            elif self.running:
                news = await self.news.get()
                if isinstance(news, Stop):
                    self._hold(news)
                else:
                    del self.running[news.visit.key]
                    await self._take(news)
            else:
                return

    async def _start(self, visit: Visit, group: asyncio.TaskGroup) -> None:
        verdict = visit.verdict
        if visit.gated:
            answer = self.approval(visit) if self.approval is not None else None
            if answer is None:
                self._interrupted(visit, NodeResult("interrupted", interrupts=(asked(self.run_id, visit),)))
                return
            if not answer.approved:
                verdict = NodeResult("failed", "rejected", answer.reason or "it was not approved")
        if verdict is not None:
            self.emit(NodeStart(visit))
            await self._take(_Ended(visit, verdict, 0.0))
        else:
            self.running[visit.key] = group.create_task(self._visit(visit), name=visit.key)

    async def _visit(self, visit: Visit) -> None:
        """Run one visit. Whatever happens is told in ``news``, unless it was cancelled before its first step."""
        self.emit(NodeStart(visit))
        loop = asyncio.get_running_loop()
        began = loop.time()
        result: NodeResult | Exception
        try:
            async with asyncio.timeout(self.node_timeout) as clock:
                result = await self.run_node(visit)
            if result.status == "cancelled":
                result = replace(result, status="failed", reason=result.reason or "cancelled")
            elif (bad := fault(result.output, "output")) is not None:
                result = replace(result, status="failed", reason="output", error=f"{bad[0]}: {bad[1]}", output=None)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                self.news.put_nowait(_Ended(visit, NodeResult("cancelled", "cancelled"), loop.time() - began))
                raise
            result = NodeResult("failed", "cancelled", "what ran in the node was cancelled")
        except self.fatal as error:
            result = error
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit too, which a library raises for wrong arguments: it ends no host
            if isinstance(error, TimeoutError) and clock.expired():
                result = NodeResult("failed", NODE_TIMEOUT, f"it took longer than {self.node_timeout:g} s")
            else:
                result = NodeResult("failed", "error", f"{type(error).__name__}: {error}")
        self.news.put_nowait(_Ended(visit, result, loop.time() - began))

    async def _take(self, ended: _Ended) -> None:
        """Keep a result, and go on from it. Raises the error of a visit that has none."""
        visit, result = ended.visit, ended.result
        if isinstance(result, Exception):
            raise result
        if result.status == "interrupted":
            self._interrupted(visit, result)
        elif result.settles:
            settlement = self.planner.judge(visit, result)
            # One write at a time: the order in which they are kept is the order in which they were settled.
            await self.checkpoints.write(visit.key, settlement.to_json())
            self.planner.settled(settlement)
        else:
            self.unsettled.append((visit, result))
        self.emit(NodeEnd(visit.node, visit.number, visit.item, result, ended.seconds))

    async def _keep_the_rest(self) -> None:
        """After the last visit has ended: what ended in the meantime is kept too, and all approvals are asked for."""
        while not self.news.empty():
            news = self.news.get_nowait()
            if isinstance(news, _Ended):
                await self._take(news)
        why = self._why()
        if why is not None and why.status == "interrupted":
            for visit in self.waiting:
                if visit.gated and (self.approval is None or self.approval(visit) is None):
                    self._interrupted(visit, NodeResult("interrupted", interrupts=(asked(self.run_id, visit),)))

    async def _watch(self, finish: asyncio.Event) -> None:
        await finish.wait()
        self.news.put_nowait(Stop("cancelled", "cancelled", "the run was cancelled", "finish"))

    def _interrupted(self, visit: Visit, result: NodeResult) -> None:
        self.unsettled.append((visit, result))
        self._hold(Stop("interrupted", "interrupt", f"{visit.node!r} waits for an answer", "finish"))

    def _hold(self, stop: Stop) -> None:
        if self.stop is None or (self.stop.running == "finish" and stop.running == "cancel"):
            self.stop = stop

    def _why(self) -> Stop | None:
        """Why the run ends: what cancelled its visits before what only kept others from starting."""
        stops = [stop for stop in (self.stop, self.planner.stop) if stop is not None]
        why = next((stop for stop in stops if stop.running == "cancel"), stops[0] if stops else None)
        if why is not None and why.status == "cancelled" and not self.waiting and not self.unsettled:
            return self.planner.stop  # it had run to its end when it was cancelled
        return why


def asked(run_id: str, visit: Visit) -> dict[str, Json]:
    """The interrupt that asks whether a gated visit may run."""
    return {
        "id": interrupt_id(run_id, visit),
        "name": "approval",
        "reason": f"{visit.node!r} needs an approval before it runs",
        "agent": visit.runs,
        "tool": "",
        "arguments": {"input": visit.given.text},
        "kind": "approval",
        "node": visit.node,
    }
