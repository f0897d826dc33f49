"""The memory flush: before old messages become a summary, the agent saves what matters, in a run that nobody sees."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestra.context.flush_gate import flush_due
from orchestra.context.silent_reply import TOKEN, is_silent, visible
from orchestra.core.agent import Limits
from orchestra.core.blocks import Access
from orchestra.core.events import ContextDecided
from orchestra.core.messages import Message, Meta
from orchestra.memory.state import StateValues
from orchestra.models.extractive import ExtractiveModel
from orchestra.models.extractive_saving import ExtractiveSaver
from orchestra.runtime.archive_tools import ARCHIVE_TOOLS
from orchestra.runtime.caches import CachedThread
from orchestra.runtime.definition import Loaded
from orchestra.runtime.hooks import HookContext, Hooks
from orchestra.runtime.journal import Journal
from orchestra.runtime.memory_files import FILE_TOOL
from orchestra.runtime.memory_tools import EDIT_TOOLS
from orchestra.runtime.prompt import Prompt
from orchestra.runtime.run_archive import ToolArchive
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.runtime.tool import Tool
from orchestra.runtime.tool_calls import ToolCalls
from orchestra.runtime.turn import Outcome, Turn
from orchestra.runtime.turn_context import TurnContext
from orchestra.store.context_store import ContextStore
from orchestra.store.thread_store import Begun

if TYPE_CHECKING:
    from orchestra.runtime.host import Host

IDENTITY = frozenset({"persona", "identity", "soul"})
TOOLS = ("core_memory_append", "core_memory_replace", "memory_insert")
INSTRUCTIONS = (
    "The conversation above will soon be shortened: older messages are replaced by a summary. Save now, with your "
    "memory tools, what must not be lost: lasting facts, decisions with their reasons, open tasks, names, dates, "
    "numbers and ids, word for word. Save only what is not saved yet. {places} Nobody reads your reply. When there is "
    f"nothing worth saving, answer {TOKEN} and nothing else."
)


@dataclass(slots=True)
class MemoryFlush:
    """That of one turn, inside its lease. Owner: the turn. It never calls itself: its own turn has none."""

    host: Host
    thread: str
    cached: CachedThread
    begun: Begun
    context: TurnContext
    journal: Journal

    async def when_due(self) -> None:
        """Flush when it is due, and note it for this cycle. A failed one is told and leaves the turn alone.

        Two workers: the second one has the lease when the first one has noted it. The host dies under way: replies and
        results are in the run's journal under names of their own, so what was saved is not saved twice.

        Raises:
            Fenced, StoreUnavailable: the turn is not ours any more, or nothing can be stored.
        """
        context, prompt = self.context, self.context.prompt
        settings, compaction = prompt.loaded.agent.conversation.flush, prompt.loaded.agent.conversation.compaction
        if prompt.loaded.agent.conversation.strategy != "safeguard" or not compaction.enabled:
            return
        tokens = prompt.size_before(context.messages, context.specs, context.blocks.ordered)
        gate = flush_due(
            tokens=tokens,
            window=prompt.window,
            settings=settings,
            reserve_floor=compaction.reserve_floor,
            cycle=prompt.decided.cycle,
            flushed=prompt.decided.flushed,
            log_bytes=self.begun.bytes,
        )
        tools = self._tools()
        prompt.can_flush = settings.enabled and bool(tools)
        due = bool(gate) and bool(tools)
        reason = gate.reason if tools or not gate else "there is nothing to save to: no block, no archive, no files"
        self._tell("yes" if due else "no", reason, tokens)
        if due:
            await self._flush(tools, tokens)

    async def _flush(self, tools: Mapping[str, Tool], tokens: int) -> None:
        prompt = self.context.prompt
        settings, cycle = prompt.loaded.agent.conversation.flush, prompt.decided.cycle
        turn = self._turn(tools)
        outcome = await turn.work()
        if outcome.status == "cancelled":
            if turn.context.cancelled:
                raise asyncio.CancelledError  # the turn too, by its caller or its limit of seconds
            return  # a run that is only to be ended. In both cases nothing is noted, so the next one does it
        done = outcome.status == "completed"
        noted = await ContextStore(self.host.store).flushed(
            *(self.thread, self.context.request.run_id, self.begun.token, cycle, "done" if done else "failed"),
            max_failures=settings.max_failures,
            reason=_said(outcome),
        )
        if noted is not None:
            flushed, failures = noted
            prompt.decided = replace(prompt.decided, flushed=flushed, failures=failures)
            version = f"flush {self.context.request.run_id}"  # see flush.lua
            self.cached.record = replace(self.cached.record, version=version, flushed=flushed, failures=failures)
            # Also for a turn that is not committed now, since it waits for an answer.
            self.cached.decided = replace(self.cached.decided, flushed=flushed, failures=failures)
        used = turn.context.usage
        if done:
            cost = f"{used.tool_calls} tool calls, {used.total_tokens} tokens"
            self._tell("yes", f"done, {cost}{_said(outcome)}", tokens)
        else:
            given_up = noted is not None and noted[0] == cycle
            more = f"; that was {noted[1]} times in a row, this cycle goes without" if given_up and noted else ""
            self._tell("failed", f"{outcome.error or outcome.reason}{more}", tokens)

    def _turn(self, tools: Mapping[str, Tool]) -> Turn:
        """A turn of its own, with the same history and only the tools that save."""
        context, loaded = self.context, self.context.loaded
        blocks = self._blocks()
        labels = [block.label for block in blocks.ordered if not block.read_only and block.access != "read"]
        request = context.request
        places = f"Memory blocks that you may write: {', '.join(labels)}." if labels else ""
        text = "\n\n".join(
            part for part in (INSTRUCTIONS.format(places=places), loaded.agent.conversation.flush.prompt) if part
        )
        state = StateValues({})
        where = (request.agent, request.run_id, request.session_id, request.user_id)
        hook_context = HookContext(*where, state.view(), {})
        extractive = isinstance(loaded.model, ExtractiveModel)
        flush = loaded.agent.conversation.flush
        limits = Limits(model_calls=flush.max_steps, seconds=flush.timeout)
        agent = loaded.agent.model_copy(update={"limits": limits})
        model = ExtractiveSaver(labels[0] if labels else None) if extractive else loaded.model
        own: Loaded = replace(loaded, agent=agent, hooks=(), merge=None, model=model, tools=dict(tools))
        prompt = context.prompt
        made = replace(
            context,
            request=replace(request, input=(Message("user", text),)),
            loaded=own,
            tools=dict(tools),
            specs=tuple(tool.spec for tool in tools.values()),
            blocks=blocks,
            hooks=Hooks((), hook_context),
            limits=limits,
            prompt=Prompt(own, prompt.log, prompt.decided, prompt.window, request.user_id, prompt.edition, prompt.seq),
            emit=lambda event: None,
            number=0,
            usage=type(context.usage)(),
            below={},
            replies=[],
            messages=[Message("user", text, meta=Meta(synthetic=True))],
            archive=None if context.archive is None else _other_ids(context.archive),
            open_workspace=None,
            compact=None,
            offloads=None,
            flush=None,
            output=None,  # the answer is of no type: it is NO_REPLY, or what nobody reads
        )
        journal = FlushJournal(self.journal, context.blocks, blocks)
        return Turn(made, journal, ToolCalls(made, journal, state, None, _no_resource, self.begun.resumed))

    def _blocks(self) -> RunBlocks:
        """The agent's blocks, without a way to write to the identity ones; edits have ids of their own."""
        blocks = self.context.blocks
        access: dict[str, Access] = {
            block.id: "read" if block.label.lower() in IDENTITY else blocks.access.get(block.id, "write")
            for block in blocks.ordered
        }
        made = replace(blocks, access=access, shown={}, memo_field="ef:")
        made.refresh(blocks.ordered)
        return made

    def _tools(self) -> dict[str, Tool]:
        agent = self.context.loaded.agent
        tools: dict[str, Tool] = {}
        if self._blocks().writable():
            tools |= {name: EDIT_TOOLS[name] for name in TOOLS}
        if agent.archive_tools:
            tools["archival_memory_insert"] = ARCHIVE_TOOLS["archival_memory_insert"]
        if agent.bootstrap and self.context.workspace is not None:
            tools[FILE_TOOL.name] = FILE_TOOL
        return tools

    def _tell(self, decision: str, reason: str, tokens: int) -> None:
        window = self.context.prompt.window
        self.context.tell(ContextDecided, part="flush", decision=decision, reason=reason, tokens=tokens, window=window)


class FlushJournal:
    """The journal of the run that the flush is part of, under names of its own."""

    def __init__(self, journal: Journal, blocks: RunBlocks, own: RunBlocks) -> None:
        self._journal, self._blocks, self._own = journal, blocks, own
        self.durable = journal.durable

    def known(self, name: str) -> str | None:
        """The entry of an earlier attempt, or ``None``."""
        return self._journal.known(f"f.{name}")

    def entries(self, prefix: str) -> Mapping[str, str]:
        """Those of an earlier attempt."""
        return {name[2:]: text for name, text in self._journal.entries(f"f.{prefix}").items()}

    async def write(self, name: str, value: str) -> str:
        """Note it, once; edits are seen by both the flush and the turn after it."""
        done = await self._journal.write(f"f.{name}", value)
        self._own.refresh(self._blocks.ordered)
        return done

    async def mark(self, name: str, value: str) -> None:
        """Note it, once, so that it is there after a crash."""
        await self._journal.mark(f"f.{name}", value)

    def unstored(self) -> Mapping[str, str]:
        """The run that it is part of knows."""
        return {}

    async def starting(self) -> None:
        """A tool that cannot be repeated is about to start."""
        await self._journal.starting()

    def check(self) -> None:
        """The turn has looked already."""


def _other_ids(archive: Callable[[str], ToolArchive]) -> Callable[[str], ToolArchive]:
    return lambda name: archive(f"f.{name}")


def _said(outcome: Outcome) -> str:
    """What a flush said beside the token, for whoever watches."""
    text = outcome.output if isinstance(outcome.output, str) else ""
    return "" if not text or is_silent(text) else f"; it said: {visible(text)[:200]}"


def _no_resource(name: str) -> object:
    raise LookupError(f"a memory flush has no resource {name!r}")
