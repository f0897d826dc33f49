"""A turn in a session: taking the lease, the turn, the commit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from orchestra.context.view import TAIL_ENTRIES
from orchestra.core.agent import OnBusy
from orchestra.core.errors import DefinitionChanged, SessionBusy, SessionInterrupted
from orchestra.core.events import Interrupted, RunStarted
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps, loads
from orchestra.core.result import RunResult
from orchestra.core.tokens import message_tokens
from orchestra.memory.ended_sessions import forgotten_first
from orchestra.memory.sessions import message_text, readable
from orchestra.memory.state import StateValues
from orchestra.runtime.caches import CachedAgent, CachedThread
from orchestra.runtime.child_runs import CHILD_LIFE_SECONDS
from orchestra.runtime.definition_check import check_definition
from orchestra.runtime.journal import MARK, Journal, NoJournal, StartMark, StoredJournal
from orchestra.runtime.memory_flush import MemoryFlush
from orchestra.runtime.offloads import Offloads
from orchestra.runtime.prompt import Prompt
from orchestra.runtime.resuming import answered, ending
from orchestra.runtime.run_blocks import block_sources
from orchestra.runtime.thread_cache import carried_on, thread_now
from orchestra.runtime.turn import Outcome, Work
from orchestra.runtime.upkeep import Upkeep
from orchestra.runtime.waiting_calls import check_tools
from orchestra.store.context_store import ContextStore
from orchestra.store.interrupt_store import Suspension
from orchestra.store.run_store import RunStore, StoredRun
from orchestra.store.thread_store import (
    ANSWER_SECONDS,
    Begun,
    Busy,
    Changed,
    Commit,
    Committed,
    Edited,
    Ended,
    MissingBlocks,
    Stale,
    Waiting,
    Wanted,
)

if TYPE_CHECKING:
    from orchestra.runtime.serving import Serving

BUSY_SECONDS = 0.05
LONGEST_TTL_SECONDS = 100 * 366 * 86_400


class SessionTurn:
    """One turn of a thread. Owner: the :class:`Serving` of its run."""

    def __init__(self, serving: Serving) -> None:
        self.serving, self.host, self.request = serving, serving.host, serving.request
        self.thread = self.request.thread
        # What the cache held when the server was asked: kept here, since it may drop it before the answer comes.
        self._cached: CachedThread | None = None
        self._journal: Journal = NoJournal()

    async def run(self) -> RunResult:
        """Serve it: a result, also for a run that had ended before."""
        begun = await self._begin()
        if isinstance(begun, RunResult):
            return begun
        return await self._run(begun)

    async def _begin(self) -> Begun | RunResult:
        request, host, serving, judged = self.request, self.host, self.serving, ""
        while True:
            cached, known, ids = serving.agent.known()
            # Before anything of it is stored. With a definition that is not known here yet, or changes right now, the
            # script below begins nothing, and the loop comes here again.
            if cached is not None and cached.loaded.digest != judged and serving.may_refuse(cached.loaded):
                loaded = await serving.agent.current(serving.checked if cached.loaded.kind else None)
                if (refused := await serving.refused(loaded)) is not None:
                    return refused
                judged = loaded.digest
                continue
            thread = self._cached = host.caches.threads.get(self.thread)
            wanted = Wanted(
                *(request.run_id, self.thread, request.agent, str(request.session_id), host.id),
                cached.loaded.digest if cached else "",
                cached.attachments.version if cached else "",
                ids,
                known,
                thread.edition if thread else 0,
                thread.count if thread else 0,
                request.to_text(cached.loaded.shape if cached else None),
                request.needs_invocation_state,
                request.user_id or "",
                TAIL_ENTRIES,
                thread.record.version if thread else "",
                parent=request.parent,
                root=request.root,
                keep_ms=_ms(None if request.lineage is None else request.lineage.life),
                home=request.home,
                ending=bool(request.ending),
            )
            found = await forgotten_first(host.store, wanted.session_id, partial(self._ask, wanted))
            if isinstance(found, Ended):
                return await self._remembered(found.answer)
            if isinstance(found, SessionInterrupted):
                if self._on_busy(cached) != "abandon":
                    raise found
                await self._abandon(found)
            elif isinstance(found, Waiting):
                if not await answered(host.interrupts, request):
                    return replace(RunResult.from_json(loads(found.answer)), duplicate=True, host=host.id)
            elif isinstance(found, Stale | MissingBlocks):
                await serving.agent.catch_up(found, ids)
            elif isinstance(found, Busy) and serving.cancelled:
                return serving.not_begun()
            elif isinstance(found, Busy):
                if self._on_busy(cached) == "reject":
                    raise SessionBusy(str(request.session_id), found.run)
                await asyncio.sleep(BUSY_SECONDS)
            else:
                for block in found.blocks:
                    host.caches.keep_block(block)
                failpoint("turn.begun")
                return found

    def _on_busy(self, cached: CachedAgent | None) -> OnBusy:
        return self.request.on_busy or (cached.loaded.agent.on_busy if cached else "queue")

    async def _abandon(self, held: SessionInterrupted) -> None:
        """End the run that waits for an answer and holds the thread. Two that do this at once end it once."""
        run = await RunStore(self.host.store).get(held.run_id)
        if run is None or run.parent:
            raise held
        await SessionTurn(type(self.serving)(self.host, ending(run, "abandoned"), None, None)).run()

    async def _ask(self, wanted: Wanted) -> Begun | Stale | MissingBlocks | Busy | Ended | Waiting | SessionInterrupted:
        """The server's answer, also when the caller goes meanwhile: the lease may be taken, and nobody else frees it.

        Then the run goes on as one that is cancelled, to its commit.
        """
        asking, gone = asyncio.ensure_future(self.host.threads.begin(wanted)), False
        while not asking.done():
            try:
                await asyncio.wait({asking})
            except asyncio.CancelledError:
                self.serving.cancelled = gone = True
        if gone and (asking.exception() is not None or not isinstance(asking.result(), Begun)):
            raise asyncio.CancelledError
        error = asking.exception()
        return error if isinstance(error, SessionInterrupted) else asking.result()

    async def _run(self, begun: Begun) -> RunResult:
        try:
            turn, thread, state = self._turn(begun)
        except DefinitionChanged:
            await self._set_aside()
            raise
        except Exception as error:
            await self._give_back(begun, error)
            raise
        try:
            outcome, interrupted = await self.serving.watched(turn)
        except DefinitionChanged:  # of what runs below this one
            await self._set_aside()
            raise
        # From here on nothing is cancelled: the turn is stored whole, also when the caller has gone.
        waits = outcome.status == "interrupted"
        done = asyncio.ensure_future(
            self._suspend(turn, outcome, begun) if waits else self._commit(turn, outcome, begun, thread, state)
        )
        try:
            result = await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.gather(done, return_exceptions=True)
            raise
        if not waits:
            await Upkeep(self.host, self.thread).after(turn, thread, begun.edition)
        if interrupted:
            raise asyncio.CancelledError
        if waits and self.serving.cancelled and self.request.lineage is None:
            # Cancelled while it was put to sleep, and it has told the one who cancelled it that it will end.
            request = replace(self.request, ending="cancelled")
            return await SessionTurn(type(self.serving)(self.host, request, None, None)).run()
        if waits:
            return result
        await turn.context.hooks.tell("after_run", result)
        return result

    def _turn(self, begun: Begun) -> tuple[Work, CachedThread, StateValues]:
        request, host, serving = self.request, self.host, self.serving
        loaded, thread = serving.agent.defined().loaded, thread_now(self._cached, begun)
        blocks = serving.agent.run_blocks(begun.blocks)
        blocks.memo_key = host.store.keys.run(request.run_id)
        blocks.owner, blocks.token = host.store.keys.head(self.thread), begun.token
        blocks.sources = block_sources(self.thread, range(begun.seq + 1, begun.seq + 1 + len(request.input)))
        state = StateValues(thread.state)
        prompt = Prompt(
            loaded, thread.view, thread.decided, loaded.window_tokens, request.user_id, begun.edition, begun.seq
        )
        kind = StoredJournal if loaded.agent.persistence == "journal" else StartMark
        self._journal = journal = kind(host.threads, request.run_id, self.thread, begun.token, blocks, begun.journal)
        context = serving.make(loaded, blocks, state, prompt, begun.calls)
        offload = loaded.agent.conversation.offload
        contexts = ContextStore(host.store)
        context.offloads = Offloads(contexts, self.thread, request.root, request.run_id, begun.token, offload)
        questions = context.questions
        questions.answers = {**questions.answers, **{name: loads(text) for name, text in begun.answers.items()}}
        questions.always |= frozenset(begun.always)
        if begun.resumed and not request.ending:
            check_tools(request.run_id, request.agent, begun.journal, context.tools)
            check_definition(begun, loaded, request.run_id)
        context.compact = partial(Upkeep(host, self.thread).during, context, thread, begun.edition)
        context.tell(RunStarted, session_id=request.session_id, turn=begun.turn + 1, resumed=begun.resumed)
        context.flush = MemoryFlush(host, self.thread, thread, begun, context, journal).when_due
        return serving.work(context, journal, state, begun.resumed), thread, state

    async def _suspend(self, turn: Work, outcome: Outcome, begun: Begun) -> RunResult:
        """The run waits for answers: one script, which frees the lease and holds the thread. See ``suspend.lua``."""
        context, request = turn.context, self.request
        result = turn.result(outcome, turn.finished_messages(outcome), turn=begun.turn, host=self.host.id)
        failpoint("turn.suspending")
        await self.host.interrupts.suspend(
            Suspension(
                *(request.run_id, self.thread, begun.token, dumps(result.to_json(messages=False))),
                outcome.interrupts,
                {**self._journal.unstored(), **context.questions.marks},
                settled=(MARK.removeprefix("j:"),),
                root="" if request.lineage is None else request.root,
            )
        )
        failpoint("turn.suspended")
        if request.lineage is None:
            for one in outcome.interrupts:
                context.tell(Interrupted, interrupt=one)
        return result

    async def _set_aside(self) -> None:
        """The run waits until its definition is as it was; its thread is free."""
        run = StoredRun(self.request.run_id, "running", self.thread)
        await RunStore(self.host.store).interrupt(run, DefinitionChanged.__name__, self.host.id)

    async def _give_back(self, begun: Begun, error: Exception) -> None:
        """A turn that cannot even start (a limit that is none, say) leaves the thread as it was, and free."""
        kind = type(error).__name__
        result = RunResult(
            self.request.run_id, "failed", reason=kind, error=str(error), session_id=self.request.session_id
        )
        answer = dumps({**result.to_json(messages=False), "first": 0, "count": 0})
        commit = Commit(
            self.request.run_id, self.thread, begun.token, begun.edition, "none", "failed", answer, "{}", "", 0
        )
        while isinstance(found := await self.host.threads.commit(commit), Edited):
            commit = replace(commit, edition=found.edition)

    async def _commit(
        self, turn: Work, outcome: Outcome, begun: Begun, thread: CachedThread, state: StateValues
    ) -> RunResult:
        """One script. The same run twice, a late owner, an edit of the log meanwhile: see ``commit.lua``."""
        host, request, agent = self.host, self.request, turn.context.loaded.agent
        persistence = agent.persistence
        messages = finished = turn.finished_messages(outcome)
        kind: str = "done" if outcome.status == "completed" else "aborted"
        if kind == "aborted" and persistence == "turn":
            kind, messages = "none", ()
        lineage = request.lineage
        edition, number, seq, prompt = begun.edition, begun.turn + (kind == "done"), begun.seq, turn.context.prompt
        while True:
            result = turn.result(outcome, finished, turn=number, host=host.id)
            remembered = {**result.to_json(messages=False), "first": seq + 1, "count": len(messages)}
            failpoint("turn.committing")
            notes = prompt.notes(kind == "done", edition, len(messages))
            found = await host.threads.commit(
                Commit(
                    *(request.run_id, self.thread, begun.token, edition, kind, outcome.status),  # type: ignore[arg-type]
                    dumps(remembered),
                    dumps(turn.context.usage.to_json()),
                    agent.sleep_rule,
                    len(turn.context.replies),
                    tuple((message_tokens(message), message_text(message)) for message in messages),
                    state.folded(),
                    _ms(agent.conversation.ttl if lineage is None else lineage.life),
                    _ms(agent.conversation.close_after if lineage is None else None),
                    *notes,
                    answer_seconds=ANSWER_SECONDS if lineage is None else CHILD_LIFE_SECONDS,
                    home=request.home,
                )
            )
            if isinstance(found, Committed):
                failpoint("turn.committed")
                kept = carried_on(thread, begun, messages, found, state, edition)
                thread.noted(request.run_id, notes, prompt.decided, found.context_version)
                host.caches.threads.pop(self.thread, None)
                if kept and not request.home:  # a state that others change too is not to be kept
                    host.caches.keep_thread(self.thread, thread)
                if lineage is None and agent.conversation.ttl is not None:
                    await host.threads.end_children_with(self.thread)
                return result
            if isinstance(found, Ended):
                # This very run was stored before: by this host, whose reply was lost on the way, or by one that took
                # it over, and then what is stored is the answer.
                return result if found.answer == dumps(remembered) else await self._remembered(found.answer)
            if isinstance(found, Changed):
                state.rebase(found.key, found.value)
            elif isinstance(found, Edited):
                host.caches.threads.pop(self.thread, None)
                head = await host.threads.head(self.thread)
                edition, seq = found.edition, int(head["seq"])
                number = int(head["turn"]) + (kind == "done")

    async def _remembered(self, answer: str) -> RunResult:
        """The result of a run that had ended before, with its messages read from the log."""
        value = loads(answer)
        result = RunResult.from_json(value)
        found = [m for _, m in readable(await self.host.threads.entries(self.thread, -200 - int(value["count"])))]
        mine = tuple(message for message in found if message.meta.run == result.run_id)
        return replace(result, messages=mine, duplicate=True, host=self.host.id)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, int(min(seconds, LONGEST_TTL_SECONDS) * 1000))
