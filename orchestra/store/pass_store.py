"""The sleep-time queue in Redis: claiming, drafts, publishing, failing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from orchestra.core.blocks import BlockView
from orchestra.core.errors import Fenced
from orchestra.core.jsontext import dumps
from orchestra.core.model import Usage
from orchestra.core.names import split_thread
from orchestra.store.block_store import HISTORY, block_from
from orchestra.store.connection import Store, pairs
from orchestra.store.passage_store import NewPassage, owner_of

LEASE_MS = 15_000
DAY_MS = 86_400_000
DRAFT_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed pass: its fencing token, and the thread's head at that moment.

    ``entries`` is how many the log had then. ``interval`` is that of the adaptive trigger (0: none yet), ``reads`` what
    the pass is to read: empty is the dialogue, else documents.
    """

    thread: str
    token: int
    edition: int
    seq: int
    turn: int
    watermark: int
    watermark_turn: int
    due_turn: int
    tries: int
    error: str
    user: str
    entries: int
    interval: int
    reads: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a pass: its name, what was known of it (empty: nothing), and what is known from now on."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NewValue:
    """One block of a pass: the version that its value was made from."""

    block_id: str
    version: int
    changed: bool
    value: str
    sources: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Blocks that were edited meanwhile: (index, version, value) each. Nothing was published."""

    blocks: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Published:
    """The versions after publishing, in order; ``duplicate`` when this pass had been published before."""

    versions: tuple[int, ...]
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class LogEdited:
    """The log was changed meanwhile; nothing was published."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A block became read-only, or its limit too small, meanwhile. Nothing was published."""

    index: int
    problem: str


class PassStore:
    """Typed functions over the scripts of the sleep-time queue."""

    def __init__(self, store: Store, *, lease_ms: int = LEASE_MS, history: int = HISTORY) -> None:
        self.store, self.lease_ms, self.history = store, lease_ms, history

    async def due(self, limit: int = 16) -> tuple[list[str], float | None]:
        """Threads that may be claimed now, and the seconds until the next one may (``None``: nothing waits)."""
        k, now = self.store.keys, await self.store.now()
        first = [*await self.store.scored(k.due, limit), *await self.store.scored(k.idles, limit)]
        ready = [name for name, score in first if score <= now]
        later = [score for _, score in first if score > now]
        return list(dict.fromkeys(ready)), (min(later) - now) / 1000 if later else None

    async def pending(self) -> dict[str, float]:
        """All threads in the queue, or silent for long enough → when (Unix seconds) they may be claimed."""
        k, now = self.store.keys, await self.store.now()
        silent = [(name, score) for name, score in await self.store.scored(k.idles) if score <= now]
        return {name: score / 1000 for name, score in (*silent, *await self.store.scored(k.due))}

    async def ask(self, thread: str) -> bool:
        """Make a pass due now, for the trigger ``compaction``; False when nothing was completed since the last one.

        Twice is once: a pass that waits or is at work covers what was there when it was asked for.
        """
        k = self.store.keys
        return (await self.store.run("ask", [k.head(thread), k.due, k.wake], [thread]))[0] == "OK"

    async def claim(self, thread: str, host: str, claim: str) -> Claim | None:
        """Claim a due thread, or ``None`` when somebody else has it. ``claim`` names this attempt."""
        k = self.store.keys
        answer = await self.store.run(
            "claim",
            [k.due, k.work(thread), k.head(thread), k.token, k.idles, k.log(thread)],
            [thread, host, claim, self.lease_ms],
        )
        if answer[0] != "OK":
            return None
        token, edition, seq, turn, watermark, watermark_turn, due_turn, tries = (
            int(cast("str", item)) for item in answer[1:9]
        )
        where = (token, edition, seq, turn, watermark, watermark_turn, due_turn, tries)
        texts = (cast("str", answer[9]), cast("str", answer[10]))
        entries, interval, reads = int(cast("int", answer[11])), int(cast("str", answer[12])), cast("str", answer[13])
        return Claim(thread, *where, *texts, entries, interval, reads)

    async def renew(self, claim: Claim) -> bool:
        """Keep the lease; False when it is lost."""
        k = self.store.keys
        answer = await self.store.run(
            "renew", [k.due, k.work(claim.thread)], [claim.thread, claim.token, self.lease_ms]
        )
        return answer[0] == "OK"

    async def draft(self, claim: Claim, block_ids: Sequence[str]) -> list[BlockView | None]:
        """Private copies of the blocks as they are now; ``None`` for one that is gone. Raises :class:`Fenced`."""
        k = self.store.keys
        answer = await self.store.run(
            "draft",
            [
                k.work(claim.thread),
                *(key for block_id in block_ids for key in (k.block(block_id), k.draft(claim.token, block_id))),
            ],
            [claim.token, DRAFT_MS],
        )
        if answer[0] == "FENCED":
            raise Fenced(f"pass of {claim.thread}", claim.token)
        found = [pairs(fields) for fields in answer[1:]]
        return [block_from(i, fields) if fields else None for i, fields in zip(block_ids, found, strict=True)]

    async def drafted(self, claim: Claim, block_id: str) -> BlockView | None:
        """A draft as it is now."""
        fields = await self.store.fields(self.store.keys.draft(claim.token, block_id))
        return block_from(block_id, fields) if fields else None

    async def discard(self, claim: Claim, block_ids: Sequence[str]) -> None:
        """Delete the drafts; they would expire by themselves."""
        if block_ids:
            await self.store.read("DEL", *(self.store.keys.draft(claim.token, block_id) for block_id in block_ids))

    async def publish(
        self,
        claim: Claim,
        *,
        work: str,
        upto: int,
        upto_turn: int,
        report: str,
        author: str,
        usage: Usage,
        values: Sequence[NewValue],
        passages: Sequence[NewPassage] = (),
        rule: str = "",
        interval: int | None = None,
        documents: Sequence[Document] = (),
        next_reads: str = "",
    ) -> Published | Moved | LogEdited | Refused:
        """Publish a pass, whole or not at all, with what it adds to the archive. Raises :class:`Fenced`.

        ``rule`` is what makes the next one due. ``interval`` is that of the adaptive trigger from now on; ``None``
        leaves it. ``documents`` are those that it has worked through; another pass that did so meanwhile is a
        :class:`LogEdited`. ``next_reads`` is what a pass that is to follow at once reads; empty: none, for documents.
        """
        k, thread = self.store.keys, claim.thread
        agent = split_thread(thread)[0]
        owner = owner_of(agent, claim.user or None)
        shelf = [k.shelf(owner), k.changes(owner), k.archives] if passages else []
        spent = k.spent(split_thread(thread)[0], int(await self.store.now()) // DAY_MS)
        answer = await self.store.run(
            "publish",
            [
                *(k.head(thread), k.work(thread), k.due, k.events, k.passes(thread), k.wake),
                *(k.retracted(thread), spent, k.log(thread), k.sources(agent)),
                *(key for value in values for key in (k.block(value.block_id), k.history(value.block_id))),
                *shelf,
                *(k.passage(one.id) for one in passages),
            ],
            [
                *(
                    thread,
                    claim.token,
                    work,
                    claim.edition,
                    claim.watermark,
                    upto,
                    upto_turn,
                    report,
                    self.history,
                    author,
                    usage.model_calls,
                    usage.total_tokens,
                    rule,
                    "" if interval is None else interval,
                    next_reads,
                    len(documents),
                ),
                *(part for one in documents for part in (one.name, one.before, one.after)),
                len(values),
                *(
                    part
                    for v in values
                    for part in (v.block_id, v.version, "1" if v.changed else "0", v.value, len(v.value), v.sources)
                ),
                *((owner, agent, claim.user) if passages else ()),
                *(part for one in passages for part in (one.id, one.text, dumps(list(one.tags)), one.source)),
            ],
        )
        status, *rest = answer
        if status == "OK":
            return Published(tuple(int(cast("str", item)) for item in rest))
        if status == "DUP":
            return Published((), duplicate=True)
        if status == "FENCED":
            raise Fenced(f"pass of {thread}", claim.token)
        if status == "EDITED":
            return LogEdited()
        items = cast("list[str]", rest)
        if status == "MOVED":
            triples = zip(items[::3], items[1::3], items[2::3], strict=True)
            return Moved(tuple((int(i) - 1, int(version), value) for i, version, value in triples))
        problem = (
            "it is read-only now" if status == "READONLY" else f"its limit is {items[1]} and it would have {items[2]}"
        )
        return Refused(int(items[0]) - 1, problem)

    async def fail(
        self,
        claim: Claim,
        error: str,
        *,
        max_tries: int,
        backoff_ms: int,
        reason: Literal["failed", "again", "skip"] = "failed",
        rule: str = "",
    ) -> bool:
        """Give a pass back; whether it was set aside. A lost lease changes nothing. ``rule`` is what makes one due."""
        k = self.store.keys
        answer = await self.store.run(
            "fail",
            [k.work(claim.thread), k.due, k.events, k.head(claim.thread), k.log(claim.thread)],
            [
                *(claim.thread, claim.token, error, max_tries, backoff_ms, reason, claim.due_turn),
                *(rule, claim.seq, claim.turn),
            ],
        )
        return answer[0] == "ASIDE"

    async def retracted(self, thread: str) -> list[int]:
        """Sequence numbers of messages that were popped after a pass had seen them."""
        return [int(item) for item in await self.store.items(self.store.keys.retracted(thread))]

    async def reports(self, thread: str) -> list[str]:
        """The reports of the published passes, oldest first."""
        return await self.store.items(self.store.keys.passes(thread))

    async def worked_through(self, agent: str) -> dict[str, str]:
        """What is known of an agent's documents: name → text of the floor above."""
        return await self.store.fields(self.store.keys.sources(agent))

    async def spent_today(self, agent: str) -> int:
        """Tokens that published passes of all sessions of ``agent`` used today (UTC, the server's clock)."""
        day = int(await self.store.now()) // DAY_MS
        return int(cast("str | None", await self.store.read("GET", self.store.keys.spent(agent, day))) or 0)

    async def status(self, thread: str) -> dict[str, str]:
        """The pass's fields: tries, last error, whether set aside; ``calls`` and ``tokens`` of published ones."""
        return await self.store.fields(self.store.keys.work(thread))
