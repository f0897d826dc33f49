"""What one trial found out: for each question how the memory stood to it, turn by turn; and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, TypeAlias

from orchestra.core.jsontext import Json
from orchestra.core.model import Usage


class Point(NamedTuple):
    """How the memory stands to a question from the end of ``turn`` on.

    ``recall``: share of its evidence among the sources of the block's lines. ``new``: a line states its value; ``old``:
    a line states a superseded one. ``coverage``: share of the answer's content words in the block.
    """

    turn: int
    recall: float
    new: bool
    old: bool
    coverage: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The points of one question at which something changed.

    ``context`` is the recall in block and window together: an entry for each lag and one for the end, ``None`` where
    the question was not asked. ``marked``: values can be told by their words. ``flushed`` is how the memory stands
    after a last pass over what the others have not read.
    """

    id: str
    kind: str
    since: int
    until: int | None
    marked: bool
    points: tuple[Point, ...]
    context: tuple[float | None, ...]
    flushed: Point | None = None

    def true_at(self, turn: int) -> bool:
        """Whether it has been said and still holds after ``turn``."""
        return self.since <= turn and (self.until is None or turn < self.until)

    def at(self, turn: int) -> Point:
        """How the memory stood after ``turn``, which is not before ``since``."""
        found = self.points[0]
        for point in self.points:
            if point.turn > turn:
                break
            found = point
        return found

    def right(self, point: Point) -> float:
        """How right the memory is: 1 for the new value without an old one; without values, the recall."""
        return float(point.new and not point.old) if self.marked else point.recall


@dataclass(slots=True)
class Cost:
    """Tokens of a trial (estimated where no model of a provider worked), and passes. ``spent`` went to a provider."""

    passes: int = 0
    idle_passes: int = 0
    sleep_in: int = 0
    sleep_out: int = 0
    primary_in: int = 0
    primary_out: int = 0
    search_in: int = 0
    spent: Usage = field(default_factory=Usage)

    @property
    def sleep(self) -> int:
        """Tokens of the sleep-time agent."""
        return self.sleep_in + self.sleep_out


Answers: TypeAlias = Mapping[str, tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial. ``answers``: F1 and exact match by question. ``units``: how many messages a search looks through."""

    workload: str
    case: str
    arm: str
    turns: int
    units: int
    traces: tuple[Trace, ...]
    answers: Answers
    cost: Cost
    block_chars: int
    seconds: float

    def to_json(self) -> dict[str, Json]:
        """Everything."""
        out: dict[str, Json] = asdict(self)
        out["cost"] = {**asdict(self.cost), "spent": self.cost.spent.to_json()}
        out["traces"] = [_trace_json(trace) for trace in self.traces]
        out["answers"] = {name: list(answer) for name, answer in self.answers.items()}
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> TrialRecord:
        """The inverse of :meth:`to_json`."""
        cost: dict[str, Json] = dict(value["cost"])  # type: ignore[arg-type]
        spent = Usage.from_json(cost.pop("spent"))  # type: ignore[arg-type]
        return cls(
            str(value["workload"]),
            str(value["case"]),
            str(value["arm"]),
            int(value["turns"]),  # type: ignore[arg-type]
            int(value["units"]),  # type: ignore[arg-type]
            tuple(_trace(one) for one in value["traces"]),  # type: ignore[union-attr, arg-type]
            {name: (float(one[0]), bool(one[1])) for name, one in value["answers"].items()},  # type: ignore
            Cost(**cost, spent=spent),  # type: ignore[arg-type]
            int(value["block_chars"]),  # type: ignore[arg-type]
            float(value["seconds"]),  # type: ignore[arg-type]
        )


def _trace_json(trace: Trace) -> dict[str, Json]:
    out: dict[str, Json] = {name: getattr(trace, name) for name in ("id", "kind", "since", "until", "marked")}
    out["points"] = [list(point) for point in trace.points]
    out["context"] = list(trace.context)
    out["flushed"] = list(trace.flushed) if trace.flushed else None
    return out


def _trace(value: Mapping[str, Json]) -> Trace:
    points: Sequence[Sequence[Json]] = value["points"]  # type: ignore[assignment]
    flushed: Sequence[Json] | None = value["flushed"]  # type: ignore[assignment]
    return Trace(
        str(value["id"]),
        str(value["kind"]),
        int(value["since"]),  # type: ignore[arg-type]
        None if value["until"] is None else int(value["until"]),  # type: ignore[arg-type]
        bool(value["marked"]),
        tuple(Point(*point) for point in points),  # type: ignore[arg-type]
        tuple(value["context"]),  # type: ignore[arg-type]
        None if flushed is None else Point(*flushed),  # type: ignore[arg-type]
    )
