"""The lines of a block while a pass works on them, found by their terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestra.core.terms import Weights, tokens
from orchestra.sleeptime.extractive.claim import Claim, parse
from orchestra.sleeptime.extractive.cues import ADDITIVE, EXCLUSIVE
from orchestra.sleeptime.extractive.likeness import (
    alike,
    common_phrase,
    is_named,
    kinds_met,
    owners_agree,
    says_the_same,
    strong_terms,
    value_kind,
    value_lead,
)
from orchestra.sleeptime.extractive.nouns import slot_terms
from orchestra.sleeptime.extractive.predicates import FUNCTIONAL


@dataclass(slots=True)
class Entry:
    """One line at work. ``typed`` when people wrote it, ``number`` is its place."""

    number: int
    text: str
    sources: tuple[int, ...]
    claim: Claim
    typed: bool = False


@dataclass(slots=True)
class Ledger:
    """The lines in order, with an index of their terms. Owned by one call of the consolidator."""

    weights: Weights
    entries: dict[int, Entry] = field(default_factory=dict)
    _index: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _next: int = 0

    def add(self, text: str, sources: Iterable[int], *, typed: bool = False) -> Entry:
        """Append a line."""
        entry = Entry(self._next, text, tuple(sorted(set(sources))), parse(text), typed)
        self._next += 1
        self.entries[entry.number] = entry
        self._enter(entry)
        return entry

    def replace(self, entry: Entry, text: str, sources: Iterable[int]) -> Entry:
        """Give a line another text and sources; it keeps its place."""
        self._leave(entry)
        entry.text, entry.sources, entry.claim = text, tuple(sorted(set(sources))), parse(text)
        self._enter(entry)
        return entry

    def remove(self, entry: Entry) -> None:
        """Take a line out."""
        self._leave(entry)
        self.entries.pop(entry.number, None)

    def _enter(self, entry: Entry) -> None:
        for term in entry.claim.terms | entry.claim.slot:
            self._index[term].add(entry.number)

    def _leave(self, entry: Entry) -> None:
        for term in entry.claim.terms | entry.claim.slot:
            self._index[term].discard(entry.number)

    def near(self, terms: Iterable[str]) -> Iterator[Entry]:
        """The lines that share a term, newest first; terms that nearly every line has do not find any."""
        many = max(24, len(self.entries) // 4)
        found: set[int] = set()
        for term in terms:
            numbers = self._index.get(term)
            if numbers and len(numbers) <= many:
                found |= numbers
        return (self.entries[number] for number in sorted(found, reverse=True))

    # --- which line states the same slot -------------------------------------------------------------------------

    def matching(self, claim: Claim, *, old: str = "") -> tuple[Entry, bool] | None:
        """The line about the same slot as ``claim``, and whether it states the same value."""
        best: Entry | None = None
        top = 0.0
        gone = frozenset(token.stem for token in tokens(old) if token.kind != "function")
        for entry in self.near(claim.terms | claim.slot | gone):
            score = self._slot_score(claim, entry.claim, old)
            if score > 0.0:
                score += 0.15 * self._likeness(claim, entry.claim)
            if score > top:
                top, best = score, entry
        return (best, says_the_same(claim, best.claim, old)) if best else None

    def _slot_score(self, new: Claim, line: Claim, old: str) -> float:
        if not owners_agree(new.owner, line.owner):
            return self._overlap(new, line)
        cued = new.cued or bool(old)
        if (
            old
            and (gone := frozenset(token.stem for token in tokens(old) if token.kind != "function"))
            and gone <= line.terms
        ):
            shared = (new.terms & line.terms) - gone
            if shared or new.form == "implicit":
                return 0.9 + 0.01 * len(shared)
            if gone == frozenset(token.stem for token in tokens(line.value) if token.kind != "function"):
                return 0.6
        new_named, line_named = new.form in ("named", "set"), line.form in ("named", "set")
        if new_named and line_named:
            return self._named_score(new, line, cued)
        if new.terms == line.terms:
            return 1.0
        brief = len(line.terms - new.slot) <= 3
        if new_named and cued and new.slot <= line.terms and (brief or (new.form == "set" and kinds_met(new, line))):
            return 0.6
        if line_named and line.slot <= new.terms and new.form != "implicit" and (cued or kinds_met(new, line)):
            return 0.6
        if new.form != "implicit" and not (new_named and line_named) and self._phrase_met(new, line, cued):
            return 0.55
        if new.form == line.form == "verb" and new.slot == line.slot and new.owner == line.owner:
            same_way = new.prepositions == line.prepositions or bool(new.prepositions & line.prepositions)
            family = bool(new.slot & FUNCTIONAL)
            if new.slot == {"@name"} and new.phrases != line.phrases:
                family = False
            if (family and (same_way or not new.slot & {"@work"})) or (
                cued and same_way and new.slot != {"be"} and not ADDITIVE.search(new.text)
            ):
                return 0.7
        return max(self._numbers_only(new, line), self._overlap(new, line), self._same_predicate(new, line))

    def _same_predicate(self, new: Claim, line: Claim) -> float:
        """Of people with full names, as in reference texts: the same predicate holds one object.

        Only for those: "I am fond of A" and "I am fond of B" are both true.
        """
        if new.form != "verb" or new.owner != line.owner or len(new.owner) < 2 or ADDITIVE.search(new.text):
            return 0.0
        more = (new.terms & line.terms) - new.owner - new.slot
        same = new.slot == line.slot and (
            len(new.owner) > 2
            or new.cued
            or bool(EXCLUSIVE.search(new.text))
            or (bool(more) and new.prepositions == line.prepositions)
        )
        if new.slot == {"be"}:
            same = same and bool(more)
        return 0.5 if same or (new.head and new.head == line.head) else 0.0

    def _likeness(self, new: Claim, line: Claim) -> float:
        return self.weights.total(new.terms & line.terms) / (self.weights.total(new.terms | line.terms) or 1.0)

    def _phrase_met(self, new: Claim, line: Claim, cued: bool) -> bool:
        """Whether two clauses, of which one has no known shape, have a noun phrase in common."""
        if not (cued or kinds_met(new, line)):
            return False
        if is_named(new):
            slot = new.slot
            return any(slot == frozenset(phrase[: len(slot)]) for phrase in line.phrases)
        return any(common_phrase(phrase, line) for phrase in new.phrases)

    def _named_score(self, new: Claim, line: Claim, cued: bool) -> float:
        if new.slot == line.slot:
            score = 1.0 + 0.1 * (new.owner == line.owner)
        elif new.slot < line.slot:
            score = 0.8
        elif line.slot < new.slot and cued:
            score = 0.7
        else:
            return 0.0
        if new.terms <= line.terms:
            return score
        if ADDITIVE.search(new.text) and not new.cued:
            return 0.0
        if not cued and not alike(new, line):
            return 0.0
        leads = {value_lead(new), value_lead(line)}
        if cued and value_kind(new) != value_kind(line) and len(leads) == 2 and "" not in leads:
            return 0.0
        return score

    def _numbers_only(self, new: Claim, line: Claim) -> float:
        """Two clauses that differ in numbers or dates only state the same thing with another value."""
        rest = (new.terms ^ line.terms) - new.slot - line.slot
        shared = new.terms & line.terms
        if (
            not shared
            or not rest
            or not (new.terms - line.terms)
            or not (line.terms - new.terms)
            or new.form != line.form
        ):
            return 0.0
        kinds = strong_terms(new.text) | strong_terms(line.text)
        return 0.65 if rest <= kinds and new.slot == line.slot and not ADDITIVE.search(new.text) else 0.0

    def _overlap(self, new: Claim, line: Claim) -> float:
        """Long sentences that share most of what they say but not all: one of them was changed."""
        shared = new.terms & line.terms
        only_new, only_line = new.terms - shared, line.terms - shared
        if len(shared) < 3:
            return 0.0
        same, here, there = self.weights.total(shared), self.weights.total(only_new), self.weights.total(only_line)
        low, high = sorted((same / (same + here), same / (same + there)))
        if not only_new or not only_line:
            return 0.5 if low >= 0.6 else 0.0
        need = 0.5 if new.cued else 0.55
        return (
            0.4 + 0.4 * low
            if low >= need and high >= need and (len(shared) >= 4 or new.cued or new.owner == line.owner)
            else 0.0
        )

    def about(self, phrase: str) -> list[Entry]:
        """The lines that a noun phrase names: those of exactly that slot, else those that hold all of its terms."""
        slot, owner = slot_terms(phrase)
        if not slot:
            return []
        exact: list[Entry] = []
        wider: list[Entry] = []
        loose: list[Entry] = []
        for entry in self.near(slot):
            claim = entry.claim
            if not owners_agree(owner, claim.owner):
                continue
            if claim.slot == slot:
                exact.append(entry)
            elif claim.form in ("named", "set") and (slot < claim.slot or (claim.slot < slot and slot <= claim.terms)):
                wider.append(entry)
            elif slot <= claim.terms or (
                len(slot) > 2 and self.weights.total(slot & claim.terms) >= 0.6 * self.weights.total(slot)
            ):
                loose.append(entry)
        return exact or wider[:1] or loose[:1]

    def mentioned(self, claim: Claim) -> Entry | None:
        """The line whose slot ``claim`` names somewhere: a named slot whole, or the beginning of a noun phrase."""
        best: Entry | None = None
        top = (0, -1)
        terms = claim.terms | claim.slot
        for entry in self.near(terms):
            size = self._mention(claim, terms, entry.claim)
            if (size, entry.number) > top and size:
                top, best = (size, entry.number), entry
        return best

    def _mention(self, claim: Claim, terms: frozenset[str], line: Claim) -> int:
        if line.form in ("named", "set") and line.slot <= terms and owners_agree(claim.owner, line.owner):
            return len(line.slot) + 1
        return max((size for phrase in claim.phrases for size in [common_phrase(phrase, line)] if size), default=0)

    def named(self, terms: frozenset[str]) -> Entry | None:
        """The line with the largest named slot that stands whole among ``terms``."""
        found = [entry for entry in self.near(terms) if is_named(entry.claim) and entry.claim.slot <= terms]
        return max(found, key=lambda entry: (len(entry.claim.slot), entry.number), default=None)

    def holding(self, phrase: str, *, besides: Entry | None = None) -> Entry | None:
        """The newest line but ``besides`` that has all words of ``phrase``."""
        terms = frozenset(token.stem for token in tokens(phrase) if token.kind != "function")
        found = (entry for entry in self.near(terms) if terms <= entry.claim.terms and entry is not besides)
        return next(found, None) if terms else None
