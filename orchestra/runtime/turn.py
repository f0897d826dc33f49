"""The turn: one loop for running and streaming alike. Running is this loop; streaming is watching what it emits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Protocol

from orchestra.context.blocks import render
from orchestra.context.view import history_budget
from orchestra.core.errors import Fenced, LimitReached, ModelError, OrchestraError, StoreUnavailable
from orchestra.core.events import ModelReplied, TextDelta
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message, Meta, ToolCall, as_messages
from orchestra.core.model import Delta, ModelReply, ModelRequest, Usage
from orchestra.core.result import RunResult, Status
from orchestra.core.tokens import message_tokens, text_tokens
from orchestra.runtime.journal import Journal
from orchestra.runtime.server_conversation import after_replies, check_reply, last_response_id, unsent
from orchestra.runtime.turn_context import TurnContext


@dataclass(slots=True)
class Outcome:
    """How the loop ended."""

    status: Status = "completed"
    reason: str = ""
    error: str = ""
    output: Json = None


class RunTools(Protocol):
    """Runs the calls of the reply at ``position``; ``partial`` is what it has when it is cancelled in between."""

    partial: list[Message]

    async def __call__(self, position: int, calls: Sequence[ToolCall]) -> list[Message]:
        """One result message per call, in order."""


class Turn:
    """One turn from its input to its outcome. The journal is asked before each model call and each tool."""

    def __init__(self, context: TurnContext, journal: Journal, run_tools: RunTools) -> None:
        self.context, self._journal, self._run_tools = context, journal, run_tools

    async def work(self) -> Outcome:
        """Model calls and tools until the model is finished. Never raises but ``Fenced`` and what stops the host."""
        context = self.context
        try:
            async with asyncio.timeout(context.limits.seconds):
                await context.hooks.call("before_run")
                output = await self._loop()
            return Outcome(output=output)
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
        except (Fenced, StoreUnavailable):
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
        if context.open_workspace is not None:
            context.workspace = await context.open_workspace()
        while True:
            if context.cancelled:
                raise asyncio.CancelledError
            position = len(context.replies)
            self._check_limits(position)
            reply = await self._reply(position)
            context.replies.append(reply)
            message = self._stamped(reply.message)
            context.messages.append(message)
            if not message.tool_calls:
                return message.text
            limit = context.limits.tool_calls
            if limit is not None and context.usage.tool_calls + len(message.tool_calls) > limit:
                raise LimitReached("tool_calls", limit)
            context.usage += Usage(tool_calls=len(message.tool_calls))
            try:
                results = await self._run_tools(position, message.tool_calls)
            except asyncio.CancelledError:
                context.messages.extend(map(self._stamped, self._run_tools.partial))
                raise
            context.messages.extend(map(self._stamped, results))
            if any(call.name in context.final_tools for call in message.tool_calls):
                return message.text

    def _check_limits(self, calls: int) -> None:
        limits, usage = self.context.limits, self.context.usage
        if limits.model_calls is not None and calls >= limits.model_calls:
            raise LimitReached("model_calls", limits.model_calls)
        if limits.tokens is not None and usage.total_tokens >= limits.tokens:
            raise LimitReached("tokens", limits.tokens)

    async def _reply(self, position: int) -> ModelReply:
        """The reply of the ``position``-th model call of this run: from the journal when it was made before."""
        context = self.context
        known = self._journal.known(f"m:{position}")
        if known is not None:
            reply = ModelReply.from_json(loads(known))
        else:
            view = self.view()
            request = await context.hooks.change("before_model", view)
            # A hook that makes a request anew decides what is said, not where: without this the provider would forget.
            reply = await self._ask(replace(request, conversation=view.conversation))
            await context.hooks.call("after_model", reply)
            if reply.message.tool_calls:
                failpoint("turn.replied")
                await self._journal.write(f"m:{position}", dumps(reply.to_json()))
                failpoint("turn.reply_journaled")
        context.usage += replace(reply.usage, model_calls=1)
        context.tell(ModelReplied, call_number=position, usage=reply.usage, model=reply.model)
        return reply

    async def _ask(self, request: ModelRequest) -> ModelReply:
        context = self.context
        reply: ModelReply | None = None
        stream = context.loaded.model.stream(request)
        async with aclosing(stream) as items:  # type: ignore[type-var]
            async for item in items:
                if isinstance(item, Delta):
                    context.tell(TextDelta, text=item.text, kind=item.kind)
                else:
                    reply = item
        if reply is None:
            raise ModelError(context.loaded.model.name, "the stream ended without a reply")
        check_reply(context.loaded.model, request.conversation, reply, context.messages)
        return reply

    def view(self) -> ModelRequest:
        """What the model is shown: blocks and instructions, the part of the log that fits, and this turn so far."""
        context = self.context
        agent = context.loaded.agent
        parts = [part for part in (render(context.blocks.ordered), agent.instructions) if part]
        system = (Message("system", "\n\n".join(parts)),) if parts else ()
        fixed = sum(text_tokens(part) for part in parts) + sum(message_tokens(message) for message in context.messages)
        kept = after_replies(context.request.conversation, context.replies)
        shown: Sequence[Message]
        if kept is not None and context.replies:
            shown = unsent(context.messages)
        elif agent.conversation.strategy == "full":
            shown = self._merged(context.history(1 << 60))
        else:
            shown = self._merged(context.history(history_budget(agent.context_tokens, fixed)))
        return ModelRequest(
            (*system, *shown),
            context.specs,
            agent.model_settings,
            call_number=context.calls_before + len(context.replies),
            conversation=kept,
        )

    def _merged(self, history: Sequence[Message]) -> Sequence[Message]:
        """History and this turn, joined by the agent's ``session_input_callback`` when it has one.

        The callback gets copies and shapes only what is shown: what is stored is this turn, whatever it returns.
        """
        merge, messages = self.context.loaded.merge, self.context.messages
        if merge is None:
            return (*history, *messages)
        count = len(self.context.request.input)
        made = merge(deepcopy(list(history)), deepcopy(messages[:count]))
        return (*as_messages(list(made)), *messages[count:])

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
            usage_by_agent={context.request.agent: context.usage},
            session_id=context.request.session_id,
            turn=turn,
            host=host,
            last_response_id=last_response_id(context.request.conversation, context.replies),
        )
