"""The tool calls of one reply: in parallel, journaled one by one, results in the order of the calls."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from orchestra.core.blocks import BlockView
from orchestra.core.errors import DefinitionChanged, Fenced, OrchestraError, StoreUnavailable, ToolError
from orchestra.core.events import BlockEdited, ContextDecided, Emitted, ToolEnded, ToolStarted
from orchestra.core.failpoints import failpoint
from orchestra.core.guardrails import GuardrailResult
from orchestra.core.interrupts import Interrupt
from orchestra.core.jsontext import Json, copied, dumps, loads
from orchestra.core.messages import Message, Meta, ToolCall
from orchestra.core.model import Usage
from orchestra.memory.state import AgentState, StateValues
from orchestra.models.surrogates import whole
from orchestra.runtime.child_runs import ChildRuns, tool_answer, usage_from, usage_json
from orchestra.runtime.child_tool import ChildTool
from orchestra.runtime.guardrails import GuardrailTripped
from orchestra.runtime.heartbeat import without_heartbeat
from orchestra.runtime.journal import Journal
from orchestra.runtime.questions import asked_in
from orchestra.runtime.run_blocks import CallBlocks
from orchestra.runtime.sealed import Sealed
from orchestra.runtime.tool import Tool, as_text
from orchestra.runtime.tool_context import AgentHandle, ToolContext
from orchestra.runtime.turn_context import TurnContext
from orchestra.runtime.waiting_calls import Waited, WaitingCalls

UNKNOWN_OUTCOME = (
    "The host died while this tool was running. It may or may not have run; it was not started again. "
    "Check before you repeat it."
)
LET_ITSELF_GO = "CancelledError: the tool cancelled itself. It may or may not have done its work."
STOPPED = "The run was stopped while this tool was running. It may or may not have run."
NOT_ALLOWED = "The call did not run: a guardrail stopped the run."
NOT_ANSWERED = "The run was ended while this call waited for an answer."


@dataclass(slots=True)
class ToolCalls:
    """Runs tools for one turn. ``resumed``: this host continues what another one began."""

    context: TurnContext
    journal: Journal
    state: StateValues
    invocation_state: Sealed | None
    resource: Callable[[str], object]
    resumed: bool
    children: ChildRuns | None = None
    partial: list[Message] = field(default_factory=list)
    views: dict[str, AgentState] = field(default_factory=dict)
    used: dict[str, dict[str, Usage]] = field(default_factory=dict)
    stopped: dict[str, GuardrailResult] = field(default_factory=dict)
    waiting: WaitingCalls = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = WaitingCalls(self.context.questions, self.journal)

    async def __call__(self, position: int, calls: Sequence[ToolCall]) -> list[Message]:
        """Run the calls of one reply. A tool that raises gives an error result; its siblings' results are kept.

        When the run is cancelled, siblings that have finished stay journaled: the turn is committed with them. When one
        waits for an answer, its siblings finish and are journaled first; then :class:`Interrupt` is raised.
        """
        from_journal = self.resumed and self._may_have_started(position)
        seen = {block.id: block.version for block in self.context.blocks.ordered}
        tasks: list[asyncio.Task[Message | None]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks.extend(
                    group.create_task(self._one(f"{position}.{index}", call, seen, from_journal))
                    for index, call in enumerate(calls)
                )
        except BaseExceptionGroup as raised:
            raise raised.exceptions[0] from None  # Fenced or StoreUnavailable: everything else is a result
        except asyncio.CancelledError:
            self.partial = [
                self._stopped(f"{position}.{index}", task, call)
                for index, (task, call) in enumerate(zip(tasks, calls, strict=True))
            ]
            raise
        if self.stopped:
            names = [f"{position}.{index}" for index in range(len(calls))]
            first = next(self.stopped[name] for name in names if name in self.stopped)
            ended = zip(names, tasks, calls, strict=True)
            raise GuardrailTripped(first, [self._stopped(name, task, call) for name, task, call in ended])
        if self.waiting.asked:
            raise self.waiting.all_asked([f"{position}.{index}" for index in range(len(calls))])
        return [
            _message(call, LET_ITSELF_GO, True) if task.cancelled() else cast("Message", task.result())
            for task, call in zip(tasks, calls, strict=True)
        ]

    def _may_have_started(self, position: int) -> bool:
        """Whether an earlier part of this run knew these calls, and no hook had kept it from starting them."""
        known = self.journal.known(f"m:{position}")
        if known is None:
            return False
        return "asking" not in loads(known) or self.journal.known(f"h:{position}") is not None

    def _stopped(self, name: str, task: asyncio.Task[Message | None], call: ToolCall) -> Message:
        """What a cancelled run keeps of one call: the result, or that it was stopped and what it set is taken back."""
        if task.done() and not task.cancelled() and task.exception() is None:
            return task.result() or _message(call, NOT_ANSWERED, True, True)
        if name in self.views:
            self.state.forget(self.views[name])
        return _message(call, STOPPED, True, True)

    async def _one(self, name: str, call: ToolCall, seen: dict[str, int], from_journal: bool) -> Message | None:
        """The result of one call; ``None`` when it waits for an answer."""
        known = self.journal.known(f"t:{name}")
        if known is not None:
            for operation in loads(known)["state"]:
                self.state.apply(tuple(operation))
            entry = loads(known)
            self.context.count(usage_from(entry.get("usage")))
            return _message(call, entry["content"], entry["is_error"], entry.get("synthetic", False))
        tool, waited = self.context.tools.get(call.name), self.waiting.waited(name)
        if self.context.request.ending:
            return await self._ended(name, call, tool, waited)
        tell = self.context.tell
        tell(ToolStarted, call_id=call.id, tool=call.name, arguments=copied(dict(call.arguments)))
        view = self.views[name] = self.state.view()
        synthetic = False
        if tool is None:
            names = ", ".join(self.context.tools) or "none"
            content, is_error = f"there is no tool {call.name!r}; the tools are: {names}", True
        else:
            lost = from_journal and not tool.idempotent and not self.waiting.startable(name, waited)
            try:
                content, is_error, synthetic = await self._run(name, call, seen, view, waited, lost)
            except Interrupt as asked:
                if waited.content is None:
                    self.state.forget(view)  # it starts again, from the beginning
                self.waiting.wait(name, waited, asked)
                return None
            except GuardrailTripped as tripped:  # not journaled: whoever goes on from here judges again
                self.stopped[name] = tripped.result
                tell(ToolEnded, call_id=call.id, tool=call.name, content=NOT_ALLOWED, is_error=True)
                return _message(call, NOT_ALLOWED, True, True)
            finally:
                view.close()
        content = await self._put_away(name, call, content)
        state = waited.state if waited.content is not None else [list(item) for item in view.changes()]
        value = {"content": content, "is_error": is_error, "state": state}
        if synthetic:
            value["synthetic"] = True
        if name in self.used:
            value["usage"] = usage_json(self.used[name])
        failpoint("turn.tool_done")
        if not self.context.closing:
            await self.journal.write(f"t:{name}", dumps(value))
        failpoint("turn.tool_journaled")
        tell(ToolEnded, call_id=call.id, tool=call.name, content=content, is_error=is_error)
        return _message(call, content, is_error, synthetic)

    async def _put_away(self, name: str, call: ToolCall, content: str) -> str:
        """A result that is too large for the prompt is put away before it is journaled."""
        offloads = self.context.offloads
        if offloads is None:
            return content
        shown = await offloads.shown(name, call.name, content)
        if shown is not content:
            reason = f"{call.name} gave {len(content)} characters; the beginning and the end are shown"
            self.context.tell(ContextDecided, part="offload", decision="yes", reason=reason)
        return shown

    async def _ended(self, name: str, call: ToolCall, tool: Tool | None, waited: Waited) -> Message:
        """What a run that is ended, not resumed, keeps of a call without a result. Nothing of it runs any more."""
        if isinstance(tool, ChildTool) and waited.rounds:
            with contextlib.suppress(ToolError):
                await self._child(name, tool, call.arguments, waited)
        never = self.waiting.startable(name, waited)
        return _message(call, NOT_ANSWERED if never else STOPPED, True, True)

    async def _run(
        self, name: str, call: ToolCall, seen: dict[str, int], view: AgentState, waited: Waited, lost: bool
    ) -> tuple[str, bool, bool]:
        """(What the model gets, whether it is an error, whether it was made up); ``lost``: it may have run before.

        Raises:
            Interrupt: the call waits for an answer; ``waited`` then says how far it got.
        """
        tool, hooks = self.context.tools[call.name], self.context.hooks
        if lost and not self.waiting.may_ask(tool, waited):
            await self._rejected(call, call.arguments)  # what was stopped is stopped again
            return UNKNOWN_OUTCOME, True, True
        # Copies: what hooks and tools do to nested arguments is not done to the message in the log.
        arguments, seen_by_hooks = (cast("dict[str, Json]", copied(dict(call.arguments))) for _ in range(2))
        shown = replace(call, arguments=seen_by_hooks)
        arguments = without_heartbeat(tool.spec, arguments)
        ask = self.context.questions.asker(name, call.name, arguments)
        try:
            if waited.content is None:
                if waited.arguments is None:
                    arguments = await hooks.change("before_tool", arguments, shown, ask=ask)
                if (rejection := await self._rejected(call, waited.arguments or arguments)) is not None:
                    return rejection, True, False
                if (refusal := await self.waiting.refused(name, tool, arguments, waited)) is not None:
                    return refusal, True, False
                if lost:
                    return UNKNOWN_OUTCOME, True, True
                if waited.arguments is not None:
                    arguments = cast("dict[str, Json]", copied(waited.arguments))
                await self.waiting.starting(name, tool, waited)
                if isinstance(tool, ChildTool):
                    content = await self._child(name, tool, arguments, waited)
                else:
                    content = await tool.run(arguments, self.surroundings(name, call, seen, view))
            else:
                content = self._had(name, waited)
            try:
                content = await hooks.change("after_tool", content, shown, ask=ask)
            except Interrupt:
                self._keep(name, content, view, waited)
                raise
            return whole(as_text(content)), False, False
        except (Fenced, DefinitionChanged, GuardrailTripped):
            raise
        except StoreUnavailable as error:
            if error.url == self.context.blocks.store.store.address:
                raise
            return str(error), True, False  # the tool's own business with some other server
        except asyncio.CancelledError:
            if self.context.cancelled or asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return "CancelledError: something that the tool waited for was cancelled", True, False
        except (KeyboardInterrupt, GeneratorExit, Interrupt):
            raise
        except BaseException as error:  # SystemExit too, which a library raises for wrong arguments: it ends no host
            if (asked := asked_in(error)) is not None:
                raise asked from None
            return _described(error), True, False

    async def _rejected(self, call: ToolCall, arguments: Mapping[str, Json]) -> str | None:
        """What the model reads when a guardrail rejects the call. Raises :class:`GuardrailTripped`."""
        guardrails = self.context.guardrails
        return None if guardrails is None else await guardrails.tool(call, arguments)

    def _keep(self, name: str, content: str, view: AgentState, waited: Waited) -> None:
        """A hook asks about the result of a tool, which has run: it is kept, so that the tool does not run again."""
        if waited.content is None:
            waited.content, waited.state = content, [list(item) for item in view.changes()]
            waited.usage = usage_json(self.used.get(name, {}))

    def _had(self, name: str, waited: Waited) -> str:
        """The kept result, and what came with it."""
        for operation in waited.state:
            self.state.apply(tuple(operation))
        if waited.usage:
            self.used[name] = usage_from(waited.usage)
            self.context.count(self.used[name])
        return cast("str", waited.content)

    async def _child(self, name: str, tool: ChildTool, arguments: Mapping[str, Json], waited: Waited) -> str:
        """The answer of an agent that is called as a tool. Raises :class:`ToolError` when it has none.

        An interrupted child interrupts this run: the questions are the child's, and so are the answers.
        """
        assert self.children is not None, "whoever gives agents as tools says how to run them"
        messages = tool.messages(arguments)
        result = await self.children.run(
            tool.target, messages, name=name, place=tool.name, memory=tool.memory, carried=waited.carried
        )
        self.context.count(result.usage_by_agent)
        if result.interrupts:
            waited.carried = None if result.carried is None else dict(result.carried)
            raise Interrupt(*result.interrupts)
        self.used[name] = dict(result.usage_by_agent)
        return tool_answer(result)

    def surroundings(self, name: str, call: ToolCall, seen: dict[str, int], view: AgentState) -> ToolContext:
        """What the tool gets beside its arguments; ``seen`` are the versions of the blocks that the model was shown."""
        request = self.context.request

        async def once(piece: str, function: Callable[[], object]) -> Json:
            entry = f"o:{name}.{piece}"
            if (known := self.journal.known(entry)) is not None:
                return loads(known)  # type: ignore[no-any-return]
            value = function()
            if inspect.isawaitable(value):
                value = await value
            return loads(await self.journal.write(entry, dumps(value)))  # type: ignore[no-any-return]

        def checkpoint() -> None:
            if self.context.cancelled:
                raise asyncio.CancelledError

        loop, thread = asyncio.get_running_loop(), threading.get_ident()

        def emit(value: Json) -> None:
            tell = functools.partial(self.context.tell, Emitted, value=copied(value))
            if threading.get_ident() == thread:
                tell()
            else:  # a sync tool, in a thread of its own: events are counted and queued on the loop only
                loop.call_soon_threadsafe(tell)

        return ToolContext(
            agent=AgentHandle(request.agent, view),
            invocation_state=self.invocation_state.open() if self.invocation_state is not None else {},
            session_id=request.session_id,
            user_id=request.user_id,
            run_id=request.run_id,
            call_id=call.id,
            blocks=CallBlocks(self.context.blocks, name, seen),
            once=once,
            checkpoint=checkpoint,
            resource=self.resource,
            emit=emit,
            archive=None if self.context.archive is None else self.context.archive(name),
            workspace=self.context.workspace,
            offloads=self.context.offloads,
            time_zone=self.context.loaded.agent.conversation.time_zone,
            interrupt=self.context.questions.asker(name, call.name, call.arguments),
        )


def notify_edits(context: TurnContext) -> None:
    """Let block edits of this turn show up among its events."""

    def notify(block: BlockView, version: int, operation: str) -> None:
        context.tell(BlockEdited, block_id=block.id, label=block.label, version=version, operation=operation)

    context.blocks.notify = notify


def _described(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        return whole(str(error) if isinstance(error, OrchestraError) else f"{kind}: {error}")
    except Exception:
        return kind  # not even its text can be made


def _message(call: ToolCall, content: str, is_error: bool, synthetic: bool = False) -> Message:
    made = Message("tool", content, tool_call_id=call.id, name=call.name, is_error=is_error)
    return replace(made, meta=Meta(synthetic=True)) if synthetic else made
