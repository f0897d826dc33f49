"""What happens in a run, as typed values. Every event tells its run, its agent and its place in the run's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestra.core.interrupts import InterruptView
from orchestra.core.jsontext import Json
from orchestra.core.model import Usage
from orchestra.core.result import RunResult, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have: ``run_id``, ``agent``, ``path`` (of nodes, outermost first), ``number`` within the run."""

    run_id: str
    agent: str
    path: tuple[str, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """The run holds its thread. ``turn`` is the number this turn will have; ``resumed`` after a crash."""

    session_id: str | None
    turn: int
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """A piece of the answer's text (or of the reasoning) as it arrives."""

    text: str
    kind: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied(Event):
    """A model call ended. ``call_number`` counts within the run, from 0."""

    call_number: int
    usage: Usage
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """A tool starts."""

    call_id: str
    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(Event):
    """A tool ended; ``content`` is what the model gets."""

    call_id: str
    tool: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEdited(Event):
    """An agent's edit of a block was applied."""

    block_id: str
    label: str
    version: int
    operation: str


ContextPart: TypeAlias = Literal[
    "guard", "flush", "blocks", "pruning", "fit", "compaction", "overflow", "pressure", "offload"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDecided(Event):
    """A step of the context was done, was not due, or failed, and why. ``tokens`` is the context's size then.

    ``window`` is the model's, in tokens; both are 0 where they do not matter.
    """

    part: ContextPart
    decision: Literal["yes", "no", "failed"]
    reason: str
    tokens: int = 0
    window: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted(Event):
    """What a tool gave to ``ctx.emit``."""

    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted(Event):
    """The run waits for an answer to this; it is stored, so that it can be answered from now on."""

    interrupt: InterruptView


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted(Event):
    """A node of a swarm or graph starts. ``visit`` counts this node's visits from 1, ``runs`` names what works there.

    ``item`` is the index in the list of a ``map``. The event is one of the pattern's run: run_id and path are its own.
    """

    node: str
    visit: int = 1
    item: int | None = None
    runs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnded(Event):
    """A node of a swarm or graph ended and its result is kept. ``text`` is its output as text.

    ``seconds`` by the clock; 0 when ``replayed``: it had ended before the run was resumed.
    """

    node: str
    visit: int = 1
    item: int | None = None
    status: Status | Literal["skipped"] = "completed"
    reason: str = ""
    error: str = ""
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(Event):
    """In a swarm, ``source`` has handed the task on to ``target`` with these words. An event of the swarm's run."""

    source: str
    target: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The last event; everything that the run was to store is stored."""

    result: RunResult


RunEvent: TypeAlias = (
    RunStarted
    | TextDelta
    | ModelReplied
    | ToolStarted
    | ToolEnded
    | BlockEdited
    | NodeStarted
    | NodeEnded
    | HandedOff
    | ContextDecided
    | Emitted
    | Interrupted
    | RunEnded
)
