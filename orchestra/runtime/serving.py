"""Serving one run on a host: taking the lease, the turn, the commit."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestra.context.view import TAIL_ENTRIES, LogView
from orchestra.core.agent import Limits
from orchestra.core.blocks import BlockView
from orchestra.core.errors import InputError, OrchestraError, SessionBusy, UnknownBlock, UnknownName
from orchestra.core.events import RunEvent, RunStarted
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps, loads
from orchestra.core.messages import Message, Meta
from orchestra.core.names import thread_name
from orchestra.core.result import RunResult
from orchestra.core.tokens import message_tokens
from orchestra.core.workspaces import workspace_folder
from orchestra.memory.scopes import Place, resolve, resolve_all, split_ref
from orchestra.memory.sessions import message_text, readable
from orchestra.memory.state import StateValues
from orchestra.memory.workspace import opened_folder
from orchestra.runtime.caches import CachedAgent, CachedThread
from orchestra.runtime.definition import Loaded, load_agent
from orchestra.runtime.hooks import HookContext, Hooks
from orchestra.runtime.journal import BlockWatch, Journal, NoJournal, StartMark, StoredJournal
from orchestra.runtime.request import RunRequest
from orchestra.runtime.run_archive import RunArchive
from orchestra.runtime.run_blocks import RunBlocks, block_sources
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.tool_calls import ToolCalls, notify_edits
from orchestra.runtime.turn import Outcome, Turn
from orchestra.runtime.turn_context import TurnContext, tools_for
from orchestra.store.definition_store import Attachment, Attachments, DefinitionStore
from orchestra.store.thread_store import (
    Begun,
    Busy,
    Changed,
    Commit,
    Committed,
    Edited,
    Ended,
    MissingBlocks,
    Stale,
    Wanted,
)

if TYPE_CHECKING:
    from orchestra.runtime.host import Host

BUSY_SECONDS = 0.05
LONGEST_TTL_SECONDS = 100 * 366 * 86_400
_NOTHING = Attachments("", ())


class Serving:
    """One run on this host. Owner: the host's event loop."""

    def __init__(
        self, host: Host, request: RunRequest, invocation_state: Sealed | None, emit: Callable[[RunEvent], None]
    ) -> None:
        self.host, self.request, self.invocation_state, self.emit = host, request, invocation_state, emit
        self.place = Place(request.agent, request.session_id, request.user_id)
        self.thread = "" if request.session_id is None else thread_name(request.agent, request.session_id)
        # What the caches held when the server was asked: kept here, since they may drop it before the answer comes.
        self._agent: CachedAgent | None = None
        self._seen: dict[str, BlockView] = {}
        self._cached: CachedThread | None = None
        self._context: TurnContext | None = None
        self._work: asyncio.Task[Outcome] | None = None
        self._cancelled = False
        self.queued = asyncio.current_task()  # until it is this run's turn on this host
        self.withdrawn = False

    def cancel(self) -> None:
        """Stop at the next await; the turn is committed as aborted, or, when it has not begun, not at all."""
        self._cancelled = True
        if self.queued is not None and not self.withdrawn:
            self.withdrawn = True
            self.queued.cancel()
        if self._context is not None:
            self._context.cancelled = True
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> RunResult:
        """Serve it. Raises what concerns the call (unknown agent, busy session); how the turn went is in the result."""
        if self.request.session_id is None:
            return await self._run_alone()
        begun = await self._begin()
        if isinstance(begun, RunResult):
            return begun
        return await self._run_in_session(begun)

    def not_begun(self) -> RunResult:
        """The result of a run that was cancelled while it waited for its session: nothing of it is stored."""
        request = self.request
        return RunResult(
            request.run_id, "cancelled", reason="cancelled", session_id=request.session_id, host=self.host.id
        )

    # --- with a session -------------------------------------------------------------------------------------------

    async def _begin(self) -> Begun | RunResult:
        request, host = self.request, self.host
        text = request.to_text()
        while True:
            cached, known, ids = self._known()
            thread = self._cached = host.caches.threads.get(self.thread)
            found = await self._ask(
                Wanted(
                    *(request.run_id, self.thread, request.agent, str(request.session_id), host.id),
                    cached.loaded.digest if cached else "",
                    cached.attachments.version if cached else "",
                    ids,
                    known,
                    thread.edition if thread else 0,
                    thread.count if thread else 0,
                    text,
                    request.needs_invocation_state,
                    request.user_id or "",
                    TAIL_ENTRIES,
                )
            )
            if isinstance(found, Ended):
                return await self._remembered(found.answer)
            if isinstance(found, Stale | MissingBlocks):
                await self._catch_up(found, ids)
            elif isinstance(found, Busy) and self._cancelled:
                return self.not_begun()
            elif isinstance(found, Busy):
                if (request.on_busy or (cached.loaded.agent.on_busy if cached else "queue")) == "reject":
                    raise SessionBusy(str(request.session_id), found.run)
                await asyncio.sleep(BUSY_SECONDS)
            else:
                for block in found.blocks:
                    host.caches.keep_block(block)
                failpoint("turn.begun")
                return found

    async def _ask(self, wanted: Wanted) -> Begun | Stale | MissingBlocks | Busy | Ended:
        """The server's answer, also when the caller goes meanwhile: the lease may be taken, and nobody else frees it.

        Then the run goes on as one that is cancelled, to its commit.
        """
        asking, gone = asyncio.ensure_future(self.host.threads.begin(wanted)), False
        while not asking.done():
            try:
                await asyncio.wait({asking})
            except asyncio.CancelledError:
                self._cancelled = gone = True
        if gone and (asking.exception() is not None or not isinstance(asking.result(), Begun)):
            raise asyncio.CancelledError
        return asking.result()

    def _known(self) -> tuple[CachedAgent | None, tuple[str, ...], tuple[str, ...]]:
        cached = self._agent = self.host.caches.agents.get(self.request.agent, self._agent)
        if cached is None:
            return None, (), ()
        ids = resolve_all(cached.attachments.shown, self.place)
        blocks = self.host.caches.blocks
        self._seen = {i: blocks[i] for i in ids if i in blocks}
        return cached, tuple(self._seen[i].stamp if i in self._seen else "" for i in ids), ids

    def _defined(self) -> CachedAgent:
        if self._agent is None:
            raise UnknownName("agent", self.request.agent)
        return self._agent

    async def _catch_up(self, found: Stale | MissingBlocks, ids: Sequence[str]) -> None:
        """Load what the server has newer, or make the scoped blocks of a user or session that is seen first."""
        host, name = self.host, self.request.agent
        if isinstance(found, Stale):
            if not found.digest:
                raise UnknownName("agent", name)
            old = self._agent
            if old is not None and old.loaded.digest == found.digest:
                loaded = old.loaded
            else:
                loaded = await asyncio.to_thread(load_agent, found.text, found.digest, host.functions)
            self._agent = CachedAgent(loaded, found.attachments, loaded.size)
            host.caches.keep_agent(name, self._agent)
            resolve_all(found.attachments.shown, self.place)
            return
        cached = self._defined()
        declared = {f"@{block.scope}:{block.label}": block for block in cached.loaded.agent.blocks}
        for index in found.indices:
            item = next(item for item in cached.attachments.shown if resolve(item, self.place) == ids[index])
            scoped = split_ref(item.ref)
            if scoped is None or item.ref not in declared:
                # The block was deleted: it leaves the agent's list, in the one script that changes lists. Somebody else
                # who is there first (STALE, or gone already) has done the same, and the next begin sees it.
                gone = Attachment(item.ref, item.order, item.access, "attached")
                with contextlib.suppress(UnknownBlock):
                    await DefinitionStore(host.store).change(name, "detach", gone, item.ref, cached.attachments.version)
                continue
            owner = {"agent": name, "user": self.request.user_id, "session": self.request.session_id}.get(scoped[0])
            await host.blocks.create(ids[index], declared[item.ref], owner or "", f"agent:{name}")

    async def _run_in_session(self, begun: Begun) -> RunResult:
        try:
            turn, thread, state = self._turn(begun)
        except Exception as error:
            await self._give_back(begun, error)
            raise
        outcome, interrupted = await self._watched(turn)
        # From here on nothing is cancelled: the turn is stored whole, also when the caller has gone.
        done = asyncio.ensure_future(self._commit(turn, outcome, begun, thread, state))
        try:
            result = await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.gather(done, return_exceptions=True)
            raise
        if interrupted:
            raise asyncio.CancelledError
        await turn.context.hooks.tell("after_run", result)
        return result

    def _turn(self, begun: Begun) -> tuple[Turn, CachedThread, StateValues]:
        request, host = self.request, self.host
        cached = self._defined()
        loaded, thread = cached.loaded, self._thread(begun)
        limit = loaded.agent.conversation.history_limit.of(request.user_id) or None
        blocks = self._blocks(cached, begun.blocks)
        blocks.memo_key = host.store.keys.run(request.run_id)
        blocks.owner, blocks.token = host.store.keys.head(self.thread), begun.token
        blocks.sources = block_sources(self.thread, range(begun.seq + 1, begun.seq + 1 + len(request.input)))
        state = StateValues(thread.state)
        kind = StoredJournal if loaded.agent.persistence == "journal" else StartMark
        journal = kind(host.threads, request.run_id, self.thread, begun.token, blocks, begun.journal)
        context = self._make(loaded, blocks, state, lambda budget: thread.view.shown(budget, limit), begun.calls)
        context.tell(RunStarted, session_id=request.session_id, turn=begun.turn + 1, resumed=begun.resumed)
        return Turn(context, journal, self._tools(context, journal, state, begun.resumed)), thread, state

    async def _give_back(self, begun: Begun, error: Exception) -> None:
        """A turn that cannot even start (a limit that is none, say) leaves the thread as it was, and free."""
        kind = type(error).__name__
        result = RunResult(
            self.request.run_id, "failed", reason=kind, error=str(error), session_id=self.request.session_id
        )
        answer = dumps({**result.to_json(messages=False), "first": 0, "count": 0})
        commit = Commit(
            self.request.run_id, self.thread, begun.token, begun.edition, "none", "failed", answer, "{}", 0, 0
        )
        while isinstance(found := await self.host.threads.commit(commit), Edited):
            commit = replace(commit, edition=found.edition)

    async def _commit(
        self, turn: Turn, outcome: Outcome, begun: Begun, thread: CachedThread, state: StateValues
    ) -> RunResult:
        """One script. The same run twice, a late owner, an edit of the log meanwhile: see ``commit.lua``."""
        host, request, agent = self.host, self.request, turn.context.loaded.agent
        persistence, every = agent.persistence, (agent.sleeptime.every or 0) if agent.sleeptime is not None else 0
        messages = finished = turn.finished_messages(outcome)
        kind: str = "done" if outcome.status == "completed" else "aborted"
        if kind == "aborted" and persistence == "turn":
            kind, messages = "none", ()
        edition, number, seq = begun.edition, begun.turn + (kind == "done"), begun.seq
        while True:
            result = turn.result(outcome, finished, turn=number, host=host.id)
            remembered = {**result.to_json(messages=False), "first": seq + 1, "count": len(messages)}
            failpoint("turn.committing")
            found = await host.threads.commit(
                Commit(
                    *(request.run_id, self.thread, begun.token, edition, kind, outcome.status),  # type: ignore[arg-type]
                    dumps(remembered),
                    dumps(turn.context.usage.to_json()),
                    every,
                    len(turn.context.replies),
                    tuple((message_tokens(message), message_text(message)) for message in messages),
                    state.folded(),
                    _ms(agent.conversation.ttl),
                    _ms(agent.conversation.close_after),
                )
            )
            if isinstance(found, Committed):
                failpoint("turn.committed")
                self._remember(begun, thread, messages, found, state, edition)
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

    def _thread(self, begun: Begun) -> CachedThread:
        """The thread as it is now: what is cached with what is new, or all that the server sent."""
        cached = self._cached
        if cached is None or cached.edition != begun.edition or cached.count != begun.first:
            if cached is None or cached.edition != begun.edition or begun.first + len(begun.entries) != cached.count:
                cached = CachedThread(begun.edition, begun.first, LogView(begun.first), dict(begun.state), 2000)
        elif begun.entries:
            cached.state = dict(begun.state)
        if cached.count == begun.first:
            for text in begun.entries:
                if not (found := readable([text])):
                    cached.view.skip()
                for entry, message in found:
                    cached.view.add(message, entry.tokens)
                    cached.bytes += 600 + 2 * len(entry.message)
            cached.count += len(begun.entries)
        return cached

    def _remember(
        self,
        begun: Begun,
        thread: CachedThread,
        messages: Sequence[Message],
        done: Committed,
        state: StateValues,
        edition: int,
    ) -> None:
        if edition != begun.edition or done.count != thread.count + len(messages):
            self.host.caches.threads.pop(self.thread, None)
            return
        first = done.seq - len(messages)
        for offset, message in enumerate(messages, 1):
            meta = replace(message.meta, seq=first + offset, turn=done.turn)
            thread.view.add(message.with_meta(meta), tokens := message_tokens(message))
            thread.bytes += 600 + 8 * tokens
        thread.count, thread.state = done.count, state.after_commit()
        thread.view.trim(TAIL_ENTRIES)
        self.host.caches.threads.pop(self.thread, None)
        self.host.caches.keep_thread(self.thread, thread)

    async def _remembered(self, answer: str) -> RunResult:
        """The result of a run that had ended before, with its messages read from the log."""
        value = loads(answer)
        result = RunResult.from_json(value)
        found = [m for _, m in readable(await self.host.threads.entries(self.thread, -200 - int(value["count"])))]
        mine = tuple(message for message in found if message.meta.run == result.run_id)
        return replace(result, messages=mine, duplicate=True, host=self.host.id)

    # --- without a session ----------------------------------------------------------------------------------------

    async def _run_alone(self) -> RunResult:
        request, host = self.request, self.host
        while True:
            cached, known, ids = self._known()
            digest, version = (cached.loaded.digest, cached.attachments.version) if cached else ("", "")
            found = await host.threads.load(
                Wanted(request.run_id, "", request.agent, "", host.id, digest, version, ids, known)
            )
            if isinstance(found, tuple):
                break
            await self._catch_up(found, ids)
        for block in found:
            host.caches.keep_block(block)
        cached = self._defined()
        blocks = self._blocks(cached, found)
        journal = BlockWatch(blocks) if ids else NoJournal()
        state = StateValues({})
        context = self._make(cached.loaded, blocks, state, lambda budget: request.history, 0)
        context.tell(RunStarted, session_id=None, turn=1)
        turn = Turn(context, journal, self._tools(context, journal, state, False))
        outcome, interrupted = await self._watched(turn)
        if interrupted:
            raise asyncio.CancelledError
        result = turn.result(outcome, turn.finished_messages(outcome), turn=1, host=host.id)
        await context.hooks.tell("after_run", result)
        return result

    # --- both -----------------------------------------------------------------------------------------------------

    async def _watched(self, turn: Turn) -> tuple[Outcome, bool]:
        """Let the turn work; (its outcome, whether the caller has gone). A caller that goes cancels the turn."""
        self._work = asyncio.ensure_future(turn.work())
        if self._cancelled:
            self._work.cancel()
        try:
            return await asyncio.shield(self._work), False
        except asyncio.CancelledError:
            turn.context.cancelled = True
            self._work.cancel()
            done = await asyncio.gather(self._work, return_exceptions=True)
            if isinstance(done[0], Outcome):
                return done[0], asyncio.current_task().cancelling() > 0  # type: ignore[union-attr]
            if isinstance(done[0], OrchestraError):
                raise done[0] from None
            return Outcome("cancelled", "cancelled"), asyncio.current_task().cancelling() > 0  # type: ignore[union-attr]

    def _blocks(self, cached: CachedAgent, fresh: Sequence[BlockView]) -> RunBlocks:
        ids = resolve_all(cached.attachments.shown, self.place)
        access = {i: item.access for i, item in zip(ids, cached.attachments.shown, strict=True)}
        blocks = RunBlocks(self.host.blocks, f"agent:{self.request.agent}", self.request.run_id, ids, access)
        have = {block.id: block for block in fresh}
        blocks.refresh([have[i] if i in have else self._seen[i] for i in ids])
        return blocks

    def _make(
        self,
        loaded: Loaded,
        blocks: RunBlocks,
        state: StateValues,
        history: Callable[[int], Sequence[Message]],
        calls: int,
    ) -> TurnContext:
        request = self.request
        tools, specs = tools_for(loaded, writable=blocks.writable())
        hook_context = HookContext(request.agent, request.run_id, request.session_id, request.user_id, state.view(), {})
        now = time.time()
        context = TurnContext(
            request=request,
            loaded=loaded,
            tools=tools,
            specs=specs,
            blocks=blocks,
            hooks=Hooks(loaded.hooks, hook_context, self.invocation_state),
            limits=_tightest(loaded.agent.limits, request.limits),
            history=history,
            calls_before=calls,
            emit=self.emit,
            cancelled=self._cancelled,
            archive=self._archive(loaded, blocks).of_call,
            open_workspace=partial(self._workspace, loaded),
        )
        meta = Meta(agent=request.agent, run=request.run_id, created_at=now)
        context.messages.extend(message.with_meta(meta) for message in request.input)
        notify_edits(context)
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
        if folder is not None and self.thread:
            await self.host.snapshots.settle(self.thread, folder)
        return None if folder is None else await opened_folder(folder)

    def _archive(self, loaded: Loaded, blocks: RunBlocks) -> RunArchive:
        request = self.request
        return RunArchive(
            self.host.passages,
            *(request.agent, request.run_id, request.session_id, request.user_id),
            loaded.agent.recall_scope or "user",
            blocks.sources,
        )

    def _tools(self, context: TurnContext, journal: Journal, state: StateValues, resumed: bool) -> ToolCalls:
        return ToolCalls(context, journal, state, self.invocation_state, self.host.resources.get, resumed)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, int(min(seconds, LONGEST_TTL_SECONDS) * 1000))


def _tightest(agent: Limits, run: Limits | None) -> Limits:
    """Limits of the run where it names any, else those of the agent."""
    given = {} if run is None else {name: getattr(run, name) for name in run.model_fields_set}
    limits = agent.model_copy(update=given)
    if limits.cost is not None:
        raise InputError("limits.cost: this version knows no prices; use limits.tokens")
    return limits
