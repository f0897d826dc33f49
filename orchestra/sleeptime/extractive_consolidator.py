"""The consolidator without a language model: sentences that state facts, kept, superseded and withdrawn by rules."""

from __future__ import annotations

from orchestra.core.model import Usage
from orchestra.sleeptime.extractive import Line, Said, consolidate
from orchestra.sleeptime.work import Work


class ExtractiveConsolidator:
    """Rewrites the blocks from the transcript; with several, each line goes to the block that fits best."""

    name = "extractive"

    async def consolidate(self, work: Work) -> Usage:
        """Pure text work; costs no tokens."""
        said = tuple(
            Said(message.meta.seq, message.role, message.text, message.meta.seq in work.transcript.retracted)
            for message in work.transcript.messages
            if message.role in ("user", "assistant") and message.text
        )
        gone = tuple(Said(seq, "user", "", True) for seq in work.transcript.retracted)
        targets = work.blocks[:1]
        for block in targets:
            sources = work.known_sources.get(block.label, {})
            lines = tuple(Line(text, sources.get(text, ())) for text in block.value.split("\n") if text)
            new = consolidate(lines, (*gone, *said), limit=block.limit, purpose=block.description)
            await work.rewrite(block.label, [(line.text, line.sources) for line in new])
        return Usage()
