"""One pass: claim, transcript, drafts, the consolidator's work, and publishing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestra.core.agent import Sleeptime
from orchestra.core.blocks import Block, BlockView
from orchestra.core.errors import BlockScopeError, Fenced, SourceUnreadable
from orchestra.core.failpoints import failpoint
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.model import Usage
from orchestra.core.names import derived_id, split_thread
from orchestra.core.own_thread import in_own_thread
from orchestra.memory.lineage import Sources, blame
from orchestra.memory.merge import merge
from orchestra.memory.passages import passage_id
from orchestra.memory.scopes import Place, resolve, scoped_id, split_ref
from orchestra.memory.state import StateValues
from orchestra.runtime.hooks import HookContext, Hooks
from orchestra.runtime.run_blocks import RunBlocks
from orchestra.sleeptime.documents import read_documents, unread
from orchestra.sleeptime.draft_archive import DraftArchive
from orchestra.sleeptime.transcript import Transcript, several_turns, transcript
from orchestra.sleeptime.triggers import Adaptive, Counters
from orchestra.sleeptime.work import Consolidator, Work, changed_lines
from orchestra.store.block_store import BlockStore
from orchestra.store.connection import Store
from orchestra.store.definition_store import Attachments
from orchestra.store.pass_store import Claim, LogEdited, Moved, NewValue, PassStore, Published, Refused
from orchestra.store.passage_store import NewPassage
from orchestra.store.thread_store import ThreadStore, entry_from

DOCUMENTS = "documents"
MERGES = 5
READ = 128
#: How a pass came out. edited: the log was changed meanwhile. moved: others published its blocks each time before it.
Outcome: TypeAlias = Literal["published", "edited", "moved"]
PERSONA = "I keep the memory of my colleague short, true and up to date."


@dataclass(slots=True)
class Pending:
    """One block of a pass: as it was when the draft was taken (``base``), and what the pass made of it."""

    base: BlockView
    version: int
    value: str
    sources: Sources
    conflicts: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is something to publish."""
        return self.value != self.base.value


@dataclass(slots=True)
class Tally:
    """What is told about a pass in its report."""

    merges: int = 0
    conflicts: int = 0
    refused: list[str] = field(default_factory=list)
    problem: str = ""


class Pass:
    """One claimed pass. Owner: the worker that claimed it."""

    def __init__(
        self,
        store: Store,
        claim: Claim,
        sleeptime: Sleeptime,
        attachments: Attachments,
        consolidator: Consolidator,
        *,
        archive: bool = True,
        hooks: Sequence[object] = (),
    ) -> None:
        self.claim, self.sleeptime, self.consolidator = claim, sleeptime, consolidator
        self.agent, self.session_id = split_thread(claim.thread)
        self._attachments = attachments
        self._blocks, self._passes, self._threads = BlockStore(store), PassStore(store), ThreadStore(store)
        # Of the claim, not of the watermark: a pass that found nothing leaves the watermark where it is, and the next
        # one must not be taken for the same one sent twice.
        self.id = derived_id("pass", claim.thread, str(claim.token))
        self._archive = DraftArchive() if archive else None
        user, state = claim.user or None, StateValues({}).view()
        self._hooks = Hooks(hooks, HookContext(self.agent, self.id, self.session_id, user, state, {}))
        self._tally = Tally()

    async def work(self, calls: int) -> Outcome:
        """Do the pass and publish it. Unless it is published, nothing was written and it must be done again.

        Raises:
            Fenced: another worker has taken over.
            SleeptimeError and others: the consolidator failed; nothing was published.
        """
        started = time.monotonic()
        read = await self._documents() if self.claim.reads == DOCUMENTS else None
        read = read or await self._transcript()
        drafts = await self._drafts(of_agent=bool(read.documents))
        work = await self._work(read, drafts, calls)
        await self._hooks.call("before_pass", read)
        failpoint("pass.working")
        usage = Usage() if read.empty else await self.consolidator.consolidate(work)
        failpoint("pass.worked")
        pending = await self._pending(work, drafts)
        outcome = await self._publish(read, pending, usage, started)
        await self._passes.discard(self.claim, [block.id for block in drafts])
        return outcome

    async def _documents(self) -> Transcript | None:
        """Documents in place of the dialogue, which waits for the next pass; ``None`` when none are left to read.

        Raises:
            SourceUnreadable: a source has gone.
        """
        claim, limit = self.claim, self.sleeptime.max_tokens
        known = await self._passes.worked_through(self.agent)
        found = await asyncio.to_thread(read_documents, self.sleeptime.sources, known, max_tokens=limit)
        if not found.parts or not self._block_ids(of_agent=True):
            return None
        return Transcript((), claim.watermark, claim.watermark_turn, found.rest, documents=found.parts)

    async def _next(self, read: Transcript) -> str:
        """What a pass that follows at once reads: documents, when some wait. Dialogue and documents take turns."""
        if read.documents or not self.sleeptime.sources:
            return DOCUMENTS if read.rest and read.documents else ""
        known = await self._passes.worked_through(self.agent)
        try:
            waiting = await asyncio.to_thread(lambda: next(unread(self.sleeptime.sources, known), None))
        except SourceUnreadable as error:
            self._tally.problem = error.message()  # the dialogue is published all the same
            return ""
        return DOCUMENTS if waiting is not None and self._block_ids(of_agent=True) else ""

    async def _transcript(self) -> Transcript:
        claim = self.claim
        return transcript(
            await self._waiting() if claim.seq > claim.watermark else [],
            watermark=claim.watermark,
            watermark_turn=claim.watermark_turn,
            max_tokens=self.sleeptime.max_tokens,
            retracted=await self._passes.retracted(claim.thread),
        )

    async def _waiting(self) -> list[str]:
        """The log's entries after the watermark: all, or whole turns that are more than one pass takes.

        The log only grows at its end; a pop moves its edition, and then this pass begins again. So at the claim the
        first entry after the watermark stood no further back than its number says: there may be fewer, not more.
        """
        claim, size, found = self.claim, 0, list[str]()
        at = max(0, claim.entries - (claim.seq - claim.watermark))
        while texts := await self._threads.entries(claim.thread, at, at + READ - 1):
            known = [(entry, text) for text in texts if (entry := entry_from(text)) is not None]
            new = [(entry, text) for entry, text in known if entry.seq > claim.watermark]
            found += [text for _, text in new]
            size += sum(entry.tokens for entry, _ in new)
            if size > self.sleeptime.max_tokens and several_turns(found):
                break
            at += READ
        return found

    def _block_ids(self, *, of_agent: bool) -> list[str]:
        """The blocks to tidy. ``of_agent``: only those that all users of the agent have."""
        place = Place(self.agent, self.session_id, self.claim.user or None)
        ids = []
        for item in self._attachments.shown:
            if item.access != "write":
                continue  # to tidy is to write whole values: a pass has no more permission than its agent
            scoped = split_ref(item.ref)
            if of_agent and scoped is not None and scoped[0] not in ("agent", "shared"):
                continue
            if self.sleeptime.blocks is not None and scoped is not None and scoped[1] not in self.sleeptime.blocks:
                continue
            try:
                ids.append(resolve(item, place))
            except BlockScopeError:
                continue  # the session has no user: there is no such block here
        return ids

    async def _drafts(self, *, of_agent: bool) -> list[BlockView]:
        found = await self._passes.draft(self.claim, self._block_ids(of_agent=of_agent))
        named = self.sleeptime.blocks
        return [b for b in found if b is not None and not b.read_only and (named is None or b.label in named)]

    async def _work(self, read: Transcript, drafts: Sequence[BlockView], calls: int) -> Work:
        claim, store = self.claim, self._blocks.store
        ids = tuple(block.id for block in drafts)
        author = f"agent:{self.agent}-sleeptime"
        blocks = RunBlocks(self._blocks, author, "", ids, dict.fromkeys(ids, "write"), draft=claim.token)
        blocks.owner, blocks.token = store.keys.work(claim.thread), claim.token
        blocks.refresh(drafts)
        known = {}
        for block in drafts:
            lines = await in_own_thread(blame, await self._blocks.log(block.id))
            known[block.label] = {line.text: line.seqs for line in lines if line.thread == claim.thread}

        async def reread() -> list[BlockView]:
            found = [await self._passes.drafted(claim, block_id) for block_id in ids]
            return [block for block in found if block is not None]

        persona = await self._persona()
        return Work(
            *(claim.thread, self.agent, claim.user or None, read, blocks, persona, known, reread, calls),
            archive=self._archive,
        )

    async def _persona(self) -> str:
        """The sleep-time agent's own block, made once."""
        owner = f"{self.agent}-sleeptime"
        block_id = scoped_id("agent", "persona", owner)
        found = await self._blocks.read(block_id)
        if found is None:
            value = self.sleeptime.persona or PERSONA
            declared = Block(
                label="persona", value=value, description="How the sleep-time agent works.", read_only=True
            )
            await self._blocks.create(block_id, declared, owner, f"agent:{owner}")
            return value
        return found.value

    async def _pending(self, work: Work, drafts: Sequence[BlockView]) -> list[Pending]:
        out = []
        seqs = tuple(message.meta.seq for message in work.transcript.messages)
        for base in drafts:
            now = await self._passes.drafted(self.claim, base.id)
            if now is None:
                raise Fenced(f"pass of {self.claim.thread}", self.claim.token)  # the draft has expired: far too late
            lines = work.line_sources.get(base.label, {})
            old = set(base.value.split("\n"))
            new = {text: lines.get(text, seqs) for text in now.value.split("\n") if text not in old or text in lines}
            out.append(Pending(base, base.version, now.value, Sources(self.claim.thread, seqs, tuple(new.items()))))
        return out

    async def _publish(self, read: Transcript, pending: list[Pending], usage: Usage, started: float) -> Outcome:
        """Compare-and-set of all blocks.

        A block that moved is merged by lines; where lines overlap, the edit that was published first stays, and the
        pass's line is left out and counted as a conflict.
        """
        next_reads = await self._next(read)
        for _ in range(MERGES):
            values = [
                NewValue(p.base.id, p.version, p.changed, p.value, p.sources.to_text() if p.changed else "")
                for p in pending
            ]
            done = await self._passes.publish(
                self.claim,
                work=self.id,
                upto=read.upto,
                upto_turn=read.upto_turn,
                report=dumps(self._report(read, pending, usage, time.monotonic() - started)),
                author=f"agent:{self.agent}-sleeptime",
                usage=usage,
                values=values,
                passages=self._passages_of(read),
                rule=self.sleeptime.rule,
                interval=self._interval(read, pending),
                documents=[part.mark for part in read.documents],
                next_reads=next_reads,
            )
            if isinstance(done, Published):
                failpoint("pass.published")
                await self._hooks.tell("after_pass", self._report(read, pending, usage, time.monotonic() - started))
                return "published"
            if isinstance(done, LogEdited):
                return "edited"
            self._adapt(done, pending)
        return "moved"

    def _interval(self, read: Transcript, pending: Sequence[Pending]) -> int | None:
        """Turns to the next pass, by what this one has found; ``None`` when the trigger does not learn."""
        adaptive = self.sleeptime.trigger.adaptive
        if adaptive is None or not read.messages:
            return None
        turns = read.upto_turn - self.claim.watermark_turn
        changes = sum(changed_lines(one.base.value, one.value) for one in pending)
        counters = Counters(turns, interval=self.claim.interval)
        return Adaptive(adaptive.min, adaptive.max).interval_after(counters, changes)

    def _passages_of(self, read: Transcript) -> list[NewPassage]:
        """What the pass adds to the archive; its ids come from the pass, which is published once."""
        seqs = tuple(message.meta.seq for message in read.messages)
        source = Sources(self.claim.thread, seqs).to_text()
        added = () if self._archive is None else self._archive.added
        return [NewPassage(passage_id(self.id, i), text, tags, source) for i, (text, tags) in enumerate(added)]

    def _adapt(self, answer: Moved | Refused, pending: list[Pending]) -> None:
        if isinstance(answer, Refused):
            one = pending[answer.index]
            self._tally.refused.append(f"{one.base.label}: {answer.problem}")
            one.value = one.base.value
            return
        for index, version, value in answer.blocks:
            one = pending[index]
            merged = merge(one.base.value, value, one.value)
            self._tally.merges += 1
            self._tally.conflicts += merged.conflicts
            one.conflicts += merged.conflicts
            one.base = one.base.model_copy(update={"value": value})
            one.version, one.value = version, merged.text

    def _report(self, read: Transcript, pending: Sequence[Pending], usage: Usage, seconds: float) -> dict[str, Json]:
        changed: list[Json] = [
            {"label": p.base.label, "block": p.base.id, "before": p.version, "after": p.version + 1}
            for p in pending
            if p.changed
        ]
        return {
            "pass": self.id,
            "turn": read.upto_turn,
            "first": read.messages[0].meta.seq if read.messages else 0,
            "upto": read.upto,
            "messages": len(read.messages),
            "changed": changed,
            "consolidator": self.consolidator.name,
            "usage": usage.to_json(),
            "seconds": round(seconds, 3),
            "at": round(time.time(), 3),
            "tries": self.claim.tries + 1,
            "merges": self._tally.merges,
            "conflicts": self._tally.conflicts,
            "refused": list(self._tally.refused),
            "documents": [f"{part.name}:{part.first}-{part.last}" for part in read.documents],
            "sources_problem": self._tally.problem,
            "archived": 0 if self._archive is None else len(self._archive.added),
        }


def report_from(text: str) -> dict[str, Json]:
    """A published pass's report."""
    return dict(loads(text))
