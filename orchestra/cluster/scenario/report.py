"""What a play came to: turns, passes, blocks, checks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from orchestra.cluster.scenario.context_use import ContextUse
from orchestra.cluster.scenario.frequency import too_frequent
from orchestra.cluster.scenario.passes import PassReport
from orchestra.cluster.scenario.progress import Opened, TurnEnded, TurnStarted
from orchestra.core.blocks import BlockView
from orchestra.core.jsontext import Json, dumps
from orchestra.core.model import Usage
from orchestra.core.scenario import Expectation
from orchestra.runtime.scenario_file import LoadedScenario


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A turn as it was sent and as it ended."""

    started: TurnStarted
    ended: TurnEnded

    def to_json(self) -> dict[str, Json]:
        """What a program wants to know of it."""
        start, result = self.started, self.ended.result
        return {
            "turn": start.turn,
            "run_id": result.run_id,
            "at": start.at,
            "question": start.question,
            "input": start.text,
            "output": result.output,
            "status": result.status,
            "reason": result.reason,
            "error": result.error,
            "duplicate": result.duplicate,
            "seconds": round(self.ended.seconds, 3),
            "usage": result.usage.to_json(),
            **({"node_history": list(result.node_history)} if result.node_history else {}),
            **({"interrupts": [one.to_json() for one in result.interrupts]} if result.interrupts else {}),
        }


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation of the scenario: what it is, what was expected and found, whether it holds."""

    name: str
    expected: str
    found: str
    ok: bool

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return {"name": self.name, "expected": self.expected, "found": self.found, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class PlayReport:
    """What a play came to. ``passes`` are all of the session; those in ``new`` (ids) were published in this play.

    ``seconds`` is the time of the whole play, waiting for passes included; ``context`` is what kept prompts small.
    """

    loaded: LoadedScenario
    opened: Opened
    turns: tuple[PlayedTurn, ...]
    passes: tuple[PassReport, ...]
    new: frozenset[str]
    blocks: tuple[BlockView, ...]
    checks: tuple[Check, ...]
    seconds: float
    failure: str = ""
    context: ContextUse = field(default_factory=ContextUse)

    @property
    def ok(self) -> bool:
        """Whether every turn was completed and every check holds."""
        return not self.failure and all(check.ok for check in self.checks)

    @property
    def usage(self) -> Usage:
        """Tokens of the turns of this play."""
        return sum((turn.ended.result.usage for turn in self.turns), Usage())

    @property
    def too_frequent(self) -> str:
        """A warning when memory sleeps more often than is worth it, with what that cost; else empty."""
        agent = next((agent for agent in self.loaded.agents if agent.name == self.opened.agent), None)
        return too_frequent(self.passes, None if agent is None else agent.sleeptime)

    @property
    def pass_usage(self) -> Usage:
        """Tokens of the passes of this play."""
        return sum((one.usage for one in self.passes if one.id in self.new), Usage())

    @property
    def latencies(self) -> tuple[float, float] | None:
        """The median and the 95th percentile of the turns' seconds; ``None`` without turns."""
        seconds = sorted(turn.ended.seconds for turn in self.turns)
        if not seconds:
            return None
        if len(seconds) == 1:
            return seconds[0], seconds[0]
        return statistics.median(seconds), statistics.quantiles(seconds, n=20, method="inclusive")[-1]

    def to_json(self) -> dict[str, Json]:
        """One JSON object."""
        half = self.latencies
        return {
            "ok": self.ok,
            "failure": self.failure,
            "scenario": str(self.loaded.path),
            "namespace": self.loaded.cluster.namespace,
            "session": self.opened.session,
            "user": self.opened.user,
            "agent": self.opened.agent,
            "kind": self.opened.kind,
            "model": self.opened.model,
            "played": self.opened.part,
            "turns": [turn.to_json() for turn in self.turns],
            "passes": [{**one.to_json(), "new": one.id in self.new} for one in self.passes],
            "blocks": [cast("Json", block.model_dump(mode="json")) for block in self.blocks],
            "checks": [check.to_json() for check in self.checks],
            "context": self.context.to_json(),
            "usage": self.usage.to_json(),
            "pass_usage": self.pass_usage.to_json(),
            "too_frequent": self.too_frequent,
            "seconds": round(self.seconds, 3),
            "turn_seconds": None if half is None else {"p50": round(half[0], 3), "p95": round(half[1], 3)},
        }


def checked(
    expect: Expectation, *, turns: Sequence[PlayedTurn], passes: Sequence[PassReport], blocks: Sequence[BlockView],
    played: int,
) -> tuple[Check, ...]:  # fmt: skip
    """The scenario's expectations, as far as they can be judged after ``played`` turns of the session.

    Texts are looked for without regard to case. Answers are those of the questions, which a first play does not ask.
    """
    out = []
    if expect.passes_at is not None:
        upto = max(expect.passes_at, default=played)
        wanted = [turn for turn in expect.passes_at if turn <= played]
        # What the session did after the last expected pass (questions, a chat) is no business of the scenario's.
        found = [one.turn for one in passes if one.turn <= upto and not one.documents]
        if wanted or found:
            out.append(Check("passes after turns", _listed(wanted), _listed(found), wanted == found))
    for turn in turns if expect.outputs is not None else ():
        text = None if turn.started.question else (expect.outputs or ())[turn.started.position - 1]
        if text is not None:
            output = as_text(turn.ended.result.output)
            out.append(Check(f"output {turn.started.position}", text, output, text.casefold() in output.casefold()))
    answers = [turn for turn in turns if turn.started.question]
    for turn, text in zip(answers, expect.answers or (), strict=False):
        answer = as_text(turn.ended.result.output)
        out.append(Check(f"answer {turn.started.position}", text, answer, text.casefold() in answer.casefold()))
    for label, texts in expect.blocks.items():
        value = next((block.value for block in blocks if block.label == label), "")
        out.extend(Check(f"block {label}", text, value, text.casefold() in value.casefold()) for text in texts)
    return tuple(out)


def as_text(output: Json) -> str:
    """An answer for people: text as it is, data as JSON."""
    return output if isinstance(output, str) else "" if output is None else dumps(output)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers) or "none"
