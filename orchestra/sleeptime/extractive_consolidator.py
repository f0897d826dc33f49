"""The consolidator without a language model: sentences that state facts, kept, superseded and withdrawn by rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orchestra.core.blocks import BlockView
from orchestra.core.model import Usage
from orchestra.core.own_thread import in_own_thread
from orchestra.core.terms import content, tokens
from orchestra.sleeptime.extractive import Line, Said, consolidate
from orchestra.sleeptime.work import Work

# A plan, a decision or something said of a group is about the task at hand; a state of one person is about the person.
_OF_THE_TASK = re.compile(
    r"\b(?:we|our|us|ours|both|will|would|wants? to|plan(?:s|ned|ning)? to|going to|let's|booked|reserved|signed|paid"
    r"|confirmed|decided|agreed|scheduled|ordered|arranged)\b|['’](?:ll|d)\b(?! rather)",
    re.IGNORECASE,
)
_OF_A_PERSON = re.compile(r"^(?:i|my)\b|\b(?:i|me|my)\b", re.IGNORECASE)
_SAME_STEM = 5
_DOCUMENTS = 1 << 52


class ExtractiveConsolidator:
    """Rewrites the blocks from the transcript; a new line goes to the block whose description fits best.

    ``supersede=False`` only appends and merges, for comparison.
    """

    def __init__(self, *, supersede: bool = True) -> None:
        self.name = "extractive" if supersede else "append-only"
        self._supersede = supersede

    async def consolidate(self, work: Work) -> Usage:
        """Pure text work, in a thread: inline, the turns go on meanwhile; costs no tokens.

        All blocks are looked at together, so that a fact is superseded wherever it stands.
        """
        blocks = work.blocks
        if not blocks:
            return Usage()
        heard = [m for m in work.transcript.messages if m.role in ("user", "assistant") and m.text]
        gone = [Said(seq, "user", "", retracted=True) for seq in work.transcript.retracted]
        said = [*gone, *(Said(m.meta.seq, "user" if m.role == "user" else "assistant", m.text) for m in heard)]
        said += _written(work)
        before = [line for block in blocks for line in _lines(block, work.known_sources.get(block.label, {}))]
        limit = sum(block.limit for block in blocks)
        purpose = " ".join(block.description for block in blocks)
        after = await in_own_thread(consolidate, before, said, limit=limit, purpose=purpose, supersede=self._supersede)
        for block, lines in _shared_out(after, blocks):
            await work.rewrite(block.label, [(line.text, _messages(line)) for line in lines])
        return Usage()


def _written(work: Work) -> list[Said]:
    """The paragraphs of documents, numbered above all messages: they are what was heard last."""
    texts = [text for part in work.transcript.documents for text in part.text.split("\n\n") if text.strip()]
    return [Said(_DOCUMENTS + number, "user", " ".join(text.split())) for number, text in enumerate(texts)]


def _messages(line: Line) -> tuple[int, ...]:
    return tuple(seq for seq in line.sources if seq < _DOCUMENTS)


def _lines(block: BlockView, sources: Mapping[str, tuple[int, ...]]) -> list[Line]:
    return [Line(text, sources.get(text, ())) for text in block.value.split("\n") if text]


def _shared_out(lines: Sequence[Line], blocks: Sequence[BlockView]) -> list[tuple[BlockView, list[Line]]]:
    """Each line to its block: old ones stay where they are, new ones go where they fit best and where there is room.

    A block that runs over drops its oldest lines that came from messages.
    """
    home = {text: i for i, block in reversed(list(enumerate(blocks))) for text in block.value.split("\n")}
    described = [_stems(block.description) for block in blocks]
    out: list[list[Line]] = [[] for _ in blocks]
    last: tuple[int, tuple[int, ...]] = (0, ())
    for line in lines:
        at = home.get(line.text)
        if at is None:
            beside = last[0] if set(last[1]) & set(line.sources) else None
            at = _best(line.text, blocks, described, beside)
        out[at].append(line)
        last = at, line.sources
    for block, kept in zip(blocks, out, strict=True):
        while sum(len(line.text) + 1 for line in kept) - 1 > block.limit and kept:
            oldest = next((line for line in kept if line.sources), kept[0])
            kept.remove(oldest)
    return list(zip(blocks, out, strict=True))


def _best(text: str, blocks: Sequence[BlockView], described: Sequence[frozenset[str]], beside: int | None) -> int:
    """The block that shares most words with ``text``, or whose scope is that of what it is about.

    A line that tells neither goes where the line before it went, when both come from one message.
    """
    words = _stems(text)
    scope = _scope(text)
    scores = [
        len(words & terms) + 1.5 * (scope is not None and block.scope == scope) + 1.0 * (scope is None and i == beside)
        for i, (block, terms) in enumerate(zip(blocks, described, strict=True))
    ]
    return max(range(len(blocks)), key=lambda index: (scores[index], -index))


def _scope(text: str) -> str | None:
    exact = any(token.kind in ("number", "date") for token in tokens(text))
    if exact or _OF_THE_TASK.search(text):
        return "session"
    return "user" if _OF_A_PERSON.search(text) else None


def _stems(text: str) -> frozenset[str]:
    """The beginnings of the words, so that "allergy" meets "allergic"."""
    return frozenset(stem[:_SAME_STEM] for stem in content(text))
