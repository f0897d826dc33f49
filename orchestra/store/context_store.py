"""What was decided about a thread's prompt, in Redis: the summary, what was pruned, pinned blocks, flushes, offloads.

The values are JSON texts of the floors above: opaque here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import Fenced
from orchestra.store.connection import Store

Compacted: TypeAlias = Literal["OK", "DUP", "MOVED", "HELD", "GONE"]


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """The decisions of one thread. Empty texts where nothing was decided.

    ``version`` tells whether a cached record is the newest one. ``cycle`` counts compactions. ``summary`` stands for
    the entries up to sequence number ``upto``, the first ``from_`` of the log. ``flushed`` is the cycle of the last
    memory flush; ``failures`` counts those that failed in a row. ``pruned``, ``pinned`` and ``call`` are written by
    commits: which results were shortened, the blocks as the prompt shows them, and the last model call.
    """

    version: str = ""
    cycle: int = 0
    upto: int = 0
    from_: int = 0
    summary: str = ""
    flushed: int | None = None
    failures: int = 0
    pruned: str = ""
    pinned: str = ""
    call: str = ""


NO_RECORD = ContextRecord()


def record_from(fields: Mapping[str, str]) -> ContextRecord:
    """The record of its hash; the empty one when there is none."""
    if not fields:
        return NO_RECORD
    flushed = fields.get("flushed", "")
    return ContextRecord(
        fields.get("version", ""),
        int(fields.get("cycle", 0)),
        int(fields.get("upto", 0)),
        int(fields.get("from", 0)),
        fields.get("summary", ""),
        int(flushed) if flushed else None,
        int(fields.get("failures", 0)),
        *(fields.get(name, "") for name in ("pruned", "pinned", "call")),
    )


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that is to be recorded, with what it was made from: see ``compact.lua``."""

    thread: str
    cycle: int
    edition: int
    upto: int
    from_: int
    summary: str
    tokens_before: int
    tokens_after: int
    reason: str = ""


class ContextStore:
    """Typed functions over the records of contexts."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def record(self, thread: str) -> ContextRecord:
        """The record as it is now; the empty one when nothing was decided."""
        return record_from(await self.store.fields(self.store.keys.context(thread)))

    async def compact(self, new: NewSummary) -> Compacted:
        """Record a summary, compare-and-set on cycle and edition. MOVED, HELD and GONE: nothing was recorded."""
        k = self.store.keys
        answer = await self.store.run(
            "compact",
            [k.head(new.thread), k.log(new.thread), k.context(new.thread), k.events],
            [
                *(new.thread, new.cycle, new.edition, new.upto, new.from_, new.summary),
                *(new.tokens_before, new.tokens_after, new.reason),
            ],
        )
        return cast("Compacted", answer[0])

    async def not_compacted(self, thread: str, reason: str) -> None:
        """Tell who watches that a compaction did not come about; the history is as it was."""
        fields = ("type", "compaction", "thread", thread, "status", "failed", "reason", reason)
        await self.store.read("XADD", self.store.keys.events, "MAXLEN", "~", 10000, "*", *fields)

    async def flushed(
        self,
        thread: str,
        run: str,
        token: int,
        cycle: int,
        status: Literal["done", "failed"],
        *,
        max_failures: int,
        reason: str = "",
    ) -> tuple[int | None, int] | None:
        """Note how a flush went; (the cycle that counts as flushed, failures in a row), ``None``: the cycle is over.

        Raises:
            Fenced: another run holds the thread.
        """
        k = self.store.keys
        answer = await self.store.run(
            "flush",
            [k.head(thread), k.context(thread), k.events],
            [thread, run, token, cycle, status, max_failures, reason],
        )
        if answer[0] == "FENCED":
            raise Fenced(f"thread {thread}", token)
        if answer[0] == "MOVED":
            return None
        flushed = cast("str", answer[1])
        return (int(flushed) if flushed else None, int(cast("int", answer[2])))

    async def put_away(self, thread: str, token: int, reference: str, text: str, *, root: str = "") -> str:
        """Keep a tool result under ``reference``; what stands there, the first one. Raises :class:`Fenced`.

        ``token`` is that of the lease of ``thread``; ``root`` the session's own thread, when that is a child run's.
        """
        k, kept = self.store.keys, root or thread
        keys = [k.head(thread), k.offload(kept), k.head(kept)]
        answer = await self.store.run("offload", keys, [token, reference, text])
        if answer[0] == "FENCED":
            raise Fenced(f"thread {thread}", token)
        return cast("str", answer[1])

    async def put_back(self, thread: str, reference: str) -> str | None:
        """The tool result under ``reference`` in the session of this thread, its own one, and in no other."""
        return cast("str | None", await self.store.read("HGET", self.store.keys.offload(thread), reference))
