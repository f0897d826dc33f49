"""The turn: one loop for running and streaming alike. Running is this loop; streaming is watching what it emits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from orchestra.context.missing_result import without_malformed
from orchestra.core.errors import (
    ContextOverflow,
    DefinitionChanged,
    Fenced,
    LimitReached,
    ModelError,
    OrchestraError,
    OutputError,
    StoreUnavailable,
)
from orchestra.core.events import ModelReplied, TextDelta
from orchestra.core.failpoints import failpoint
from orchestra.core.guardrails import GuardrailResult
from orchestra.core.interrupts import Interrupt, InterruptView
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message, Meta, ToolCall
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from orchestra.core.result import RunResult, Status
from orchestra.runtime.guardrails import GuardrailTripped
from orchestra.runtime.journal import Journal
from orchestra.runtime.questions import Ask
from orchestra.runtime.server_conversation import after_replies, check_reply, last_response_id, unsent
from orchestra.runtime.turn_context import TurnContext
from orchestra.runtime.turn_start import start_turn

MISFIT = "(An answer that did not fit the schema; it is not shown.)"
"""Stands for such an answer where answers are judged before they are shown. No JSON, so it fits no schema either."""


@dataclass(slots=True)
class Outcome:
    """How the loop ended."""

    status: Status = "completed"
    reason: str = ""
    error: str = ""
    output: Json = None
    interrupts: tuple[InterruptView, ...] = ()
    guardrail_results: tuple[GuardrailResult, ...] = ()


class _Over(Exception):
    """A run that is only to be ended has no more that is known; or one that is being cancelled has ended its step."""


class RunTools(Protocol):
    """Runs the calls of the reply at ``position``; ``partial`` is what it has when it is cancelled in between.

    Raises :class:`Interrupt` when calls wait for an answer and all others have ended.
    """

    partial: list[Message]

    async def __call__(self, position: int, calls: Sequence[ToolCall]) -> list[Message]:
        """One result message per call, in order."""


class Work(Protocol):
    """What a run does between its begin and its commit: a turn of an agent, or a run of a swarm or graph."""

    context: TurnContext

    async def work(self) -> Outcome:
        """Do it. Never raises but ``Fenced`` and what stops the host."""

    def finished_messages(self, outcome: Outcome) -> tuple[Message, ...]:
        """What of it goes into the log."""

    def result(self, outcome: Outcome, messages: tuple[Message, ...], *, turn: int, host: str) -> RunResult:
        """The result of the run; ``messages`` are its :meth:`finished_messages`."""


class Turn:
    """One turn from its input to its outcome. The journal is asked before each model call and each tool."""

    def __init__(self, context: TurnContext, journal: Journal, run_tools: RunTools) -> None:
        self.context, self._journal, self._run_tools = context, journal, run_tools
        self._misfits = 0
        self._held: list[Delta] = []
        self._unfit = ""

    async def work(self) -> Outcome:
        """Model calls and tools until the model is finished. Never raises but ``Fenced`` and what stops the host."""
        context = self.context
        try:
            async with asyncio.timeout(context.limits.seconds) as clock:
                context.ends = clock.when()
                await context.hooks.call("before_run", ask=context.questions.asker("run"))
                output = await self._loop()
            return Outcome(output=output)
        except Interrupt as asked:
            return Outcome("interrupted", "interrupt", str(asked), interrupts=asked.interrupts)
        except GuardrailTripped as tripped:
            context.messages.extend(map(self._stamped, tripped.finished))
            return Outcome("failed", "guardrail", str(tripped.result), guardrail_results=(tripped.result,))
        except _Over:
            return Outcome("cancelled", context.request.ending or "cancelled")
        except LimitReached as reached:
            return Outcome("limit", reached.limit, str(reached))
        except TimeoutError:
            seconds = context.limits.seconds or 0
            return Outcome("limit", "seconds", f"the run reached its limit seconds={seconds:g}")
        except asyncio.CancelledError:
            if not (context.cancelled or asyncio.current_task().cancelling()):  # type: ignore[union-attr]
                return Outcome("failed", "error", "CancelledError: something that the run waited for was cancelled")
            context.cancelled = True
            return Outcome("cancelled", "cancelled")
        except (Fenced, StoreUnavailable, DefinitionChanged):
            raise  # the run is not ours any more, or cannot be stored: nothing may be said about how it ended
        except ModelError as error:
            return Outcome("failed", "model", str(error))
        except OrchestraError as error:
            return Outcome("failed", type(error).__name__, str(error))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit of a hook or a client library too: it ends no host
            return Outcome("failed", "error", f"{type(error).__name__}: {error}")

    async def _loop(self) -> Json:
        context = self.context
        self._journal.check()
        if context.open_workspace is not None and not context.request.ending:
            context.workspace = await context.open_workspace()
        await start_turn(context)
        while True:
            if context.cancelled:
                raise asyncio.CancelledError
            position = len(context.replies)
            if context.finishing.is_set() or (context.request.ending and self._journal.known(f"m:{position}") is None):
                raise _Over
            context.check_limits()
            reply = await self._reply(position)
            context.replies.append(reply)
            message = self._stamped(reply.message)
            context.messages.append(message)
            if not message.tool_calls:
                if context.output is None:
                    return message.text
                try:
                    return context.output.parsed(message.text)
                except ValueError as problem:
                    await self._ask_again(position, reply, self._unfit or str(problem))
                continue
            context.check_limits(len(message.tool_calls))
            context.usage += Usage(tool_calls=len(message.tool_calls))
            try:
                results = await self._run_tools(position, message.tool_calls)
            except asyncio.CancelledError:
                context.messages.extend(map(self._stamped, self._run_tools.partial))
                raise
            context.messages.extend(map(self._stamped, results))
            if any(result.name in context.final_tools and not result.is_error for result in results):
                return message.text

    async def _reply(self, position: int) -> ModelReply:
        """The reply of the ``position``-th model call of this run: from the journal when it was made before."""
        context = self.context
        context.closing = False
        known, ask = self._journal.known(f"m:{position}"), context.questions.asker(f"m{position}")
        if known is not None:
            value = loads(known)
            reply = ModelReply.from_json(value)
            context.prompt.replay(value.get("context"))
            reply = await self._judged(position, reply)
            if "asking" in value and self._journal.known(f"h:{position}") is None and not context.request.ending:
                await context.hooks.call("after_model", reply, ask=ask)
                await self._journal.mark(f"h:{position}", "1")  # from here on its tools may have started
        else:
            reply = await self._judged(position, await self._shown(ask))
            try:
                await context.hooks.call("after_model", reply, ask=ask)
            except Interrupt:  # the reply is kept, so that the model is not asked again
                await self._journal.write(f"m:{position}", dumps({**self._entry(reply), "asking": True}))
                raise
            calls = reply.message.tool_calls
            context.closing = context.ends_with is not None and len(calls) == 1 and context.ends_with(calls[0])
            if calls and not context.closing:
                failpoint("turn.replied")
                await self._journal.write(f"m:{position}", dumps(self._entry(reply)))
                failpoint("turn.reply_journaled")
        context.prompt.replied(reply, len(context.messages))
        context.usage += replace(reply.usage, model_calls=1)
        context.tell(ModelReplied, call_number=position, usage=reply.usage, model=reply.model)
        return reply

    async def _judged(self, position: int, reply: ModelReply) -> ModelReply:
        """The reply as it may be shown, kept and told to hooks; what was held back of its text is told now.

        An answer is looked at before anything of it leaves this method, and again when it comes from the journal: the
        guardrails may be others since. One that does not fit its type is asked for again, so nobody has judged it and
        nobody sees it.

        Raises:
            GuardrailTripped: it may not be shown; it counts as used, and is forgotten.
        """
        context, guardrails = self.context, self.context.guardrails
        if guardrails is None or not guardrails.of_answer:
            return reply
        if not reply.message.tool_calls:
            try:
                answer = reply.message.text if context.output is None else context.output.parsed(reply.message.text)
            except ValueError as problem:
                self._held, self._unfit = [], str(problem)
                return replace(reply, message=Message("assistant", MISFIT))
            try:
                await guardrails.output(answer)
            except GuardrailTripped:
                context.usage += replace(reply.usage, model_calls=1)
                context.tell(ModelReplied, call_number=position, usage=reply.usage, model=reply.model)
                raise
        for delta in self._held:
            context.tell(TextDelta, text=delta.text, kind=delta.kind)
        self._held = []
        return reply

    async def _ask_again(self, position: int, reply: ModelReply, problem: str) -> None:
        """Ask once more for an answer that does not fit the output type. Raises :class:`OutputError` after that."""
        if self._misfits:
            raise OutputError(self.context.request.agent, problem)
        self._misfits += 1
        # Kept like a reply with calls, so that a host that goes on from here asks again at the same place.
        if self._journal.known(f"m:{position}") is None:
            await self._journal.write(f"m:{position}", dumps(self._entry(reply)))
        text = (
            f"That does not fit the schema of the answer: {problem}. Answer again, with nothing but JSON that fits it."
        )
        message = Message("user", text)
        self.context.messages.append(self._stamped(replace(message, meta=Meta(synthetic=True))))

    def _entry(self, reply: ModelReply) -> dict[str, Json]:
        entry = reply.to_json()
        if decided := self.context.prompt.journaled():
            entry["context"] = decided
        return entry

    async def _shown(self, ask: Ask) -> ModelReply:
        """Show the view and get the reply; one that the provider finds too long is made shorter and shown again."""
        context, overflows = self.context, 0
        while True:
            await context.prompt.prepare()
            view = self.view()
            context.tell_decisions()
            request = await context.hooks.change("before_model", view, ask=ask)
            try:
                # A hook that makes a request anew decides what is said, not where: without this the provider would
                # forget.
                return await self._ask(replace(request, conversation=view.conversation))
            except ContextOverflow as error:
                if overflows >= context.loaded.agent.conversation.compaction.max_overflows or view.conversation:
                    raise
                overflows += 1
                await context.make_room(overflows, str(error))

    async def _ask(self, request: ModelRequest) -> ModelReply:
        context = self.context
        reply: ModelReply | None = None
        stream, self._held = context.loaded.model.stream(request), []
        held_back = context.guardrails is not None and context.guardrails.of_answer
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                if isinstance(item, Delta) and held_back:
                    self._held.append(item)
                elif isinstance(item, Delta):
                    context.tell(TextDelta, text=item.text, kind=item.kind)
                else:
                    reply = item
        if reply is None:
            raise ModelError(context.loaded.model.name, "the stream ended without a reply")
        check_reply(context.loaded.model, request.conversation, reply, context.messages)
        message = without_malformed(reply.message)
        if message is None:
            raise ModelError(context.loaded.model.name, "the reply is nothing but a tool call without an id or a name")
        return reply if message is reply.message else replace(reply, message=message)

    def view(self) -> ModelRequest:
        """What the model is shown; see :class:`orchestra.runtime.prompt.Prompt`."""
        context = self.context
        kept = after_replies(context.request.conversation, context.replies)
        fresh = unsent(context.messages) if kept is not None and context.replies else None
        schema = None if context.output is None else context.output.schema
        return replace(context.prompt.request(context, unsent=fresh), conversation=kept, output_schema=schema)

    def _stamped(self, message: Message) -> Message:
        request = self.context.request
        synthetic = message.meta.synthetic
        return message.with_meta(
            Meta(agent=request.agent, run=request.run_id, created_at=time.time(), synthetic=synthetic)
        )

    def finished_messages(self, outcome: Outcome) -> tuple[Message, ...]:
        """What of this turn goes into the log: all of it, or of a turn that did not complete only finished pairs."""
        messages = self.context.messages
        if outcome.status == "completed":
            return tuple(messages)
        end = len(messages)
        while end > 0 and messages[end - 1].tool_calls:
            end -= 1
        if outcome.status == "interrupted":
            return tuple(messages[:end])
        return tuple(m.with_meta(replace(m.meta, aborted=True)) for m in messages[:end])

    def result(self, outcome: Outcome, messages: tuple[Message, ...], *, turn: int, host: str) -> RunResult:
        """The result of the run; ``messages`` are its :meth:`finished_messages`."""
        context = self.context
        return RunResult(
            run_id=context.request.run_id,
            status=outcome.status,
            output=outcome.output,
            reason=outcome.reason,
            error=outcome.error,
            messages=messages,
            raw_responses=tuple(context.replies),
            last_agent=context.request.agent,
            usage=context.usage,
            usage_by_agent=context.usage_by_agent,
            session_id=context.request.session_id,
            turn=turn,
            host=host,
            last_response_id=last_response_id(context.request.conversation, context.replies),
            interrupts=outcome.interrupts,
            guardrail_results=outcome.guardrail_results,
        )
