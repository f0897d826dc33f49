"""A conversation with its gold: what was said, what is true when, and where it was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestra.core.terms import content

Speaker: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message. ``seq`` and ``turn`` count from 1; ``at`` is Unix seconds; ``writer`` is whose agent heard it."""

    seq: int
    turn: int
    role: Speaker
    text: str
    at: float = 0.0
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """How to see that a line of a block states something.

    It has all of ``needed`` (stems) and, of at least one of ``about``, the ``share``; and not all of ``unless``.
    """

    needed: frozenset[str]
    about: tuple[frozenset[str], ...] = ()
    share: float = 1.0
    unless: frozenset[str] = frozenset()

    def stands_in(self, line: frozenset[str]) -> bool:
        """Whether a line with these stems states it."""
        if not self.needed <= line or (self.unless and self.unless <= line):
            return False
        return not self.about or any(len(terms & line) >= self.share * len(terms) for terms in self.about)


def terms(text: str) -> frozenset[str]:
    """The stems of ``text`` that carry meaning."""
    return frozenset(content(text))


@dataclass(frozen=True, slots=True)
class Question:
    """One fact of a dialogue, as it is asked for.

    ``evidence`` are the sequence numbers of the messages that state it, ``since`` the turn of the last of them; it is
    true up to the turn before ``until`` (``None``: to the end). ``now`` tells how a line states it and ``before`` how
    a line states a value that it superseded; without ``now`` only the evidence counts. A retraction has no answer:
    its ``before`` must be gone. ``line`` is the statement as a careful reader would note it.
    """

    id: str
    text: str
    answer: str
    evidence: tuple[int, ...]
    since: int
    until: int | None = None
    kind: str = "first"
    now: tuple[Mark, ...] = ()
    before: tuple[Mark, ...] = ()
    line: str = ""

    @property
    def is_fact(self) -> bool:
        """Whether it can be true, and so counts for recall, staleness and freshness; a retraction cannot."""
        return self.kind != "retraction"

    def true_at(self, turn: int) -> bool:
        """Whether it has been said and still holds after ``turn``."""
        return self.since <= turn and (self.until is None or turn < self.until)


@dataclass(frozen=True, slots=True)
class Observation:
    """A recorded note with the messages it was made from, for replaying."""

    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation. ``case`` tells it from the others of its workload: a seed, or a name in the data.

    ``defects`` counts the faults of the data that were met and handled, by what they are.
    """

    workload: str
    case: str
    utterances: tuple[Utterance, ...]
    questions: tuple[Question, ...]
    observations: tuple[Observation, ...] = ()
    defects: Mapping[str, int] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """How many turns it has."""
        return self.utterances[-1].turn if self.utterances else 0

    def by_turn(self) -> list[list[Utterance]]:
        """The messages of each turn; turn 1 is the first."""
        out: list[list[Utterance]] = [[] for _ in range(self.turns)]
        for one in self.utterances:
            out[one.turn - 1].append(one)
        return out


def in_turns(said: Sequence[tuple[Speaker, str, float]]) -> tuple[Utterance, ...]:
    """Messages as utterances. A turn begins with a message of the user; what comes before the first is its own."""
    out: list[Utterance] = []
    turn, answered = 0, True
    for seq, (role, text, at) in enumerate(said, 1):
        if turn == 0 or (role == "user" and answered):
            turn += 1
            answered = False
        answered = answered or role == "assistant"
        out.append(Utterance(seq, turn, role, text, at))
    return tuple(out)
