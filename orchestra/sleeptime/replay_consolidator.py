"""The consolidator that plays recorded edits: the same memory again, without a model and without cost."""

from __future__ import annotations

from pathlib import Path

from orchestra.core.errors import OrchestraError, SleeptimeError
from orchestra.core.model import Usage
from orchestra.memory.recorded_edits import RecordedEdit, read_edits
from orchestra.sleeptime.work import Work


class ReplayConsolidator:
    """Plays the edits of the turns that a pass reads, in the order of their file.

    Raises:
        ConfigError: the file is not there, or a line of it is no edit.
    """

    name = "replay"

    def __init__(self, path: str) -> None:
        self._file, self._edits = Path(path).name, read_edits(path)

    async def consolidate(self, work: Work) -> Usage:
        """Raises :class:`SleeptimeError`, with file and line, for an edit that does not fit the block."""
        of_turn: dict[int, list[int]] = {}
        for message in work.transcript.messages:
            if not message.meta.aborted:
                of_turn.setdefault(message.meta.turn, []).append(message.meta.seq)
        for one in self._edits:
            if one.turn in of_turn:
                await self._play(one, work, one.messages or tuple(of_turn[one.turn]))
        return Usage()

    async def _play(self, one: RecordedEdit, work: Work, messages: tuple[int, ...]) -> None:
        try:
            await work.drafts.edit(one.label, one.edit, f"replay:{one.line}")
        except OrchestraError as error:
            raise SleeptimeError(work.thread, f"{self._file}:{one.line}: {error}") from None
        await work.look()
        lines = work.line_sources.setdefault(one.label, {})
        lines.update(dict.fromkeys((line for line in one.text.split("\n") if line), messages))
