"""Hearing a stretch of the conversation: what each clause does to the lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive import cues
from orchestra.sleeptime.extractive.claim import Claim, parse
from orchestra.sleeptime.extractive.clauses import Clause, clauses
from orchestra.sleeptime.extractive.ledger import Entry, Ledger
from orchestra.sleeptime.extractive.line import Said
from orchestra.sleeptime.extractive.nouns import GENERIC_WORDS
from orchestra.sleeptime.extractive.rewriting import affirmed, as_note, with_value, without_old
from orchestra.sleeptime.extractive.salience import KEEP, of_claim, request_constraint
from orchestra.sleeptime.extractive.withdrawal import withdrawn

FOCUS_MESSAGES = 6


@dataclass(slots=True)
class Hearing:
    """One run over a stretch. ``focus`` is the claim that "it" stands for, with its line while that exists."""

    ledger: Ledger
    supersede: bool = True
    focus: Claim | None = None
    focus_entry: Entry | None = None
    focus_at: int = -FOCUS_MESSAGES
    _messages: int = 0
    corrected: bool = False
    asked: str = ""

    def begin(self, seq: int) -> None:
        """Let "it" stand for the line of the last messages before ``seq``, the first of this stretch."""
        sourced = [entry for entry in self.ledger.entries.values() if entry.sources]
        newest = max(sourced, key=lambda entry: (max(entry.sources), entry.number), default=None)
        if newest is not None and 0 < seq - max(newest.sources) <= FOCUS_MESSAGES:
            self._look_at(newest)

    def hear(self, message: Said) -> None:
        """Take in one message."""
        self._messages += 1
        for clause in clauses(message.text):
            if message.role == "user":
                self._user(clause, message.seq)
            else:
                self._assistant(clause, message.seq)

    def _user(self, clause: Clause, seq: int) -> None:
        if clause.take_back:
            self._take_back(clause)
        text = clause.text
        if self.asked and text and _is_bare(text):
            clause = replace(clause, text=f"My {self.asked} is {text}")
            text = clause.text
        self.asked = ""
        if not text:
            return
        claim = parse(text, clause.cued)
        if clause.old or claim.old:
            claim = replace(claim, cued=True)
        if claim.form == "set":
            claim = self._known_slot(claim)
        if clause.question and not (claim.form == "set" and cues.REQUEST.match(text)):
            self._mention(claim)
            return
        if (
            self.supersede
            and (what := withdrawn(text))
            and claim.form not in ("set",)
            and self._withdraw(what, text, clause)
        ):
            return
        if claim.form == "implicit" or self._continues(claim):
            self._implicit(clause, claim, seq)
            return
        if self._empty(claim):
            return
        self._state(clause, claim, seq)

    def _assistant(self, clause: Clause, seq: int) -> None:
        text = clause.text
        claim = parse(text, clause.cued) if text else None
        if claim is None:
            return
        self.asked = match["np"].strip() if clause.question and (match := cues.ASKED_FOR.search(text)) else ""
        if clause.question or not cues.OUTCOME.search(text) or cues.NOT_AN_OUTCOME.search(text):
            self._mention(claim)
            return
        if self.supersede and (what := withdrawn(text)) and self._withdraw(what, text, clause):
            return
        if any(token.kind in ("number", "name", "date") for token in tokens(text)) and claim.form != "implicit":
            self._store(clause, claim, seq)

    def _empty(self, claim: Claim) -> bool:
        """Whether a clause names a known slot and gives no value: it takes the slot back, or only talks about it."""
        entry = self.ledger.mentioned(claim)
        if entry is None:
            if (
                claim.phrases
                and not claim.terms - set(claim.phrases[-1]) - GENERIC_WORDS
                and cues.WRONG.search(claim.text)
            ):
                self._think_of(parse(f"The {' '.join(_phrase(claim))} is it."))
                return True
            return False
        named = entry.claim.slot if entry.claim.form in ("named", "set") else frozenset[str]()
        if not named:
            named = frozenset(term for phrase in claim.phrases for term in phrase if term in entry.claim.terms)
        if claim.terms - named - GENERIC_WORDS or not named:
            return False
        if not cues.ENDING.search(claim.text) or cues.HEDGE.search(claim.text) or not self.supersede:
            if entry.claim.form in ("named", "set") or not claim.phrases:
                self._look_at(entry)
            else:
                self._think_of(parse(f"The {' '.join(_phrase(claim))} is it."), entry)
            self.corrected = claim.cued or bool(cues.WRONG.search(claim.text))
        else:
            self._remove(entry)
        return True

    def _continues(self, claim: Claim) -> bool:
        """Whether a clause such as "I want B" goes on about a slot whose value was just taken back."""
        return (
            self.corrected
            and self.focus_at == self._messages
            and claim.form == "verb"
            and claim.owner == {"self"}
            and claim.slot <= GENERIC_WORDS
            and not claim.phrases
            and 0 < len(claim.terms) <= 3
        )

    # --- the parts of a pass ---------------------------------------------------------------------------------------

    def _state(self, clause: Clause, claim: Claim, seq: int) -> None:
        text = clause.text
        if claim.phrases or claim.slot:
            self.focus = self.focus_entry = None  # "it" is this from now on, or nothing that is known
        worth = of_claim(claim) + (0.5 if clause.old else 0.0)
        chosen = claim.form == "set" or (claim.form == "named" and cues.CHOICE.match(text))
        if cues.REQUEST.match(text) and not chosen:
            if not request_constraint(text):
                self._mention(claim)
                return
            worth += 1.0
        denied = cues.DENIAL.search(text[: claim.value_at[0]]) or cues.NO_LONGER.search(text)
        if claim.form == "named" and denied and self._deny(claim):
            return
        if cues.PAST.search(text):
            self._past(claim, text, seq, worth)
            return
        if cues.MUSING.search(text) and claim.form in ("named", "set", "loose", "verb"):
            self._mention(claim)
            return
        if cues.HEDGE.search(text) and claim.form in ("named", "set", "loose"):
            if self.ledger.mentioned(claim) is None and claim.form == "named" and worth >= KEEP:
                self._store(clause, claim, seq)
            else:
                self._mention(claim)
            return
        if worth < KEEP and not (claim.cued and self.ledger.matching(claim, old=clause.old)):
            self._mention(claim)
            return
        self._store(clause, claim, seq)

    def _store(self, clause: Clause, claim: Claim, seq: int) -> None:
        old = clause.old or claim.old
        match = self.ledger.matching(claim, old=old)
        said = without_old(clause.text, claim.old)
        if claim.form == "set":
            said = _stated(claim) if claim.old and claim.old in said else as_note(said)
        if match is None:
            self._look_at(self.ledger.add(said, [seq]))
            return
        entry, same = match
        if same:
            text = (
                clause.text
                if len(claim.terms) > len(entry.claim.terms) and claim.form == entry.claim.form
                else entry.text
            )
            sources = [*entry.sources, seq] if entry.sources else ()
            self._look_at(self.ledger.replace(entry, text, sources) if not entry.typed else entry)
        elif not self.supersede:
            self._look_at(self.ledger.add(clause.text, [seq]))
        else:
            known = entry.claim.form in ("named", "set")
            text = with_value(entry.claim, claim.value, old) if claim.form == "set" and known else said
            self._supersede(entry, text, seq)

    def _supersede(self, entry: Entry, text: str, seq: int) -> None:
        entry.typed = False
        self._look_at(self.ledger.replace(entry, text, [seq]))

    def _implicit(self, clause: Clause, claim: Claim, seq: int) -> None:
        """Give a new value to what "it" stands for, which was said before."""
        old = clause.old or claim.old
        if old:
            holder = self.ledger.holding(old)
            if holder is None and (self.focus is None or old.lower() not in self.focus.text.lower()):
                if of_claim(claim) >= KEEP:
                    self._look_at(self.ledger.add(without_old(clause.text, old), [seq]))
                return
            if holder is not None:
                self._look_at(holder)
        if self.focus is None or self._messages - self.focus_at > FOCUS_MESSAGES or not claim.value.strip():
            return
        if (
            not (claim.cued or old or (self.corrected and self.focus_at == self._messages))
            or cues.HEDGE.search(clause.text)
            or not _tells(claim)
        ):
            return
        text = with_value(self.focus, claim.value, old)
        if not self.supersede:
            self.ledger.add(text, [seq])
        elif self.focus_entry is not None and self.focus_entry.number in self.ledger.entries:
            self._supersede(self.focus_entry, text, seq)
        else:
            self._look_at(self.ledger.add(text, [seq]))

    def _take_back(self, clause: Clause) -> None:
        entry = self.focus_entry
        if not self.supersede or entry is None or self._messages - self.focus_at > 2:
            return
        if not clause.text or parse(clause.text).form == "implicit":
            self._remove(entry)

    def _withdraw(self, what: str, text: str, clause: Clause) -> bool:
        found = self.ledger.about(what)
        for entry in found:
            self._remove(entry)
        return bool(found) or not (
            text.lower().startswith(("i ", "i'", "we ", "we'", "the ", "my ", "our ")) and of_claim(parse(text)) >= KEEP
        )

    def _deny(self, claim: Claim) -> bool:
        """Take out a line that a denial such as "A is no longer B" contradicts; what comes instead may follow."""
        match = self.ledger.matching(claim)
        if self.supersede and match is not None and match[1]:
            self._remove(match[0])
            return True
        if not claim.cued:
            return False
        if match is not None:
            self._look_at(match[0])
            self.corrected = True
            return True
        self._think_of(parse(affirmed(claim.text)))
        return True

    def _past(self, claim: Claim, text: str, seq: int, worth: float) -> None:
        match = self.ledger.matching(replace(claim, cued=True)) or None
        entry = match[0] if match else self.ledger.mentioned(claim)
        if entry is not None:
            self._look_at(entry)
        elif worth >= KEEP:
            self._think_of(parse(affirmed(text)), self.ledger.add(text, [seq]))

    def _think_of(self, claim: Claim, entry: Entry | None = None) -> None:
        """Let the next "it" stand for a claim that no longer holds."""
        self.focus, self.focus_entry, self.focus_at, self.corrected = claim, entry, self._messages, True

    def _remove(self, entry: Entry) -> None:
        self._think_of(entry.claim)
        self.ledger.remove(entry)

    def _known_slot(self, claim: Claim) -> Claim:
        """Where the value begins in "make the A B C": a line about A tells."""
        entry = self.ledger.named(claim.slot)
        if entry is None or not entry.claim.slot < claim.slot:
            return claim
        last = max((token.end for token in tokens(claim.text) if token.stem in entry.claim.slot), default=0)
        if not 0 < last < claim.value_at[0]:
            return claim
        return replace(claim, slot=entry.claim.slot, value_at=(last + 1, claim.value_at[1]))

    def _look_at(self, entry: Entry) -> None:
        self.focus, self.focus_entry, self.focus_at = entry.claim, entry, self._messages
        self.corrected = False

    def _mention(self, claim: Claim) -> None:
        if entry := self.ledger.mentioned(claim):
            self._look_at(entry)


def _tells(claim: Claim) -> bool:
    return (
        any(token.kind != "function" for token in tokens(claim.value))
        and of_claim(replace(claim, form="named")) >= KEEP
    )


def _is_bare(text: str) -> bool:
    """Whether a clause is a bare value: "12 euros." in answer to a question."""
    pieces = tokens(text)
    return (
        0 < len(pieces) <= 5
        and pieces[0].lower not in ("i", "we", "it", "no", "yes")
        and parse(text).form == "loose"
        and any(token.kind in ("number", "date") or text[token.start].isupper() for token in pieces)
    )


def _stated(claim: Claim) -> str:
    """What "I swapped A for B as my C" leaves: that C is B."""
    whose = "My" if "self" in claim.owner else "The"
    stems = claim.slot
    name = [claim.text[token.start : token.end] for token in tokens(claim.text) if token.stem in stems]
    return f"{whose} {' '.join(name)} is {claim.value.strip(' .!')}."


def _phrase(claim: Claim) -> list[str]:
    """The words of the last noun phrase of a clause, as they stand in it."""
    stems = set(claim.phrases[-1])
    return [claim.text[token.start : token.end] for token in tokens(claim.text) if token.stem in stems]
