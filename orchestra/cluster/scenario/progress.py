"""What the player tells while it plays: one frozen value for each thing that happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from orchestra.cluster.scenario.passes import PassReport
from orchestra.core.blocks import BlockView
from orchestra.core.events import RunEvent
from orchestra.core.result import RunResult

Part: TypeAlias = Literal["turns", "rest", "follow_up", "nothing"]


@dataclass(frozen=True, slots=True)
class Opened:
    """The session was found. ``part``: all turns, the rest of them after an interrupted play, questions, or nothing.

    ``played`` turns are in the session already, of ``turns`` that the scenario has. ``agent`` gets the turns; ``kind``
    says whether it is an agent, a swarm or a graph. ``model`` says which model answers and why.
    """

    part: Part
    agent: str
    session: str
    user: str | None
    model: str
    played: int
    turns: int
    questions: int
    warnings: tuple[str, ...] = ()
    kind: Literal["agent", "swarm", "graph"] = "agent"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """``--fresh``: the session was deleted, and these blocks with it. ``turns`` is how many it had."""

    session: str
    turns: int
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn is sent: the ``position``-th of ``of`` turns (or questions); ``turn`` is its number in the session."""

    turn: int
    position: int
    of: int
    text: str
    at: str | None
    question: bool


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A piece of the answer as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A tool of the agent that gets the turns has ended."""

    tool: str
    content: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class RunHappened:
    """An event of the run that is the turn, or of one below it."""

    run_id: str
    event: RunEvent


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn has ended. ``seconds`` from sending it to its last event."""

    turn: int
    result: RunResult
    seconds: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """The player waits for the pass that is due after ``turn``."""

    turn: int


@dataclass(frozen=True, slots=True)
class PassPublished:
    """A pass was published."""

    report: PassReport


@dataclass(frozen=True, slots=True)
class PassFailed:
    """A pass did not work out. ``status``: failed (it is tried again), aside, skipped, again (the log was changed)."""

    status: str
    error: str


@dataclass(frozen=True, slots=True)
class GaveUp:
    """A pass is still not finished after ``seconds``; the player goes on without it."""

    turn: int
    seconds: float


PassProgress: TypeAlias = Waiting | PassPublished | PassFailed | GaveUp
Progress: TypeAlias = Opened | Forgotten | TurnStarted | AnswerText | ToolUsed | RunHappened | TurnEnded | PassProgress
