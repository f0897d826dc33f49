"""What was decided about a thread's prompt, and is recorded: with the log it makes the prompt, on every host alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from orchestra.context.pruning import Decision
from orchestra.core.blocks import BlockView
from orchestra.core.compaction import CompactionRecord
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.store.context_store import ContextRecord

_PINNED = ("id", "label", "value", "limit", "description", "read_only", "version", "born")


@dataclass(frozen=True, slots=True)
class LastCall:
    """The last model call of a thread: when (Unix seconds), and the provider's own count of its prompt and reply.

    ``seq`` is that of the reply. The count holds while ``cycle`` and ``edition`` are the thread's; later, everything is
    estimated. ``noticed`` is the cycle in which the agent was last told of memory pressure.
    """

    at: float
    tokens: int
    seq: int
    cycle: int
    edition: int
    noticed: int | None = None

    def to_text(self) -> str:
        """As it is stored."""
        return dumps([self.at, self.tokens, self.seq, self.cycle, self.edition, self.noticed])


@dataclass(frozen=True, slots=True)
class Decisions:
    """The record of a thread, read. ``pinned`` are the blocks as the prompt shows them, ``None``: not pinned yet.

    ``pinned_cycle`` is the cycle in which they were pinned: a compaction breaks the cache, so they are rendered afresh.
    ``bootstrap`` are the memory files as the session's first turn read them, ``None``: not read yet.
    """

    cycle: int = 0
    summary: CompactionRecord | None = None
    flushed: int | None = None
    failures: int = 0
    pruned: Mapping[int, Decision] = field(default_factory=dict)
    pinned: tuple[BlockView, ...] | None = None
    pinned_cycle: int = 0
    call: LastCall | None = None
    bootstrap: str | None = None

    @property
    def upto(self) -> int:
        """The sequence number up to which the summary stands for the log; 0 without one."""
        return self.summary.upto_seq if self.summary is not None else 0


NO_DECISIONS = Decisions()


def decisions_from(record: ContextRecord) -> Decisions:
    """The decisions of a stored record."""
    summary = CompactionRecord.from_json(loads(record.summary)) if record.summary else None
    pinned, pinned_cycle, bootstrap = pinned_from(record.pinned) if record.pinned else (None, 0, None)
    call = LastCall(*cast("list[int]", loads(record.call))) if record.call else None
    pruned = pruned_from(record.pruned) if record.pruned else {}
    counts = (record.cycle, summary, record.flushed, record.failures)
    return Decisions(*counts, pruned, pinned, pinned_cycle, call, bootstrap)


def pruned_text(pruned: Mapping[int, Decision], upto: int) -> str:
    """As it is stored: only what the summary does not stand for."""
    kept: dict[str, Json] = {}
    for decision in ("trim", "clear"):
        if seqs := sorted(seq for seq, made in pruned.items() if made == decision and seq > upto):
            kept[decision] = cast("list[Json]", seqs)
    return dumps(kept)


def pruned_from(text: str) -> dict[int, Decision]:
    """The inverse of :func:`pruned_text`."""
    stored = cast("Mapping[Decision, list[int]]", loads(text))
    return {seq: decision for decision, seqs in stored.items() for seq in seqs}


def pinned_text(decided: Decisions) -> str:
    """As it is stored: what is rendered of each block, with its version, and the memory files."""
    rows: Json = None
    if decided.pinned is not None:
        rows = [[cast("Json", getattr(block, name)) for name in _PINNED] for block in decided.pinned]
    return dumps([decided.pinned_cycle, rows, decided.bootstrap])


def pinned_from(text: str) -> tuple[tuple[BlockView, ...] | None, int, str | None]:
    """(Pinned blocks, their cycle, memory files) from what :func:`pinned_text` made."""
    cycle, rows, bootstrap = cast("tuple[int, list[list[object]] | None, str | None]", loads(text))
    if rows is None:
        return None, cycle, bootstrap
    made = (BlockView(**dict(zip(_PINNED, row, strict=True))) for row in rows)  # type: ignore[arg-type]
    return tuple(made), cycle, bootstrap
