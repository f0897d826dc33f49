"""What the next prompt of a session will hold, part by part, what is left out, and which steps are due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestra.context.compaction import compaction_due
from orchestra.context.decisions import decisions_from
from orchestra.context.flush_gate import flush_due, reserve_floor_of
from orchestra.context.summary_message import is_summary
from orchestra.context.view import TAIL_ENTRIES, LogView
from orchestra.core.blocks import BlockView
from orchestra.core.conversation import Conversation
from orchestra.core.jsontext import Json
from orchestra.core.messages import Message
from orchestra.core.tokens import text_tokens
from orchestra.memory.blocks import Blocks
from orchestra.memory.sessions import find_session, readable
from orchestra.models.windows import context_window
from orchestra.runtime.definition import Loaded, load_agent
from orchestra.runtime.function_ref import FunctionTable
from orchestra.runtime.prompt import Prompt, spec_tokens
from orchestra.runtime.turn_context import tools_for
from orchestra.store.connection import Store
from orchestra.store.context_store import ContextRecord, ContextStore
from orchestra.store.definition_store import DefinitionStore
from orchestra.store.thread_store import ThreadStore


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of the prompt: how many pieces, their estimated tokens, and what is to be known of it."""

    name: str
    count: int
    tokens: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class ContextGate:
    """A step of the context: whether it is due at the next turn, and why."""

    name: str
    due: bool
    reason: str


@dataclass(frozen=True, slots=True)
class OutOfPrompt:
    """What the log has and the prompt has not: how many messages, and why."""

    name: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The next prompt of a session, without the input of the next turn. ``tokens`` is the estimate of all parts.

    ``model`` is the kind of a runnable that has none of its own. ``window`` is the model's, ``reserved`` what of it is
    kept free for the reply. ``counted`` is the provider's own count of the last prompt with its reply, 0 when there is
    none that holds.
    """

    session_id: str
    agent: str
    model: str
    strategy: str
    window: int
    reserved: int
    tokens: int
    counted: int
    cycle: int
    parts: tuple[ContextPart, ...]
    left_out: tuple[OutOfPrompt, ...]
    gates: tuple[ContextGate, ...]

    def to_json(self) -> dict[str, Json]:
        """All of it."""
        plain = ("session_id", "agent", "model", "strategy", "window", "reserved", "tokens", "counted", "cycle")
        lists: tuple[tuple[str, Sequence[object]], ...] = (
            *(("parts", self.parts), ("left_out", self.left_out), ("gates", self.gates)),
        )
        made: dict[str, Json] = {name: getattr(self, name) for name in plain}
        for name, rows in lists:
            made[name] = [{field: getattr(row, field) for field in row.__slots__} for row in rows]  # type: ignore[attr-defined]
        return made


async def report_context(store: Store, session_id: str, agent: str | None, functions: FunctionTable) -> ContextReport:
    """The report. Raises :class:`UnknownName` for a session or an agent that is not there.

    Raises:
        FunctionUnavailable: a tool was registered by value by another program.
    """
    session = await find_session(store, session_id, agent)
    threads, thread = ThreadStore(store), session.thread
    head, record = await threads.head(thread), await ContextStore(store).record(thread)
    text, digest = await DefinitionStore(store).get(session.agent)
    loaded = await asyncio.to_thread(load_agent, text, digest, functions)
    loaded = replace(loaded, window=await context_window(loaded.model))
    user = head.get("user") or None
    blocks = list(await Blocks(store).list(agent=session.agent, user_id=user, session_id=session_id))
    count = await threads.length(thread)
    first = max(record.from_, count - TAIL_ENTRIES, 0)
    log = LogView(first)
    for entry_text in await threads.entries(thread, first):
        if not (found := readable([entry_text])):
            log.skip()
        for entry, message in found:
            log.add(message, entry.tokens)
    made = _Report(loaded, log, record, blocks, int(head.get("edition", 0)), int(head.get("bytes", 0)), user, first)
    return made.of(session_id)


@dataclass(slots=True)
class _Report:
    loaded: Loaded
    log: LogView
    record: ContextRecord
    blocks: list[BlockView]
    edition: int
    bytes: int
    user: str | None
    first: int

    def of(self, session_id: str) -> ContextReport:
        agent, decided = self.loaded.agent, decisions_from(self.record)
        conversation = agent.conversation
        writable = any(not block.read_only for block in self.blocks)
        _, specs = tools_for(self.loaded, writable=writable, stored=True)
        prompt = Prompt(self.loaded, self.log, decided, self.loaded.window_tokens, self.user, self.edition)
        before = prompt.size_before([], specs, self.blocks)
        _, notes = prompt.opening(self.blocks, specs, prompt.clock())
        made = prompt.history([], notes, prompt.clock())
        pinned = prompt.decided.pinned if conversation.blocks_in_prompt == "pinned" else tuple(self.blocks)
        counts = prompt.system_sizes(pinned or ())
        parts = [
            ContextPart("instructions", 1, counts["instructions"]) if agent.instructions else None,
            ContextPart("blocks", len(pinned or ()), counts["blocks"], _labels(pinned or ())) if pinned else None,
            ContextPart("memory files", len(agent.bootstrap), counts["files"]) if counts["files"] else None,
            ContextPart("tools", len(specs), sum(map(spec_tokens, specs))) if specs else None,
            *self._messages(made.history),
            ContextPart("memory updates", len(notes), sum(map(text_tokens, notes)), "edits of blocks")
            if notes
            else None,
        ]
        call = decided.call
        valid = call is not None and (call.cycle, call.edition) == (decided.cycle, self.edition)
        left = [OutOfPrompt(one.part, one.messages, one.reason) for one in made.left_out if one.messages]
        if decided.summary is not None:
            left.insert(0, OutOfPrompt("summarised messages", self.record.from_, decided.summary.reason))
        gates = [
            self._flush(before, prompt),
            ContextGate("pruning", made.prune_reason in ("trimmed", "cleared"), prompt.why(made)),
        ]
        due = compaction_due(
            prompt.tokens + made.unfitted, prompt.window, conversation.compaction, conversation.pressure
        )
        gates.append(_unless_without(conversation, ContextGate("compaction", due.yes, due.reason)))
        return ContextReport(
            *(session_id, agent.name, self.loaded.kind or self.loaded.model.name, conversation.strategy, prompt.window),
            *(reserve_floor_of(prompt.window, conversation.compaction.reserve_floor), prompt.tokens),
            *(call.tokens if valid and call is not None else 0, decided.cycle),
            tuple(part for part in parts if part is not None),
            tuple(left),
            tuple(gates),
        )

    def _messages(self, history: Sequence[Message]) -> list[ContextPart]:
        groups: dict[str, list[int]] = {}
        for message in history:
            name = "summary" if is_summary(message) else _NAMES.get(message.role, message.role)
            groups.setdefault(name, []).append(self.log.tokens_of(message))
        notes = {"summary": f"of the first {self.record.from_} messages"}
        order = ("summary", *_NAMES.values())
        return [ContextPart(n, len(groups[n]), sum(groups[n]), notes.get(n, "")) for n in order if n in groups]

    def _flush(self, tokens: int, prompt: Prompt) -> ContextGate:
        conversation = self.loaded.agent.conversation
        gate = flush_due(
            tokens=tokens,
            window=prompt.window,
            settings=conversation.flush,
            reserve_floor=conversation.compaction.reserve_floor,
            cycle=prompt.decided.cycle,
            flushed=prompt.decided.flushed,
            log_bytes=self.bytes,
        )
        return _unless_without(conversation, ContextGate("memory flush", gate.yes, gate.reason))


def _unless_without(conversation: Conversation, gate: ContextGate) -> ContextGate:
    """``gate``, of a step that comes with summaries, as it is where none are made."""
    if conversation.strategy == "safeguard" or (gate.name == "compaction" and conversation.strategy == "summarizing"):
        return gate
    return replace(gate, due=False, reason=f"not a part of the strategy {conversation.strategy}")


_NAMES = {"user": "user messages", "assistant": "replies", "tool": "tool results", "system": "system messages"}


def _labels(blocks: Sequence[BlockView]) -> str:
    return ", ".join(block.label for block in blocks)
