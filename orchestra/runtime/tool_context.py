"""What a tool gets beside its arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

from orchestra.core.blocks import BlockView
from orchestra.core.jsontext import Json
from orchestra.memory.state import AgentState
from orchestra.runtime.questions import Ask, no_questions
from orchestra.runtime.run_archive import ToolArchive
from orchestra.store.block_store import Receipt


class ToolBlocks(Protocol):
    """The agent's blocks, as its tools may use them: by label, with this agent's permissions."""

    def labels(self) -> list[str]:
        """The labels in the prompt, in order."""

    def get(self, label: str) -> BlockView:
        """The block as this turn sees it. Raises :class:`UnknownBlock`."""

    async def append(self, label: str, text: str) -> Receipt:
        """A new line at the end."""

    async def replace(self, label: str, old: str, new: str) -> Receipt:
        """Replace the one occurrence of ``old``."""

    async def insert(self, label: str, text: str, line: int = -1) -> Receipt:
        """A new line after line ``line``: 0 is the top, -1 the end."""

    async def rethink(self, label: str, value: str) -> Receipt:
        """A whole new value, checked against the version that the agent saw."""


class ToolOffloads(Protocol):
    """The large tool results of this session."""

    async def page(self, reference: str, pattern: str | None, lines: str | None) -> str:
        """One page of the result. Raises :class:`ToolError` when there is none."""


@dataclass(frozen=True, slots=True)
class AgentHandle:
    """The agent whose tool runs: its name and its private state."""

    name: str
    state: AgentState


@dataclass(frozen=True, slots=True)
class ToolContext:
    """A tool's surroundings. ``invocation_state`` is read-only and belongs to this call alone.

    ``checkpoint()`` raises ``CancelledError`` when the run is being cancelled. ``once(name, function)`` runs
    ``function`` and journals its JSON result, so a second start of the tool after a crash gets the result instead of a
    second run. ``resource(name)`` gives what a factory registered by ``runtime.resource`` opened on this host (an
    awaitable when the factory is asynchronous). ``emit(value)`` puts a JSON value into the stream of events.
    ``interrupt(name, reason)`` asks somebody: it gives the answer (any JSON value) when there is one, else the run ends
    here with status ``interrupted``, and the tool starts again when it is resumed; names differ within one call.
    ``archive`` searches the archive and what was said, and adds to the archive. ``workspace`` is the agent's folder of
    files, ``None`` when it has none. ``time_zone`` is that of ``conversation.time_zone``.
    """

    agent: AgentHandle
    invocation_state: Mapping[str, object]
    session_id: str | None
    user_id: str | None
    run_id: str
    call_id: str
    blocks: ToolBlocks
    once: Callable[[str, Callable[[], object]], Awaitable[Json]]
    checkpoint: Callable[[], None]
    resource: Callable[[str], object]
    emit: Callable[[Json], None]
    archive: ToolArchive | None = None
    workspace: Path | None = None
    offloads: ToolOffloads | None = None
    time_zone: str = "UTC"
    interrupt: Ask = no_questions

    def today(self) -> str:
        """Today's date in the user's time zone, such as 2026-03-31."""
        zone = UTC if self.time_zone == "UTC" else ZoneInfo(self.time_zone)
        return datetime.now(zone).date().isoformat()

    def __repr__(self) -> str:
        return f"ToolContext(agent={self.agent.name!r}, run_id={self.run_id!r}, call_id={self.call_id!r})"
