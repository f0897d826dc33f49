"""Serving one run on a host: what turns with and without a session have in common."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestra.core.agent import Limits
from orchestra.core.errors import InputError, LimitReached, OrchestraError
from orchestra.core.events import RunEvent
from orchestra.core.jsontext import loads
from orchestra.core.messages import Meta
from orchestra.core.model import Usage
from orchestra.core.result import RunResult
from orchestra.core.workspaces import workspace_folder
from orchestra.memory.state import StateValues
from orchestra.memory.workspace import opened_folder
from orchestra.runtime.agent_lookup import AgentLookup
from orchestra.runtime.caches import CachedAgent
from orchestra.runtime.child_runs import ChildRuns
from orchestra.runtime.definition import Loaded
from orchestra.runtime.first_agents import input_guardrails
from orchestra.runtime.guardrails import GuardrailTripped, RunGuardrails
from orchestra.runtime.handoff_tool import give_handoffs
from orchestra.runtime.hooks import HookContext, HookedEdits, Hooks
from orchestra.runtime.journal import Journal
from orchestra.runtime.kinds import kind_named
from orchestra.runtime.lone_turn import run_alone
from orchestra.runtime.prompt import Prompt
from orchestra.runtime.questions import Questions
from orchestra.runtime.request import RunRequest
from orchestra.runtime.run_archive import RunArchive
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.session_turn import SessionTurn
from orchestra.runtime.tool_calls import ToolCalls, notify_edits
from orchestra.runtime.turn import Outcome, Turn, Work
from orchestra.runtime.turn_context import CancelMode, TurnContext, tools_for
from orchestra.store.run_store import RunStore

if TYPE_CHECKING:
    from orchestra.runtime.host import Host


class Serving:
    """One run on this host. Owner: the host's event loop."""

    def __init__(
        self, host: Host, request: RunRequest, invocation_state: Sealed | None, emit: Callable[[RunEvent], None] | None
    ) -> None:
        self.host, self.request, self.invocation_state = host, request, invocation_state
        self.emit, self.listened = emit or _unheard, emit is not None
        self.agent = AgentLookup(host, request)
        # What the server has confirmed for the run above, when that is served here too and has no session.
        above = host.serving_of(request.parent) if request.session_id is None and request.parent else None
        self.checked: dict[str, CachedAgent] = {} if above is None else above.checked
        self._context: TurnContext | None = None
        self._work: asyncio.Task[Outcome] | None = None
        self._checking: asyncio.Task[None] | None = None
        self.cancelled = False
        self.queued = asyncio.current_task()  # until it is this run's turn on this host
        self.withdrawn = False

    def cancel(self, mode: CancelMode = "now") -> None:
        """Stop it; the turn is committed as aborted, or, when it has not begun, not at all."""
        if mode == "after_step" and self._work is not None and self._context is not None:
            self._context.finishing.set()
            return
        self.cancelled = True
        if self.queued is not None and not self.withdrawn:
            self.withdrawn = True
            self.queued.cancel()
        if self._context is not None:
            self._context.cancelled = True
        for task in (self._work, self._checking):
            if task is not None:
                task.cancel()

    @property
    def used(self) -> Mapping[str, Usage]:
        """What the run has used so far, by agent."""
        return {} if self._context is None else self._context.usage_by_agent

    async def run(self) -> RunResult:
        """Serve it. Raises what concerns the call (unknown agent, busy session); how the turn went is in the result."""
        try:
            if self.request.session_id is None:
                return await run_alone(self)
            return await SessionTurn(self).run()
        finally:
            # In one step with this the run above counts what was used, so nothing is counted twice or not at all.
            if self._context is not None and self._context.above is not None:
                self._context.above.running.pop(self.request.run_id, None)

    def not_begun(self) -> RunResult:
        """The result of a run that was cancelled while it waited for its session: nothing of it is stored."""
        request = self.request
        return RunResult(
            request.run_id, "cancelled", reason="cancelled", session_id=request.session_id, host=self.host.id
        )

    def may_refuse(self, loaded: Loaded) -> bool:
        """Whether anybody looks at the input: only at that of a whole run, and when it begins."""
        whole = self.request.lineage is None and not self.request.ending and not self.request.carried
        return whole and bool(loaded.guardrails.input or loaded.kind)

    async def refused(self, loaded: Loaded) -> RunResult | None:
        """The result of a run whose input a guardrail keeps out: nothing of it is stored. ``None``: it may begin.

        A stored run was let in when it began, so one that goes on, or has ended, is not judged a second time.
        """
        request = self.request
        guardrails = await input_guardrails(self, loaded)
        if not guardrails or await self._let_in():
            return None
        seconds = _tightest(loaded.agent.limits, request.limits, None).seconds
        self._checking = asyncio.ensure_future(_all_pass(guardrails, seconds))
        ended = replace(self.not_begun(), last_agent=request.agent)
        try:
            await self._checking
        except GuardrailTripped as no:
            tripped = (no.result,)
            return replace(ended, status="failed", reason="guardrail", error=str(no.result), guardrail_results=tripped)
        except TimeoutError:
            error = str(LimitReached("seconds", seconds or 0))
            return replace(ended, status="limit", reason="seconds", error=error)
        except asyncio.CancelledError:
            if self.cancelled and not asyncio.current_task().cancelling():  # type: ignore[union-attr]
                return self.not_begun()
            raise
        finally:
            self._checking = None
        return None

    async def _let_in(self) -> bool:
        """Whether this very run is stored. Under an id that is taken, another input is still judged."""
        request = self.request
        if request.session_id is None or (run := await RunStore(self.host.store).get(request.run_id)) is None:
            return False
        asked = [message.to_json() for message in request.input]
        return run.status == "ended" or (bool(run.request) and loads(run.request)["messages"] == asked)

    async def watched(self, turn: Work) -> tuple[Outcome, bool]:
        """Let the turn work; (its outcome, whether the caller has gone). A caller that goes cancels the turn."""
        self._work = asyncio.ensure_future(turn.work())
        # Cancelled while the server was asked for the lease: `SessionTurn._ask` waits on then, the count tells here.
        gone = asyncio.current_task().cancelling() > 0  # type: ignore[union-attr]
        if self.cancelled or gone:
            turn.context.cancelled = True
            self._work.cancel()
        try:
            return await asyncio.shield(self._work), gone
        except asyncio.CancelledError:
            turn.context.cancelled = True
            self._work.cancel()
            done = await asyncio.gather(self._work, return_exceptions=True)
            if isinstance(done[0], Outcome):
                return done[0], asyncio.current_task().cancelling() > 0  # type: ignore[union-attr]
            if isinstance(done[0], OrchestraError):
                raise done[0] from None
            return Outcome("cancelled", "cancelled"), asyncio.current_task().cancelling() > 0  # type: ignore[union-attr]

    def make(
        self,
        loaded: Loaded,
        blocks: RunBlocks,
        state: StateValues,
        prompt: Prompt,
        calls: int,
    ) -> TurnContext:
        """What the turn works with. Raises :class:`InputError` for limits that this version does not know."""
        request = self.request
        tools, specs = tools_for(loaded, writable=blocks.writable(), stored=request.session_id is not None)
        hook_context = HookContext(request.agent, request.run_id, request.session_id, request.user_id, state.view(), {})
        now = time.time()
        context = TurnContext(
            request=request,
            loaded=loaded,
            tools=tools,
            specs=specs,
            blocks=blocks,
            hooks=Hooks(() if request.ending else loaded.hooks, hook_context, self.invocation_state),
            limits=_tightest(loaded.agent.limits, request.limits, request.left),
            prompt=prompt,
            calls_before=calls,
            emit=self.emit,
            cancelled=self.cancelled,
            archive=self._archive(loaded, blocks).of_call,
            open_workspace=partial(self._workspace, loaded),
            output=loaded.output,
            guardrails=RunGuardrails(
                *(loaded.guardrails, request, self.invocation_state),
                answering=request.lineage is None or request.answering,
            ),
            questions=Questions(request.run_id, request.agent, request.answers, frozenset(request.approved), open=True),
        )
        meta = Meta(agent=request.agent, run=request.run_id, created_at=now)
        context.messages.extend(message.with_meta(meta) for message in request.input)
        notify_edits(context)
        if loaded.hooks and not request.ending:
            blocks.hooks = HookedEdits(context.hooks)
        give_handoffs(context)
        above = self.host.serving_of(request.parent) if request.parent else None
        if above is not None and above._context is not None:
            context.above = above._context
            context.above.running[request.run_id] = context
        self._context = context
        return context

    async def _workspace(self, loaded: Loaded) -> Path | None:
        """The agent's folder, made when it is not there.

        A restore that was killed before it had swapped the files in is finished here, where the lease keeps every other
        run and restore of this session away.
        """
        if loaded.agent.workspace is None:
            return None
        folder = workspace_folder(loaded.agent.workspace, self.request.session_id)
        if folder is not None and self.request.session_id is not None:
            await self.host.snapshots.settle(self.request.thread, folder)
        return None if folder is None else await opened_folder(folder)

    def _archive(self, loaded: Loaded, blocks: RunBlocks) -> RunArchive:
        request = self.request
        return RunArchive(
            self.host.passages,
            *(request.agent, request.run_id, request.session_id, request.user_id),
            loaded.agent.recall_scope or "user",
            blocks.sources,
        )

    def tools(self, context: TurnContext, journal: Journal, state: StateValues, resumed: bool) -> ToolCalls:
        """What runs the turn's tools."""
        children = self.children(context, journal)
        return ToolCalls(context, journal, state, self.invocation_state, self.host.resources.get, resumed, children)

    def work(self, context: TurnContext, journal: Journal, state: StateValues, resumed: bool) -> Work:
        """What the run does: a turn of an agent, or the run of another kind of runnable."""
        if context.loaded.kind:
            return kind_named(context.loaded.kind).work(self, context, journal, state, resumed)
        return Turn(context, journal, self.tools(context, journal, state, resumed))

    def children(self, context: TurnContext, journal: Journal) -> ChildRuns:
        """What makes the runs below this one."""
        ttl = context.loaded.agent.conversation.ttl
        return ChildRuns(self.host, context, self.invocation_state, journal.durable, ttl, self.listened)


def _tightest(agent: Limits, run: Limits | None, left: Limits | None) -> Limits:
    """Limits of the run where it names any, else those of the agent; never more than is left of those above it."""
    given = {} if run is None else {name: getattr(run, name) for name in run.model_fields_set}
    limits = agent.model_copy(update=given) if given else agent
    for name in () if left is None else left.model_fields_set:
        both = [value for value in (getattr(limits, name), getattr(left, name)) if value is not None]
        limits = limits.model_copy(update={name: min(both, default=None)})
    if limits.cost is not None:
        raise InputError("limits.cost: this version knows no prices; use limits.tokens")
    return limits


async def _all_pass(guardrails: Sequence[RunGuardrails], seconds: float | None) -> None:
    """All look at the input, one after the other. Raises :class:`GuardrailTripped`, :class:`TimeoutError`."""
    async with asyncio.timeout(seconds):
        for one in guardrails:
            await one.input()


def _unheard(_: RunEvent) -> None:
    """Nobody listens."""
