"""Hearing a stretch of the conversation: what each clause does to the lines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from orchestra.core.continuation import goes_on, is_person, is_reference, joined, resolved
from orchestra.core.smalltalk import is_small_talk
from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive import cues
from orchestra.sleeptime.extractive.amounts import limit_moved
from orchestra.sleeptime.extractive.attention import Attention
from orchestra.sleeptime.extractive.claim import Claim, parse
from orchestra.sleeptime.extractive.clauses import Clause, clauses
from orchestra.sleeptime.extractive.decisions import chosen_instead, decided, swapped
from orchestra.sleeptime.extractive.ledger import Entry, Ledger
from orchestra.sleeptime.extractive.likeness import strong_terms
from orchestra.sleeptime.extractive.line import Said
from orchestra.sleeptime.extractive.nouns import GENERIC_WORDS
from orchestra.sleeptime.extractive.rewriting import as_note, with_value, without_old
from orchestra.sleeptime.extractive.salience import KEEP, of_claim, request_constraint
from orchestra.sleeptime.extractive.spoken import full_name, is_bare, stated, subject, tells
from orchestra.sleeptime.extractive.undoing import Undoing
from orchestra.sleeptime.extractive.withdrawal import withdrawn


@dataclass(slots=True)
class Hearing:
    """One run over a stretch."""

    ledger: Ledger
    supersede: bool = True
    mind: Attention = field(init=False)
    undo: Undoing = field(init=False)
    asked: str = ""

    def __post_init__(self) -> None:
        self.mind = Attention(self.ledger)
        self.undo = Undoing(self.ledger, self.mind, self.supersede)

    def hear(self, message: Said) -> None:
        """Take in one message."""
        self.mind.next_message()
        for clause in clauses(message.text):
            if message.role == "user":
                clause = self._as_meant(clause)
                self._user(clause, message.seq)
                self.mind.before = clause.text
            else:
                self._assistant(clause, message.seq)

    def _as_meant(self, clause: Clause) -> Clause:
        """The clause with what the one before tells: what was asked for, what "them" are, what was decided."""
        text = clause.text
        if self.asked and text and is_bare(text):
            text = f"My {self.asked} is {text}"
        self.asked = ""
        if clause.question or cues.MUSING.search(text):
            self.mind.choices.note(text, self.mind.message)
        elif (made := decided(text)) and parse(text).form in ("verb", "loose"):
            text, what = made
            topic = self.mind.choices.topic(what, self.mind.message)
            text = f"{text[:-1]} ({topic})." if topic else text
        whole = resolved(text, self.mind.before) if self.mind.before and not clause.question else text
        self.mind.resolved = whole != text
        return replace(clause, text=whole)

    def _user(self, clause: Clause, seq: int) -> None:
        if clause.take_back:
            self.undo.take_back(clause)
        text = clause.text
        if not text:
            return
        claim = parse(text, clause.cued)
        if clause.old or claim.old:
            claim = replace(claim, cued=True)
        if claim.form == "set":
            claim = self._known_slot(claim)
        if clause.question and not (claim.form == "set" and cues.REQUEST.match(text)):
            self.mind.mention(claim)
            return
        if not clause.question and self.supersede and (self._swap(text, seq) or self._instead(text, seq)):
            return
        if (
            self.supersede
            and (what := withdrawn(text))
            and claim.form not in ("set",)
            and self.undo.withdraw(what, text)
        ):
            return
        if self._join(claim, seq):
            return
        if claim.form == "implicit" or self._continues(claim):
            self._implicit(clause, claim, seq)
            return
        if self.undo.without_value(claim):
            return
        self._state(clause, claim, seq)

    def _assistant(self, clause: Clause, seq: int) -> None:
        text = clause.text
        claim = parse(text, clause.cued) if text else None
        if claim is None:
            return
        self.asked = match["np"].strip() if clause.question and (match := cues.ASKED_FOR.search(text)) else ""
        if clause.question or not cues.OUTCOME.search(text) or cues.NOT_AN_OUTCOME.search(text):
            self.mind.mention(claim)
            return
        if self.supersede and (what := withdrawn(text)) and self.undo.withdraw(what, text):
            return
        if any(token.kind in ("number", "name", "date") for token in tokens(text)) and claim.form != "implicit":
            self._store(clause, claim, seq)

    def _continues(self, claim: Claim) -> bool:
        """Whether a clause such as "I want B" goes on about a slot whose value was just taken back."""
        return (
            self.mind.corrected_now
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
            self.mind.look_away()  # "it" is this from now on, or nothing that is known
        worth = of_claim(claim) + (0.5 if clause.old else 0.0)
        chosen = claim.form == "set" or (claim.form == "named" and cues.CHOICE.match(text))
        if cues.REQUEST.match(text) and not chosen:
            if not request_constraint(text):
                self.mind.mention(claim)
                return
            worth += 1.0
        denied = cues.DENIAL.search(text[: claim.value_at[0]]) or cues.NO_LONGER.search(text)
        if claim.form == "named" and denied and self.undo.deny(claim):
            return
        if cues.PAST.search(text):
            self.undo.past(claim, text, seq, worth)
            return
        if cues.MUSING.search(text) and claim.form in ("named", "set", "loose", "verb"):
            self.mind.mention(claim)
            return
        if cues.HEDGE.search(text) and claim.form in ("named", "set", "loose"):
            if self.ledger.mentioned(claim) is None and claim.form == "named" and worth >= KEEP:
                self._store(clause, claim, seq)
            else:
                self.mind.mention(claim)
            return
        if is_person(text) and not strong_terms(text) and not any(token.kind == "name" for token in tokens(text)):
            self.mind.mention(claim)  # nobody could tell later who that was
            return
        if worth < KEEP and not (claim.cued and self.ledger.matching(claim, old=clause.old)):
            self.mind.mention(claim)
            return
        self._store(clause, claim, seq)

    def _store(self, clause: Clause, claim: Claim, seq: int) -> None:
        old = clause.old or claim.old
        match = self.ledger.matching(claim, old=old)
        said = without_old(clause.text, claim.old)
        if claim.form == "set":
            said = stated(claim) if claim.old and claim.old in said else as_note(said)
        if match is None:
            if self.supersede and (moved := limit_moved(claim, self.ledger)):
                self._supersede(moved[0], with_value(moved[0].claim, moved[1], ""), seq)
            else:
                self._keep(self.ledger.add(said, [seq]))
            return
        entry, same = match
        if same:
            text = (
                clause.text
                if len(claim.terms) > len(entry.claim.terms) and claim.form == entry.claim.form
                else entry.text
            )
            sources = [*entry.sources, seq] if entry.sources else ()
            self._keep(self.ledger.replace(entry, text, sources) if not entry.typed else entry)
        elif not self.supersede:
            self._keep(self.ledger.add(clause.text, [seq]))
        else:
            known = entry.claim.form in ("named", "set")
            text = with_value(entry.claim, claim.value, old) if claim.form == "set" and known else said
            if old or self.mind.resolved:
                self._forget_the_reason(entry)
            self._supersede(entry, text, seq)

    def _keep(self, entry: Entry) -> None:
        self.mind.look_at(entry)
        self.mind.kept = entry

    def _supersede(self, entry: Entry, text: str, seq: int) -> None:
        entry.typed = False
        self._keep(self.ledger.replace(entry, text, [seq]))

    def _join(self, claim: Claim, seq: int) -> bool:
        """Put a sentence that goes on about the one before into the same line."""
        entry = self.mind.antecedent()
        text = claim.text
        if entry is None or entry.typed or claim.form == "set" or not goes_on(text):
            return False
        if is_reference(text) and (claim.cued or self.mind.corrected_now or cues.HEDGE.search(text)):
            return False
        if (line := joined(entry.text, text)) is None:
            return False
        self._keep(self.ledger.replace(entry, line, [*entry.sources, seq]))
        return True

    def _swap(self, text: str, seq: int) -> bool:
        """Put B in the place of A for "dropping A and going to B instead"."""
        if (found := swapped(text)) is None:
            return False
        old, new = found
        holder = self.ledger.holding(old)
        if holder is None or old.lower() not in holder.text.lower():
            self._keep(self.ledger.add(text, [seq]))
        else:
            self._forget_the_reason(holder, told=True)
            self._supersede(holder, with_value(holder.claim, new, old), seq)
        return True

    def _instead(self, text: str, seq: int) -> bool:
        """Put B in the place of A for "A cannot, so we're going with B instead"."""
        new, before = chosen_instead(text), self.mind.before
        who = subject(before) if new and cues.NEGATED.search(before) else ""
        if not new or not who:
            return False
        reason = self.mind.kept
        holder = self.ledger.holding(who, besides=reason)
        old = full_name(who, holder.text) if holder else ""
        if holder is None or not old:
            return False
        self._forget_the_reason(holder)
        self._supersede(holder, with_value(holder.claim, new, old), seq)
        return True

    def _forget_the_reason(self, changed: Entry, *, told: bool = False) -> None:
        """Drop the line of the clause before that only said why something changed: that A cannot, or is late."""
        reason = self.mind.kept
        if reason is not None and reason is not changed and len(reason.sources) == 1:
            told = told or self.mind.resolved or bool(cues.NEGATED.search(self.mind.before))
            if told and reason.text == self.mind.before:
                self.ledger.remove(reason)
                self.mind.kept = None

    def _implicit(self, clause: Clause, claim: Claim, seq: int) -> None:
        """Give a new value to what "it" stands for, which was said before."""
        mind = self.mind
        old = clause.old or claim.old
        if old:
            holder = self.ledger.holding(old)
            if holder is None and (mind.focus is None or old.lower() not in mind.focus.text.lower()):
                if of_claim(claim) >= KEEP:
                    self._keep(self.ledger.add(without_old(clause.text, old), [seq]))
                return
            if holder is not None:
                mind.look_at(holder)
        if mind.focus is None or not mind.lively or not claim.value.strip():
            return
        if (
            not (claim.cued or old or mind.corrected_now)
            or cues.HEDGE.search(clause.text)
            or is_small_talk(clause.text)
            or not tells(claim)
        ):
            return
        text = with_value(mind.focus, claim.value, old)
        if not self.supersede:
            self.ledger.add(text, [seq])
        elif mind.entry is not None and mind.entry.number in self.ledger.entries:
            self._supersede(mind.entry, text, seq)
        else:
            self._keep(self.ledger.add(text, [seq]))

    def _known_slot(self, claim: Claim) -> Claim:
        """Where the value begins in "make the A B C": a line about A tells."""
        entry = self.ledger.named(claim.slot)
        if entry is None or not entry.claim.slot < claim.slot:
            return claim
        last = max((token.end for token in tokens(claim.text) if token.stem in entry.claim.slot), default=0)
        if not 0 < last < claim.value_at[0]:
            return claim
        return replace(claim, slot=entry.claim.slot, value_at=(last + 1, claim.value_at[1]))
