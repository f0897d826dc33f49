"""Plays a scenario: its turns, the rest of them after an interrupted play, or its questions."""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Literal, TypeAlias

from orchestra.cluster.runtime import Runtime
from orchestra.cluster.scenario import progress as tell
from orchestra.cluster.scenario.context_use import ContextWatch
from orchestra.cluster.scenario.pass_watch import PassWatch, patience
from orchestra.cluster.scenario.passes import PassReport, with_diffs
from orchestra.cluster.scenario.progress import Part, Progress
from orchestra.cluster.scenario.report import PlayedTurn, PlayReport, checked
from orchestra.core.agent import Agent
from orchestra.core.blocks import BlockView
from orchestra.core.errors import HostUnavailable
from orchestra.core.events import RunEnded, RunEvent, TextDelta, ToolEnded
from orchestra.core.interrupts import InterruptView, Response
from orchestra.core.names import derived_id
from orchestra.core.result import RunResult
from orchestra.core.runnable import Runnable
from orchestra.core.swarm import Swarm
from orchestra.memory.session_list import delete_session
from orchestra.memory.sessions import Session
from orchestra.models.registry import describe_auto, resolve
from orchestra.runtime.resuming import prepared, stored_request
from orchestra.runtime.scenario_file import LoadedScenario
from orchestra.store.pass_store import PassStore
from orchestra.store.run_store import RunStore
from orchestra.store.thread_store import ThreadStore

HOST_TRIES = 5
Ask: TypeAlias = Callable[[Sequence[InterruptView]], Awaitable[Mapping[str, Response] | None]]


class ScenarioPlayer:
    """Plays one scenario on a runtime; ``tell`` gets what happens, as it happens. One :meth:`play` each.

    ``ask`` gives the answers when a run waits for some (``None``: leave it waiting, which ends the play).

    The runtime is an ordinary one: turns never wait for passes. It is this player that waits for a due pass before it
    sends the next turn, when the scenario says ``drain``.
    """

    def __init__(
        self, runtime: Runtime, loaded: LoadedScenario, *, tell: Callable[[Progress], None], ask: Ask | None = None
    ) -> None:
        self.runtime, self.loaded, self._tell, self._ask = runtime, loaded, tell, ask
        scenario = loaded.scenario
        self.agents: tuple[Agent, ...] = loaded.taking_part
        self.session = Session(runtime.store, scenario.session, scenario.run)
        self._threads, self._runs = ThreadStore(runtime.store), RunStore(runtime.store)
        self._passes = PassStore(runtime.store)
        self._played: list[PlayedTurn] = []
        self._anew: tuple[str, ...] = ()
        self._context = ContextWatch()

    async def play(self, *, fresh: bool = False) -> PlayReport:
        """Play what is left to play, and report.

        A session without turns gets all of them; one with some, as after a killed player, the rest; one with all of
        them gets the questions of ``follow_up``. ``fresh`` deletes the session, its blocks and the user's first.

        A run's id is derived from session, turn and attempt, so a turn that was sent by a player who died then is
        found, not repeated; so is one of a player who started over, by what it was asked.

        Raises:
            ModelNotConfigured: an agent names a provider that does not exist.
            OrchestraError: agents cannot be registered, or no host serves them. A turn that fails is no error here:
                the play ends, and the report says so.
        """
        started = time.monotonic()
        await asyncio.to_thread(self._check_models)  # before --fresh deletes anything
        await self.runtime.register(*self.loaded.agents, *self.loaded.patterns)
        if fresh:
            await self._forget()
            # The runs below the deleted session's runs are remembered for a day: the same ids would give their answers.
            self._anew = (uuid.uuid4().hex,)
        before = {report.id for report in await self._reports()}
        if self.loaded.template.dated:
            await self._keep_days()
        opened = await self._open()
        self._tell(opened)
        async with PassWatch(self.runtime.store, self.session.thread, tell=self._tell) as passes:
            failure = await self._part(passes, opened.part, opened.played)
            await self._drain(passes, opened.played + len(self._played))
        return await self._report(opened, before, failure, time.monotonic() - started)

    def _check_models(self) -> None:
        for agent in self.loaded.agents:
            resolve(agent.model)

    # --- before and after -----------------------------------------------------------------------------------------

    async def _forget(self) -> None:
        turns = await self.session.turn()
        if held_by := (await self._threads.head(self.session.thread)).get("held_by"):
            await self.runtime.cancel(held_by)  # else it would wait for an answer that nobody can give any more
        gone = await delete_session(
            self.runtime.store, self.session, user_id=self.loaded.scenario.user, scopes=("session", "user")
        )
        if turns or gone:
            self._tell(tell.Forgotten(self.session.session_id, turns, tuple(gone)))

    async def _keep_days(self) -> None:
        """The session of a day is closed when the day is over, and those of the days before now."""
        scenario, template = self.loaded.scenario, self.loaded.template
        await self.runtime.open_session(
            template.text, scenario.run, user_id=scenario.user, time_zone=template.time_zone
        )

    async def _open(self) -> tell.Opened:
        scenario, played, count = self.loaded.scenario, await self.session.turn(), len(self.loaded.turns)
        part: Part = "turns" if played == 0 else "rest"
        if played >= count:
            part = "follow_up" if scenario.follow_up else "nothing"
        return tell.Opened(
            part,
            *(scenario.run, scenario.session, scenario.user, models_of(self.agents), played, count),
            len(scenario.follow_up),
            self.loaded.warnings,
            _kind(self.loaded.runnable),
        )

    async def _report(self, opened: tell.Opened, before: set[str], failure: str, seconds: float) -> PlayReport:
        scenario, blocks = self.loaded.scenario, await self._blocks()
        passes = [
            report if report.id in before else await with_diffs(report, self.runtime.blocks)
            for report in await self._reports()
        ]
        checks = checked(
            scenario.expect, turns=self._played, passes=passes, blocks=blocks, played=await self.session.turn()
        )
        new = frozenset(report.id for report in passes) - before
        return PlayReport(
            *(self.loaded, opened, tuple(self._played), tuple(passes), new, tuple(blocks), checks, seconds, failure),
            context=self._context.use(),
        )

    async def _reports(self) -> list[PassReport]:
        return [PassReport.from_text(text) for text in await self._passes.reports(self.session.thread)]

    async def _blocks(self) -> list[BlockView]:
        user, session = self.loaded.scenario.user, self.loaded.scenario.session
        found: dict[str, BlockView] = {}
        for agent in self.agents:
            blocks = await self.runtime.blocks.list(agent=agent.name, user_id=user, session_id=session)
            # Of the others only what can change: their notes are no news.
            shown = (block for block in blocks if agent.name == self.loaded.scenario.run or not block.read_only)
            found |= {block.id: block for block in shown}
        return list(found.values())

    # --- turns ----------------------------------------------------------------------------------------------------

    async def _part(self, passes: PassWatch, part: Part, played: int) -> str:
        """Play the turns of ``part``; why it ended early, or ``""``."""
        scenario = self.loaded.scenario
        if part == "nothing":
            return ""
        if part == "follow_up":
            texts: list[tuple[str, str | None]] = [(text, None) for text in scenario.follow_up]
        else:
            texts = [(turn.content, turn.at) for turn in self.loaded.turns]
        # A pass may still be due from a play that was interrupted.
        if scenario.drain:
            await self._drain(passes, played)
        for position, (text, at) in enumerate(texts, 1):
            if part != "follow_up" and position <= played:
                continue
            turn = await self.session.turn() + 1
            start = tell.TurnStarted(turn, position, len(texts), text, at, part == "follow_up")
            self._tell(start)
            ended = await self._turn(start)
            self._played.append(PlayedTurn(start, ended))
            self._tell(ended)
            if ended.result.status != "completed":
                asked = ", ".join(one.node or one.tool or one.name for one in ended.result.interrupts)
                why = asked or ended.result.error or ended.result.reason
                return f"turn {turn} {_ended(ended.result)}" + (f": {why}" if why else "")
            if scenario.drain:
                await self._drain(passes, turn)
        return ""

    async def _turn(self, start: tell.TurnStarted) -> tell.TurnEnded:
        run_id, began = await self._run_id(start.turn, start.text), time.monotonic()
        for attempt in itertools.count(1):
            try:
                result = await self._stream(start.text, run_id)
                return tell.TurnEnded(start.turn, result, time.monotonic() - began)
            except HostUnavailable:
                # The same run again: what is stored of it is found, so nothing happens twice.
                if attempt == HOST_TRIES:
                    raise
                await asyncio.sleep(0.5 * attempt)
        raise AssertionError("the loop above ends by itself")

    async def _stream(self, text: str, run_id: str) -> RunResult:
        scenario = self.loaded.scenario
        events = self.runtime.stream(
            scenario.run,
            text,
            session_id=scenario.session,
            user_id=scenario.user,
            invocation_state=scenario.invocation_state or None,
            limits=scenario.limits,
            run_id=run_id,
        )
        result = await self._told(run_id, events)
        while result.status == "interrupted" and result.interrupts and self._ask is not None:
            responses = await self._ask(result.interrupts)
            if responses is None:
                break
            ready = await prepared(self.runtime.store, run_id, responses, scenario.invocation_state or None)
            if isinstance(ready, RunResult):
                return ready
            result = await self._told(run_id, self.runtime.dispatcher.stream(*ready))
        return result

    async def _told(self, run_id: str, events: AsyncIterator[RunEvent]) -> RunResult:
        """The result of a run whose events are told as they come."""
        result: RunResult | None = None
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                self._tell(tell.RunHappened(run_id, event))
                self._context.see(event)
                if event.run_id != run_id:
                    continue
                if isinstance(event, TextDelta) and event.kind == "text":
                    self._tell(tell.AnswerText(event.text))
                elif isinstance(event, ToolEnded):
                    self._tell(tell.ToolUsed(event.tool, event.content, event.is_error))
                elif isinstance(event, RunEnded):
                    result = event.result
        if result is None:
            raise HostUnavailable("of the run", "the stream of events ended before the run did")
        return result

    async def _run_id(self, turn: int, text: str) -> str:
        """The id of the run that plays ``turn``: the same one for every player, until that run is of no use any more.

        A run that has ended although the session still lacks the turn has failed, or belongs to a session that was
        deleted meanwhile; so does one that still counts as running although its thread knows nothing of it. The next
        id is taken then. The run is looked at before the thread: when it is committed in between, the thread has the
        turn already, and the id stands, so that the caller gets the stored result.
        """
        for attempt in itertools.count():
            run_id = derived_id("scenario", self.session.thread, str(turn), str(attempt), *self._anew)
            run = await self._runs.get(run_id)
            head = await self._threads.head(self.session.thread)
            if run is None:
                return await self._sent_by_another(head, turn, text) or run_id
            mine = run_id in (head.get("run"), head.get("held_by"))
            if int(head.get("turn", 0)) >= turn or (run.status != "ended" and mine):
                return run_id
        raise AssertionError("the loop above ends by itself")

    async def _sent_by_another(self, head: Mapping[str, str], turn: int, text: str) -> str | None:
        """The run of this turn that is under way, or waits, under an id that a player who started over has chosen."""
        current = head.get("run") or head.get("held_by")
        if not current or int(head.get("turn", 0)) >= turn:
            return None
        run = await self._runs.get(current)
        if run is None or run.status == "ended" or run.parent:
            return None
        return current if [message.text for message in stored_request(run).input] == [text] else None

    async def _drain(self, passes: PassWatch, turn: int) -> None:
        if self.runtime.config.hosts.sleeptime:  # else nobody here does passes
            sleeptime = next((agent.sleeptime for agent in self.agents if agent.name == self.loaded.scenario.run), None)
            await passes.drain(turn, seconds=patience(sleeptime))


def models_of(agents: Sequence[Agent]) -> str:
    """Which models answer for agents; of ``auto``, what it stands for and why. Of several, who uses which."""
    found: dict[str, list[str]] = {}
    for agent in agents:
        found.setdefault(described(agent), []).append(agent.name)
    if len(found) == 1:
        return next(iter(found))
    users: dict[str, list[str]] = {}
    for name, names in found.items():
        short = "scripted" if name.startswith("scripted:") else name.partition(" (")[0]
        users.setdefault(short, []).extend(names)
    return "; ".join(f"{name}: {', '.join(names)}" if len(users) > 1 else name for name, names in users.items())


def described(agent: Agent) -> str:
    """Which model answers for an agent; of ``auto``, what it stands for and why."""
    model = agent.model
    if model == "auto":
        return describe_auto()
    parts = model if isinstance(model, tuple) else (model,)
    return ", else ".join(part if isinstance(part, str) else part.name for part in parts)


def _kind(runnable: Runnable) -> Literal["agent", "swarm", "graph"]:
    if isinstance(runnable, Swarm):
        return "swarm"
    return "agent" if isinstance(runnable, Agent) else "graph"


def _ended(result: RunResult) -> str:
    ended = {"failed": "failed", "cancelled": "was cancelled", "limit": "reached a limit"}
    return {**ended, "interrupted": "waits for an answer"}.get(result.status, f"ended as {result.status}")
