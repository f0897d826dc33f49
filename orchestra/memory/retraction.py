"""What memory has made of messages that were taken away, and taking that out again."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestra.core.blocks import BlockView
from orchestra.core.errors import BlockConflict, BlockLimitExceeded
from orchestra.core.own_thread import in_own_thread
from orchestra.memory.blocks import DEVELOPER, Blocks
from orchestra.memory.lineage import Sources, kept_sources
from orchestra.memory.sessions import Session
from orchestra.store.block_store import BlockStore, Change, Memo, Version
from orchestra.store.connection import Store
from orchestra.store.thread_store import ThreadStore, entry_from

SAME = 0.5
"""From this likeness on, a line that stands where another one stood is that one, changed."""


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """A line of a block that came from messages which were taken away.

    ``state``: ``kept`` it stands there, and nothing else speaks for it; ``mixed`` it also came from messages that are
    still there; ``changed`` ``by`` changed it since; ``removed`` it was taken out now. ``seqs`` are the messages it is
    from, ``version`` and ``author`` tell the edit that wrote it.
    """

    block_id: str
    label: str
    text: str
    state: Literal["kept", "mixed", "changed", "removed"]
    seqs: tuple[int, ...]
    version: int
    author: str
    by: str = ""


@dataclass(slots=True)
class _Line:
    """A line on its way through the versions: what it came from, what it took the place of.

    ``others``: messages of another session say it too.
    """

    text: str
    thread: str
    seqs: tuple[int, ...]
    version: int
    author: str
    before: _Line | None = None
    origin: _Line | None = field(default=None)
    others: bool = False


@dataclass(slots=True)
class _Retraction:
    """``popped``: the messages in question; ``there``: those that the log still has.

    The session was made at ``since`` (Unix seconds). What was learned before that is of another one, which had this id
    before and has ended: its messages had the same numbers.
    """

    thread: str
    since: float
    popped: Collection[int]
    there: Collection[int]

    def touches(self, line: _Line) -> bool:
        return line.thread == self.thread and any(seq in self.popped for seq in line.seqs)

    def sole(self, line: _Line) -> bool:
        return self.touches(line) and not line.others and not any(seq in self.there for seq in line.seqs)

    def trace(self, versions: Sequence[Version]) -> list[_Line]:
        """The lines of the newest version. ``origin`` is the touched line that somebody changed into this one."""
        lines: list[_Line] = []
        for version in versions:
            sources = Sources.from_text(version.sources)
            known, thread = dict(sources.lines), sources.thread
            if thread == self.thread and version.at < self.since:
                thread = ""
            texts = version.value.split("\n") if version.value else []
            matcher = difflib.SequenceMatcher(None, [line.text for line in lines], texts, autojunk=False)
            codes = matcher.get_opcodes()
            moved = {line.text: line for kind, a, b, _, _ in codes if kind != "equal" for line in lines[a:b]}
            after: list[_Line] = []
            for kind, a, b, c, d in codes:
                if kind == "equal":
                    for line in lines[a:b]:  # said once more: other messages speak for it too
                        if line.thread == thread:
                            line.seqs = tuple(dict.fromkeys((*line.seqs, *known.get(line.text, ()))))
                        elif known.get(line.text):
                            line.others = True
                        after.append(line)
                    continue
                old = _partners(lines[a:b], texts[c:d])
                for text, partner in zip(texts[c:d], old, strict=True):
                    if text in moved and not known.get(text):
                        after.append(moved[text])
                        continue
                    seqs = known.get(text, sources.seqs)
                    line = _Line(text, thread, seqs, version.version, version.author, partner)
                    if partner is not None and not (line.thread == self.thread and seqs):
                        line.origin = partner if self.touches(partner) else partner.origin
                    after.append(line)
            lines = after
        return lines

    def without(self, lines: Sequence[_Line]) -> list[str]:
        """The lines, those that only popped messages speak for replaced by what stood in their place before."""
        out = []
        now = {line.text for line in lines}
        for line in lines:
            good: _Line | None = line
            while good is not None and self.sole(good):
                good = good.before
            if good is line or (good is not None and good.text not in now):
                out.append(good.text)
        return out


async def learned_from(store: Store, session: Session, seqs: Collection[int] | None = None) -> list[LearnedLine]:
    """The lines in the blocks of the session's agent that came from messages which were taken away.

    ``seqs`` are the messages' numbers; ``None``: all that were ever taken away. Blocks of the session and of its user
    are looked at too. What the bounded history of a block does not know any more is not found, nor is a line that was
    deleted on account of a message.
    """
    found = []
    retraction = await _retraction(store, session, seqs)
    for block in await _blocks(store, session):
        found += _learned(block, retraction, await _traced(store, block, retraction))
    return found


async def unlearn(store: Store, session: Session, seqs: Collection[int] | None = None) -> list[LearnedLine]:
    """Take out what only the messages ``seqs`` speak for, as new edits; what stood there before comes back.

    Gives the lines that :func:`learned_from` finds, those that were taken out as ``removed``. Lines that others changed
    since, and lines that other messages speak for too, stay. An edit that somebody makes meanwhile is never lost.
    """
    found = []
    retraction = await _retraction(store, session, seqs)
    for block in await _blocks(store, session):
        found += await _unlearn(store, block, retraction)
    return found


async def _unlearn(store: Store, block: BlockView, retraction: _Retraction) -> list[LearnedLine]:
    back, blocks = True, BlockStore(store)
    while True:
        log = await blocks.log(block.id)
        lines = await _traced(store, block, retraction, log)
        learned = _learned(block, retraction, lines)
        if not any(line.state == "kept" for line in learned):
            return learned
        kept = retraction.without(lines) if back else [line.text for line in lines if not retraction.sole(line)]
        value = "\n".join(kept)
        try:
            await blocks.edit(
                block.id,
                "revert",
                ("value", value, "chars", str(len(value))),
                change=Change(DEVELOPER, sources=kept_sources(log, value)),
                memo=Memo(store.keys.op(f"{uuid.uuid4().hex}:{block.id}")),
                label=block.label,
                by_agent=False,
                expected_version=log[-1].version,
            )
        except BlockConflict:
            continue  # somebody wrote between reading and writing: look again
        except BlockLimitExceeded:
            if not back:
                raise
            back = False  # what stood there before does not fit any more
            continue
        return [_removed(line) if line.state == "kept" else line for line in learned]


async def _retraction(store: Store, session: Session, seqs: Collection[int] | None) -> _Retraction:
    threads = ThreadStore(store)
    head = await threads.head(session.thread)
    if seqs is None:  # before the log is read: a message that comes meanwhile is not taken for one that went
        seqs = range(1, int(head.get("seq", 0)) + 1)
    entries = [entry_from(text) for text in await threads.entries(session.thread)]
    there = {entry.seq for entry in entries if entry is not None}
    return _Retraction(session.thread, int(head.get("created_at", 0)) / 1000, set(seqs) - there, there)


async def _blocks(store: Store, session: Session) -> Sequence[BlockView]:
    user = (await ThreadStore(store).head(session.thread)).get("user") or None
    return await Blocks(store).list(agent=session.agent, session_id=session.session_id, user_id=user)


async def _traced(
    store: Store, block: BlockView, retraction: _Retraction, log: Sequence[Version] | None = None
) -> list[_Line]:
    return await in_own_thread(retraction.trace, log or await BlockStore(store).log(block.id))


def _learned(block: BlockView, retraction: _Retraction, lines: Sequence[_Line]) -> list[LearnedLine]:
    found = []
    for line in lines:
        if retraction.touches(line):
            state: Literal["kept", "mixed"] = "kept" if retraction.sole(line) else "mixed"
            where = (line.seqs, line.version, line.author)
            found.append(LearnedLine(block.id, block.label, line.text, state, *where))
        elif line.origin is not None:
            origin = (line.origin.seqs, line.origin.version, line.origin.author)
            found.append(LearnedLine(block.id, block.label, line.text, "changed", *origin, by=line.author))
    return found


def _removed(line: LearnedLine) -> LearnedLine:
    return LearnedLine(line.block_id, line.label, line.text, "removed", line.seqs, line.version, line.author)


def _partners(old: Sequence[_Line], new: Sequence[str]) -> list[_Line | None]:
    """For each new line the old one that stood in its place: as many, one each; else the likest that is left."""
    if len(old) == len(new):
        return list(old)
    left, out = list(old), []
    for text in new:
        likeness = [difflib.SequenceMatcher(None, one.text, text, autojunk=False).ratio() for one in left]
        best = max(likeness, default=0.0)
        out.append(left.pop(likeness.index(best)) if best >= SAME else None)
    return out
