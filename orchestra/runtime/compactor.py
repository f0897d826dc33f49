"""Compaction of a thread: the cut, the summary by a model, the record. Nothing changes until it is whole."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from orchestra.context.compaction import Cut, cut, cut_at, keep_recent_of
from orchestra.context.decisions import Decisions
from orchestra.context.preprocessors import redacted
from orchestra.context.pressure import eviction_cut
from orchestra.context.repair import repair
from orchestra.context.splitting import legal_places
from orchestra.context.staged_summaries import SummaryRequest, joined, prompt, staged
from orchestra.context.view import LogView
from orchestra.context.window_guard import DEFAULT_WINDOW
from orchestra.core.compaction import CompactionRecord
from orchestra.core.errors import ModelError
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import dumps
from orchestra.core.messages import Message
from orchestra.core.model import Delta, Model, ModelRequest
from orchestra.core.own_thread import in_own_thread
from orchestra.core.tokens import text_tokens
from orchestra.models.extractive import ExtractiveModel
from orchestra.models.extractive_summary import ExtractiveSummary
from orchestra.models.registry import resolve
from orchestra.models.windows import context_window
from orchestra.runtime.definition import Loaded
from orchestra.store.context_store import ContextStore, NewSummary
from orchestra.store.pass_store import PassStore

if TYPE_CHECKING:
    from orchestra.runtime.host import Host


@dataclass(frozen=True, slots=True)
class Compacted:
    """How it went. ``record`` is there when it is recorded; else the history is as it was, for ``reason``."""

    status: Literal["recorded", "nothing", "failed", "elsewhere"]
    reason: str
    record: CompactionRecord | None = None


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The messages of a log behind its summary, repaired, with their tokens."""

    messages: list[Message]
    tokens: list[int]


class Compactor:
    """One compaction of one thread, as of ``edition``. It works on copies, so turns go on meanwhile.

    ``fixed`` are the tokens of instructions, blocks and tools; ``reason`` is why it is due.
    """

    def __init__(
        self, host: Host, loaded: Loaded, thread: str, log: LogView, decided: Decisions, *, edition: int, fixed: int
    ) -> None:
        self._host, self._loaded, self._thread = host, loaded, thread
        self._decided, self._edition, self._fixed = decided, edition, fixed
        start = log.beginning(decided.upto)
        self._places = dict(zip(log.seqs[start:], log.places[start:], strict=True))
        self._log = list(log.seqs[start:])
        messages = repair(log.messages[start:])
        self._stretch = _Stretch(list(messages), [log.tokens_of(message) for message in messages])

    async def compact(self, reason: str, *, harder: int = 0) -> Compacted:
        """Summarise and record, once. ``harder`` counts the times that the provider found the prompt too long still.

        Never raises but for a store that is away; a summariser that fails is an answer, and tells who watches.
        """
        at = self._cut(harder)
        if not at.index:
            return Compacted("nothing", "there is nothing that a summary could take the place of")
        if self._loaded.agent.sleep_rule == "compaction":
            # The pass reads the log, which keeps what the summary stands for: neither waits for the other.
            await PassStore(self._host.store).ask(self._thread)
        done = await self._recorded(at, reason)
        if done.status == "failed":
            await ContextStore(self._host.store).not_compacted(self._thread, done.reason)
        return done

    def _cut(self, harder: int) -> Cut:
        conversation, window = self._loaded.agent.conversation, self._loaded.window_tokens
        messages, tokens = self._stretch.messages, self._stretch.tokens
        if conversation.strategy == "summarizing" and not harder:
            settings = conversation.summarizing
            wanted = min(int(len(messages) * settings.ratio), len(messages) - settings.preserve_recent)
            return cut_at(messages, max((at for at in legal_places(messages) if at <= wanted), default=0))
        if conversation.pressure is not None and not harder:
            return eviction_cut(messages, tokens, window=window, settings=conversation.pressure)
        return cut(messages, tokens, keep_recent_of(window, conversation.compaction.keep_recent) >> harder)

    async def _recorded(self, at: Cut, reason: str) -> Compacted:
        before, settings = self._decided.summary, self._loaded.agent.conversation.compaction
        model = await self._model()
        window = await self._window(model)

        async def ask(request: SummaryRequest) -> str:
            async with asyncio.timeout(settings.timeout):
                return await _asked(model, request)

        # Who summarises is a model too: what is not to be shown to one is not shown to this one.
        messages = await in_own_thread(redacted, self._loaded.preprocessors, self._stretch.messages)
        tokens = self._stretch.tokens
        end = at.index if at.turn_start is None else at.turn_start
        history = (
            await staged(
                *(messages[:end], tokens[:end]),
                previous=before.summary if before is not None else None,
                window=window,
                settings=settings,
                ask=ask,
                sleep=asyncio.sleep,
            )
            if end
            else None
        )
        if history is not None and history.text is None:
            return Compacted("failed", history.reason)
        text = before.summary if before is not None else None
        covered = 0
        if history is not None:
            covered, text = history.covered, history.text
        if covered == end and end < at.index:
            prefix = await staged(
                *(messages[end : at.index], tokens[end : at.index]),
                previous=None,
                window=window,
                settings=settings,
                ask=ask,
                sleep=asyncio.sleep,
                kind="turn_prefix",
            )
            if prefix.text is not None:
                text, covered = joined(text, prefix.text), end + prefix.covered
            elif not covered:
                return Compacted("failed", prefix.reason)
        return await self._record(covered, text or "", reason)

    async def _record(self, covered: int, text: str, reason: str) -> Compacted:
        before = self._decided.summary
        upto, from_ = self._end(covered)
        known = text_tokens(before.summary) if before is not None else 0
        tokens_before = self._fixed + known + sum(self._stretch.tokens)
        tokens_after = self._fixed + text_tokens(text) + sum(self._stretch.tokens[covered:])
        record = CompactionRecord(text, upto, tokens_before, tokens_after, self._decided.cycle + 1, reason)
        if not record.effective or not upto:
            return Compacted(
                "failed", f"the summary frees nothing: {tokens_before} tokens before, {tokens_after} after"
            )
        failpoint("compaction.summarised")
        new = NewSummary(
            *(self._thread, self._decided.cycle, self._edition, upto, from_, dumps(record.to_json())),
            *(tokens_before, tokens_after, reason),
        )
        done = await ContextStore(self._host.store).compact(new)
        failpoint("compaction.recorded")
        if done in ("OK", "DUP"):
            return Compacted("recorded", reason, record)
        return Compacted("elsewhere", "the log was compacted, edited or is held meanwhile")

    def _end(self, covered: int) -> tuple[int, int]:
        """(Sequence number of the last entry that the first ``covered`` messages stand for, entries up to it)."""
        if covered >= len(self._stretch.messages):
            last = self._log[-1]
        else:
            first = self._stretch.messages[covered].meta.seq
            last = max((seq for seq in self._log if seq < first), default=0)
        return (last, self._places[last] + 1) if last else (0, 0)

    async def _model(self) -> Model:
        named = self._loaded.agent.conversation.compaction.model
        return self._loaded.model if named is None else await asyncio.to_thread(resolve, named)

    async def _window(self, model: Model) -> int:
        if model is self._loaded.model:
            return self._loaded.window_tokens
        return await context_window(model) or DEFAULT_WINDOW


async def _asked(model: Model, request: SummaryRequest) -> str:
    """The text that ``model`` gives for one request."""
    if isinstance(model, ExtractiveModel):
        picked = ExtractiveSummary(request.previous, request.partials)
        for message in request.messages:
            picked.add(message)
            await asyncio.sleep(0)  # a thread would contend for the interpreter; this lets the loop go on after each
        return picked.text()
    text: str | None = None
    async with aclosing(model.stream(ModelRequest(prompt(request)))) as items:  # type: ignore[type-var]
        async for item in items:
            if not isinstance(item, Delta):
                text = item.message.text
    if text is None:
        raise ModelError(model.name, "the stream ended without a reply")
    return text


def with_record(decided: Decisions, record: CompactionRecord) -> Decisions:
    """The decisions after a compaction."""
    return replace(decided, summary=record, cycle=record.cycle)
