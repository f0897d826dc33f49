"""What a program does with agents: register, run, stream, cancel, look at memory. The same inline and on Ray."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, runtime_checkable

from orchestra.core.agent import Agent, Limits, OnBusy
from orchestra.core.errors import InputError, UnknownName
from orchestra.core.events import RunEnded, RunEvent
from orchestra.core.interrupts import Response
from orchestra.core.jsontext import Json, fault, loads
from orchestra.core.messages import Input, Message, as_messages
from orchestra.core.names import check_session, check_user, split_thread
from orchestra.core.result import RunResult
from orchestra.core.runnable import Runnable
from orchestra.core.session_template import SessionTemplate
from orchestra.memory.blocks import Blocks
from orchestra.memory.closing import open_session
from orchestra.memory.passages import Passages
from orchestra.memory.recall import ConversationSearch
from orchestra.memory.retraction import LearnedLine, learned_from, unlearn
from orchestra.memory.scopes import scoped_ref
from orchestra.memory.search.archive import Archive, LocalArchive
from orchestra.memory.sessions import Session, SessionUsage, find_session
from orchestra.memory.snapshots import BlocksToRestore, Restored, Snapshots, SnapshotView
from orchestra.memory.sole_blocks import delete_agent
from orchestra.memory.workspace import Pruned
from orchestra.runtime.context_report import ContextReport, report_context
from orchestra.runtime.definition import pack_agent
from orchestra.runtime.dispatch import Dispatcher
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.kinds import kind_of
from orchestra.runtime.output_type import GivenTypes
from orchestra.runtime.registration import everything_in, known_to
from orchestra.runtime.request import RunRequest
from orchestra.runtime.resuming import ending, prepared
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.server_conversation import asked_for
from orchestra.runtime.turn_context import CancelMode
from orchestra.store.closing_store import ClosingStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.pass_store import PassStore
from orchestra.store.run_store import RunStore
from orchestra.store.thread_store import ThreadStore

DRAIN_SECONDS = 0.02


@runtime_checkable
class SessionLike(Protocol):
    """A session object: any class with these two methods (and ``pop_item``, ``clear_session``) will do."""

    async def get_items(self, limit: int | None = None) -> list[object]:
        """The stored items, oldest first."""

    async def add_items(self, items: list[object]) -> None:
        """Append items."""


class Client:
    """Agents of one namespace. Owner of the functions that it registered by value."""

    def __init__(
        self,
        store: Store,
        dispatcher: Dispatcher,
        functions: FunctionTable,
        archive: Archive | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        self.store, self.dispatcher, self.functions = store, dispatcher, functions
        self.blocks = Blocks(store)
        self.passages = Passages(store, archive or LocalArchive(store))
        self._snapshots = snapshots or Snapshots(store)
        self.resources: dict[str, Callable[[], object]] = {}
        self._definitions = DefinitionStore(store)
        self._types = GivenTypes()

    async def register(self, *runnables: Runnable) -> None:
        """Store definitions, with those that stand inside them; a changed one counts from the next turn on every host.

        Raises:
            InputError: a definition is wrong (two tools of one name, a reserved name, a shared block that disagrees).
            UnknownName: one names a runnable that is not registered; those that name each other are registered at once.
            FunctionUnavailable: a tool that is named cannot be imported here.
        """
        every = everything_in(runnables)
        known = await known_to(every, self._definitions, self.functions)
        for one in every:
            declared = []
            if isinstance(one, Agent):
                packed = pack_agent(one, self.functions, known)
                declared = [(scoped_ref(block), block.access) for block in one.blocks]
            else:
                packed = kind_of(one).pack(one, self.functions, known)
            await self._definitions.put(packed.name, packed.text, packed.digest, declared)
        self._types.learn(every)

    async def agents(self) -> list[str]:
        """The names of all registered agents."""
        return await self._definitions.names()

    async def delete_agent(self, name: str, *, cascade: bool = False) -> None:
        """Forget an agent and its sleep-time agent. Twice is fine, and finishes what was interrupted.

        ``cascade`` deletes the blocks that only it used, and all its passages in the archive, those of its users too.
        Without it they stay: an agent that is registered under this name again finds them, and a later call with
        ``cascade`` finds its own blocks and the passages.
        """
        await delete_agent(self.store, name, cascade=cascade)
        if cascade:  # after the definition: no turn that begins now can add any
            await self.passages.clear(name)

    def resource(self, name: str, factory: Callable[[], object]) -> None:
        """Register a factory for what cannot travel; each host opens it once, at its first use by ``ctx.resource``."""
        self.resources[name] = factory

    def session(self, session_id: str, agent: str | None = None) -> SessionHandle:
        """The session of one agent. Without ``agent``: of the one agent that has it (checked at the first use)."""
        return SessionHandle(self.store, check_session(session_id), agent)

    async def open_session(
        self, template: str, agent: str, *, user_id: str | None = None, time_zone: str | None = None
    ) -> str:
        """The session id that ``template`` means now: ``{user}`` and ``{date}`` are filled in, ``{{`` is a brace.

        With ``{date}`` (the day in ``time_zone``, or in the agent's ``conversation.time_zone``) the session is closed
        when its day is over, as by :meth:`close_session`, and so are those of the days before.

        Raises:
            ConfigError: another placeholder, ``{user}`` without ``user_id``, or a time zone that is not known.
            InputError: ``user_id`` or the id that comes of it cannot be one.
            UnknownName: no such agent.
        """
        made = SessionTemplate(template, time_zone or "UTC")
        if time_zone is None and made.dated:
            text, _ = await self._definitions.get(agent)
            made = replace(made, time_zone=loads(text).get("conversation", {}).get("time_zone", "UTC"))
        return await open_session(self.store, made, agent, user_id)

    async def close_session(self, session_id: str, agent: str | None = None) -> bool:
        """Ask for a session to be closed; False when nothing was said in it since it was closed last.

        A sleep-time host leaves its summary in the archive, tagged ``session-summary``, for the session's user;
        :meth:`drain` waits for it. The next turn opens the session again, and the next closing puts a newer summary in
        place of this one.

        Raises:
            UnknownName: no agent has the session.
            InputError: several agents have it and none was named.
        """
        session = await find_session(self.store, check_session(session_id), agent)
        if not await ThreadStore(self.store).exists(session.thread):
            raise UnknownName("session", session_id)
        return await ClosingStore(self.store).ask(session.thread)

    async def context(self, session_id: str, agent: str | None = None) -> ContextReport:
        """What the next prompt of a session will hold, part by part, and what is left out and why. Changes nothing.

        Raises:
            UnknownName: no agent has the session.
            FunctionUnavailable: a tool of the agent was registered by value by another program.
        """
        return await report_context(self.store, check_session(session_id), agent, self.functions)

    async def snapshot(
        self, session_id: str, agent: str | None = None, *, ttl: float | None = None, operation_id: str | None = None
    ) -> str:
        """Keep a session as it is now: log, turns, state, attached blocks, workspace. The snapshot's id.

        ``ttl`` is how long it is kept, in seconds (default: ``snapshots.ttl`` of the cluster, for ever if that is left
        out). It does not change any more. The same ``operation_id`` again gives the same snapshot.

        Raises:
            UnknownName: no agent has the session.
            SessionBusy: the agent has a workspace, and a run works on the session.
            WorkspaceError: the files of the workspace cannot be kept.
        """
        session = await find_session(self.store, check_session(session_id), agent)
        return await self._snapshots.make(session.thread, ttl=ttl, operation_id=operation_id)

    async def snapshots(self, session_id: str, agent: str | None = None) -> Sequence[SnapshotView]:
        """The snapshots of a session in the order in which they were made. Name the agent of one that has ended."""
        session = await find_session(self.store, check_session(session_id), agent)
        return await self._snapshots.of_thread(session.thread)

    async def restore(
        self, snapshot_id: str, *, blocks: BlocksToRestore = "session", operation_id: str | None = None
    ) -> Restored:
        """Bring a session back to a snapshot; what changed. Also one that was deleted or has ended.

        Log, turns, state, workspace and the blocks of scope session come back; with ``blocks="all"`` every block of
        then, as new edits; with ``none`` no block. A failed restore changes nothing.

        Raises:
            UnknownName: there is no such snapshot.
            SessionInterrupted, SessionBusy: a run holds the session.
            BlockLimitExceeded: a block's limit is lower now than its value of then is long.
            WorkspaceError: the files of the workspace are lost or damaged.
        """
        return await self._snapshots.restore(snapshot_id, blocks=blocks, operation_id=operation_id)

    async def delete_snapshot(self, snapshot_id: str) -> None:
        """Delete a snapshot. Raises :class:`UnknownName`."""
        await self._snapshots.delete(snapshot_id)

    async def prune_workspaces(self) -> Pruned:
        """Delete kept files that no snapshot needs any more, an hour after they were kept at the earliest."""
        return await self._snapshots.prune()

    def recall(self, where: str | SessionHandle, *, user_id: str | None = None) -> ConversationSearch:
        """What was said in a session, or to an agent: to this user, or to everybody where no ``user_id`` is given."""
        archive = self.passages.archive
        if isinstance(where, str):
            return ConversationSearch(archive, where, user_id=user_id, scope="agent" if user_id is None else "user")
        session = where

        async def agent() -> str:
            return (await session.open()).agent

        return ConversationSearch(archive, agent, session_id=session.session_id, scope="session")

    async def run(
        self,
        name: str,
        input: Input,
        *,
        session_id: str | None = None,
        session: SessionLike | None = None,
        user_id: str | None = None,
        invocation_state: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        on_busy: OnBusy | None = None,
        run_id: str | None = None,
        conversation_id: str | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
    ) -> RunResult:
        """Run one turn and wait for its end. How it ended is in the result; the same ``run_id`` again repeats nothing.

        With ``conversation_id``, ``previous_response_id`` or ``auto_previous_response_id`` the provider keeps the
        conversation, and only what is new is sent; ``result.last_response_id`` is the next ``previous_response_id``.

        Raises:
            UnknownName: no such agent.
            InputError: the input, the session id or the invocation state cannot be used.
            BlockScopeError: a block of scope user needs ``user_id``.
            ServerConversationError: ``conversation_id`` and its neighbours, with a session, with each other, or with a
                model whose provider does not keep conversations.
            SessionBusy: another run works on the session and ``on_busy`` is reject.
            HostUnavailable: no host could serve it; call again with the same ``run_id``.
        """
        request, sealed = await self._request(
            *(name, input, session_id, session, user_id, invocation_state, limits, on_busy, run_id),
            (conversation_id, previous_response_id, auto_previous_response_id),
        )
        result = self._types.typed(await self.dispatcher.run(request, sealed))
        if session is not None:
            await self._keep(session, result)
        return result

    async def stream(
        self,
        name: str,
        input: Input,
        *,
        session_id: str | None = None,
        session: SessionLike | None = None,
        user_id: str | None = None,
        invocation_state: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        on_busy: OnBusy | None = None,
        run_id: str | None = None,
        conversation_id: str | None = None,
        previous_response_id: str | None = None,
        auto_previous_response_id: bool = False,
    ) -> AsyncIterator[RunEvent]:
        """Run one turn and give its events as they happen; the last one, :class:`RunEnded`, has the result.

        Leaving the loop early cancels the run. Errors as in :meth:`run`.
        """
        request, sealed = await self._request(
            *(name, input, session_id, session, user_id, invocation_state, limits, on_busy, run_id),
            (conversation_id, previous_response_id, auto_previous_response_id),
        )
        async with aclosing(self.dispatcher.stream(request, sealed)) as events:  # type: ignore[type-var]
            async for event in events:
                if session is not None and hasattr(event, "result"):
                    await self._keep(session, event.result)
                yield self._typed_event(event)

    async def resume(
        self,
        run: str | Mapping[str, Json],
        responses: Mapping[str, Response] | None = None,
        *,
        invocation_state: Mapping[str, object] | None = None,
    ) -> RunResult:
        """Go on with a run that waits for answers, or whose caller and host have died; what was done is not repeated.

        ``run`` is its id, or its state (``result.to_state()``). ``responses`` answer all that it asks, by the ids of
        ``result.interrupts``. One that has ended gives its stored result (for 15 minutes), unless it is answered.

        Raises:
            RunNotFound: no such run is stored.
            UnknownInterrupt, MissingAnswer, AlreadyAnswered, RunFinished: the answers are not those that the run waits
                for; nothing was changed.
            DefinitionChanged: the agent has changed so that the run cannot go on; it is kept as it is.
            InputError: an answer is none to what was asked. Or the run came with an ``invocation_state``, which is
                never stored: hand it in again. Or it is part of another run.
        """
        ready = await prepared(self.store, run, responses or {}, invocation_state)
        return self._types.typed(ready if isinstance(ready, RunResult) else await self.dispatcher.run(*ready))

    async def resume_stream(
        self,
        run: str | Mapping[str, Json],
        responses: Mapping[str, Response] | None = None,
        *,
        invocation_state: Mapping[str, object] | None = None,
    ) -> AsyncIterator[RunEvent]:
        """As :meth:`resume`, giving the events; the last one, :class:`RunEnded`, has the result. Errors as there."""
        ready = await prepared(self.store, run, responses or {}, invocation_state)
        if isinstance(ready, RunResult):
            yield RunEnded(run_id=ready.run_id, agent=ready.last_agent, result=self._types.typed(ready))
            return
        async with aclosing(self.dispatcher.stream(*ready)) as events:  # type: ignore[type-var]
            async for event in events:
                yield self._typed_event(event)

    def _typed_event(self, event: RunEvent) -> RunEvent:
        return replace(event, result=self._types.typed(event.result)) if isinstance(event, RunEnded) else event

    async def drain(self, session_id: str | None = None, *, seconds: float = 60.0) -> None:
        """Wait until no sleep-time pass or closing is due or at work (of one session, or of the namespace).

        For programs and tests that want to see what memory becomes; a turn never waits for a pass.

        Raises:
            TimeoutError: passes were still due after ``seconds``.
        """
        passes, closings = PassStore(self.store), ClosingStore(self.store)
        async with asyncio.timeout(seconds):
            while any(  # noqa: ASYNC110 - other processes do the passes
                session_id in (None, split_thread(thread)[1])
                for thread in (*await passes.pending(), *await closings.pending())
            ):
                await asyncio.sleep(DRAIN_SECONDS)

    async def cancel(self, run_id: str, mode: CancelMode = "now") -> bool:
        """Stop a run; the log stays valid. False when no host serves it and it does not wait.

        ``now`` stops it at its next await; ``after_step`` lets what runs (tools, a model call, nodes) end first, and
        nothing new starts. A run that gives its answer in that step is completed.
        One that waits for an answer ends: what it asked for did not run, and its session is free.
        """
        if await self.dispatcher.cancel(run_id, mode):
            return True
        run = await RunStore(self.store).get(run_id)
        if run is None or run.status != "interrupted" or run.parent:
            return False
        await self.dispatcher.run(ending(run, "cancelled"), None)
        return True

    async def _request(
        self,
        name: str,
        input_: Input,
        session_id: str | None,
        session: SessionLike | None,
        user_id: str | None,
        invocation_state: Mapping[str, object] | None,
        limits: Limits | None,
        on_busy: OnBusy | None,
        run_id: str | None,
        server_side: tuple[str | None, str | None, bool],
    ) -> tuple[RunRequest, Sealed | None]:
        conversation = asked_for(*server_side, with_session=session is not None or session_id is not None)
        if session is not None and session_id is not None:
            raise InputError("give session_id= or session=, not both")
        messages = as_messages(input_)
        for message in messages:
            if problem := fault(message.to_json(), "input"):
                raise InputError(": ".join(problem))
        if session_id is not None:
            check_session(session_id)
        if user_id is not None:
            check_user(user_id)
        sealed = Sealed.of(invocation_state)
        request = RunRequest(
            run_id=run_id or uuid.uuid4().hex,
            agent=name,
            input=messages,
            session_id=session_id,
            user_id=user_id,
            limits=limits,
            on_busy=on_busy,
            needs_invocation_state=sealed is not None,
            conversation=conversation,
        )
        if isinstance(session, SessionHandle):
            found = await session.open()
            if found.agent == name:
                return replace(request, session_id=session.session_id), sealed
        if session is not None:
            items = await session.get_items()
            history = tuple(i if isinstance(i, Message) else Message.from_json(i) for i in items)
            request = replace(request, history=history)
        return request, sealed

    @staticmethod
    async def _keep(session: SessionLike, result: RunResult) -> None:
        """A foreign session object has no atomic commit: what the turn made is appended when it has ended."""
        if result.session_id is None and result.status == "completed":
            keep_messages = isinstance(session, SessionHandle)
            await session.add_items([m if keep_messages else m.to_json(meta=False) for m in result.messages])


def _numbers(messages: Iterable[Message | int] | None) -> set[int] | None:
    return None if messages is None else {one if isinstance(one, int) else one.meta.seq for one in messages}


class SessionHandle:
    """``runtime.session(id, agent)``: the session protocol over one thread, found at the first use."""

    def __init__(self, store: Store, session_id: str, agent: str | None) -> None:
        self._store, self.session_id, self._agent = store, session_id, agent
        self._found: Session | None = None

    async def open(self) -> Session:
        """The session. Raises :class:`InputError` when several agents have it and none was named."""
        if self._found is None:
            self._found = await find_session(self._store, self.session_id, self._agent)
        return self._found

    async def get_items(self, limit: int | None = None) -> list[object]:
        """All messages, or the last ``limit``, oldest first."""
        return list(await (await self.open()).get_items(limit))

    async def add_items(self, items: list[object]) -> None:
        """Append messages, all or none."""
        await (await self.open()).add_items(items)  # type: ignore[arg-type]

    async def pop_item(self) -> Message | None:
        """Take the last message away."""
        return await (await self.open()).pop_item()

    async def learned_from(self, messages: Iterable[Message | int] | None = None) -> Sequence[LearnedLine]:
        """The lines in blocks that came from messages which were popped: from these (or their numbers), or from all."""
        return await learned_from(self._store, await self.open(), _numbers(messages))

    async def unlearn(self, messages: Iterable[Message | int] | None = None) -> Sequence[LearnedLine]:
        """Take out of the blocks what only these popped messages speak for; new edits, what stood there comes back.

        Lines that others changed since, or that other messages speak for too, stay; the answer names them all.
        """
        return await unlearn(self._store, await self.open(), _numbers(messages))

    async def rewind(self, turn: int | str | None = None, *, operation_id: str | None = None) -> list[Message]:
        """Take a turn (by number or run id; the last one) and all after it away; the messages that went."""
        return await (await self.open()).rewind(turn, operation_id=operation_id)

    async def fork(self, at_turn: int, new_id: str) -> SessionHandle:
        """A new session that begins as this one was after turn ``at_turn``, state included."""
        made = await (await self.open()).fork(at_turn, new_id)
        return SessionHandle(self._store, made.session_id, made.agent)

    async def usage(self) -> SessionUsage:
        """What the turns used, one by one and together."""
        return await (await self.open()).usage()

    async def clear_session(self) -> None:
        """Delete the messages and everything derived from them."""
        await (await self.open()).clear_session()
