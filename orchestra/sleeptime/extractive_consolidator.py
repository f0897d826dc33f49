"""The consolidator without a language model: sentences that state facts, kept, superseded and withdrawn by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestra.core.blocks import BlockView
from orchestra.core.model import Usage
from orchestra.core.terms import content, tokens
from orchestra.sleeptime.extractive import Line, Said, consolidate
from orchestra.sleeptime.work import Work

# Verbs of lasting states: a sentence that says one of them of its speaker is about the person, not about the task.
_STATES = frozenset("am be live work like love hate prefer enjoy eat drink speak own can do have know need".split())


class ExtractiveConsolidator:
    """Rewrites the blocks from the transcript; a new line goes to the block whose description fits best."""

    name = "extractive"

    async def consolidate(self, work: Work) -> Usage:
        """Pure text work; costs no tokens.

        All blocks are looked at together, so that a fact is superseded wherever it stands.
        """
        blocks = work.blocks
        if not blocks:
            return Usage()
        heard = [m for m in work.transcript.messages if m.role in ("user", "assistant") and m.text]
        gone = [Said(seq, "user", "", retracted=True) for seq in work.transcript.retracted]
        said = [*gone, *(Said(m.meta.seq, "user" if m.role == "user" else "assistant", m.text) for m in heard)]
        before = [line for block in blocks for line in _lines(block, work.known_sources.get(block.label, {}))]
        limit = sum(block.limit for block in blocks)
        purpose = " ".join(block.description for block in blocks)
        after = consolidate(before, said, limit=limit, purpose=purpose)
        for block, lines in _shared_out(after, blocks):
            await work.rewrite(block.label, [(line.text, line.sources) for line in lines])
        return Usage()


def _lines(block: BlockView, sources: Mapping[str, tuple[int, ...]]) -> list[Line]:
    return [Line(text, sources.get(text, ())) for text in block.value.split("\n") if text]


def _shared_out(lines: Sequence[Line], blocks: Sequence[BlockView]) -> list[tuple[BlockView, list[Line]]]:
    """Each line to its block: old ones stay where they are, new ones go where they fit best and where there is room.

    A block that runs over drops its oldest lines that came from messages.
    """
    home = {text: i for i, block in reversed(list(enumerate(blocks))) for text in block.value.split("\n")}
    described = [frozenset(content(block.description)) for block in blocks]
    out: list[list[Line]] = [[] for _ in blocks]
    for line in lines:
        at = home.get(line.text)
        out[_best(line.text, blocks, described) if at is None else at].append(line)
    for block, kept in zip(blocks, out, strict=True):
        while sum(len(line.text) + 1 for line in kept) - 1 > block.limit and kept:
            oldest = next((line for line in kept if line.sources), kept[0])
            kept.remove(oldest)
    return list(zip(blocks, out, strict=True))


def _best(text: str, blocks: Sequence[BlockView], described: Sequence[frozenset[str]]) -> int:
    """The block that shares most words with ``text``; of equals, the user's for what a person says of themselves."""
    words = set(content(text))
    scope = "user" if _about_the_speaker(text) else "session"
    scores = [(len(words & terms), block.scope == scope) for block, terms in zip(blocks, described, strict=True)]
    return max(range(len(blocks)), key=lambda index: (scores[index], -index))


def _about_the_speaker(text: str) -> bool:
    lower = [token.lower for token in tokens(text)][:4]
    if not lower or lower[0] not in ("i", "my", "we", "our"):
        return False
    return lower[0] in ("my", "our") or bool(_STATES & set(lower[1:]))
