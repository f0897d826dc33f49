"""Looking into the memory of a trial after each turn: which facts stand there, and from which messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from orchestra.core.terms import tokens
from orchestra.core.tokens import text_tokens
from orchestra.experiments.arms import Arm
from orchestra.experiments.trial_record import Point, Trace
from orchestra.experiments.workloads import Dialogue, Question, Utterance, terms
from orchestra.memory.search.term_index import TermIndex
from orchestra.sleeptime.extractive import Line

#: A search is asked at the probes and at about so many other turns: it answers each question anew.
_LOOKS = 40


class Probes:
    """Asks every question of a dialogue at every turn from the one that it was last stated in.

    Owner: one trial, which calls :meth:`said` and :meth:`look` once a turn, in order.
    """

    def __init__(self, dialogue: Dialogue, arm: Arm, *, lags: Sequence[int], k: int) -> None:
        self._dialogue, self._arm, self._lags, self._k = dialogue, arm, tuple(lags), k
        self._points: dict[str, list[Point]] = {one.id: [] for one in dialogue.questions}
        self._context: dict[str, list[float | None]] = {one.id: [None] * (len(lags) + 1) for one in dialogue.questions}
        self._flushed: dict[str, Point] = {}
        self._coming = sorted(dialogue.questions, key=lambda one: one.since)
        self._live: list[Question] = []
        self._seen: Sequence[Line] | None = None
        self._window: list[Sequence[Utterance]] = []
        self._index = TermIndex() if arm.memory == "search" else None
        self._found: list[int] = []
        self._stride = max(1, dialogue.turns // _LOOKS)

    def said(self, turn: Sequence[Utterance]) -> None:
        """The messages of the next turn."""
        self._window.append(turn)
        if self._index is not None:
            for one in turn:
                self._index.put(str(one.seq), one.text, one.at)

    def look(self, turn: int, lines: Sequence[Line]) -> None:
        """The block's lines as they are after ``turn``."""
        changed = lines != self._seen
        self._seen = list(lines)
        self._live = [one for one in self._live if one.until is None or turn < one.until]
        while self._coming and self._coming[0].since <= turn:
            self._live.append(self._coming.pop(0))
        view = _View(lines)
        # Without [:0] a window of no turns would be all of them.
        recent = [one for said in (self._window[-self._arm.window :] if self._arm.window else []) for one in said]
        window = {one.seq for one in recent}
        for question in self._live:
            asked = self._asked(question, turn)
            if self._arm.memory == "block":
                if changed or question.since == turn:
                    self._note(question, view.point(question, turn))
                sources: Collection[int] = view.sources
            elif self._arm.memory == "full":
                if question.since == turn:
                    self._note(question, Point(turn, 1.0, True, False, 1.0))
                sources = question.evidence
            elif asked or question.since == turn or turn % self._stride == 0:
                sources = {int(key) for key in self.hits(question)}
                self._note(question, _found(question, turn, sources))
            else:
                continue
            for place in asked:
                self._context[question.id][place] = _share(question.evidence, {*sources, *window})

    def hits(self, question: Question) -> list[str]:
        """The keys of the messages that a search for the question finds now."""
        assert self._index is not None
        found = [key for key, _ in self._index.search(question.text or question.line, self._k)]
        self._found.append(sum(text_tokens(self._dialogue.utterances[int(key) - 1].text) for key in found))
        return found

    @property
    def live(self) -> Sequence[Question]:
        """The questions that are true now, and retractions."""
        return self._live

    @property
    def recent(self) -> Sequence[Utterance]:
        """The messages in the window."""
        return [one for said in (self._window[-self._arm.window :] if self._arm.window else []) for one in said]

    @property
    def search_tokens(self) -> int:
        """What one search in each turn adds to the prompts: the mean over all that were made, times the turns."""
        return round(sum(self._found) / len(self._found) * len(self._window)) if self._found else 0

    def flushed(self, lines: Sequence[Line]) -> None:
        """The block's lines after a last pass."""
        view = _View(lines)
        for question in self._live:
            if self._arm.memory == "block":
                self._flushed[question.id] = view.point(question, self._dialogue.turns)

    def traces(self) -> tuple[Trace, ...]:
        """What was seen, in the order of the questions."""
        return tuple(
            Trace(
                *(one.id, one.kind, one.since, one.until, bool(one.now or one.before) and self._arm.memory == "block"),
                tuple(self._points[one.id]),
                tuple(self._context[one.id]),
                self._flushed.get(one.id),
            )
            for one in self._dialogue.questions
        )

    def _asked(self, question: Question, turn: int) -> list[int]:
        """The places in ``context`` that this turn is for."""
        places = [i for i, lag in enumerate(self._lags) if question.since + lag == turn]
        return [*places, len(self._lags)] if turn == self._dialogue.turns else places

    def _note(self, question: Question, point: Point) -> None:
        points = self._points[question.id]
        if not points or points[-1][1:] != point[1:]:
            points.append(point)


class _View:
    """A block's lines as questions see them."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = [terms(line.text) for line in lines]
        self._words = frozenset().union(*self._lines) if self._lines else frozenset()
        self.sources = frozenset(seq for line in lines for seq in line.sources)

    def point(self, question: Question, turn: int) -> Point:
        """How they stand to ``question``."""
        recall = _share(question.evidence, self.sources)
        new = (
            any(mark.stands_in(line) for mark in question.now for line in self._lines)
            if question.now
            else question.is_fact and question.evidence[-1] in self.sources
        )
        old = any(mark.stands_in(line) for mark in question.before for line in self._lines)
        wanted = _telling(question.answer)
        coverage = len(wanted & self._words) / len(wanted) if wanted else 0.0
        return Point(turn, recall, new, old, round(coverage, 6))


def _found(question: Question, turn: int, sources: Collection[int]) -> Point:
    recall = _share(question.evidence, sources)
    return Point(turn, recall, recall == 1.0, False, 0.0)


def _share(evidence: Sequence[int], sources: Collection[int]) -> float:
    return round(sum(seq in sources for seq in evidence) / len(evidence), 6)


@lru_cache(maxsize=4096)
def _telling(answer: str) -> frozenset[str]:
    """The stems of the answer's numbers and names; of all its content words when it has none."""
    pieces = [token for token in tokens(answer) if token.kind != "function"]
    exact = frozenset(token.stem for token in pieces if token.kind in ("number", "date", "name"))
    return exact or frozenset(token.stem for token in pieces)
