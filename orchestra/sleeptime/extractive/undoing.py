"""What takes a line out, or says that its value no longer holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestra.sleeptime.extractive import cues
from orchestra.sleeptime.extractive.attention import Attention
from orchestra.sleeptime.extractive.claim import Claim, parse
from orchestra.sleeptime.extractive.clauses import Clause
from orchestra.sleeptime.extractive.ledger import Entry, Ledger
from orchestra.sleeptime.extractive.nouns import GENERIC_WORDS
from orchestra.sleeptime.extractive.rewriting import affirmed
from orchestra.sleeptime.extractive.salience import KEEP, of_claim
from orchestra.sleeptime.extractive.spoken import phrase


@dataclass(slots=True)
class Undoing:
    """The withdrawals of one run. Without ``supersede`` nothing is taken out."""

    ledger: Ledger
    mind: Attention
    supersede: bool = True

    def take_back(self, clause: Clause) -> None:
        """Let the line that was just said go for "scratch that", unless another value follows."""
        entry = self.mind.entry
        if not self.supersede or entry is None or self.mind.message - self.mind.at > 2:
            return
        if not clause.text or parse(clause.text).form == "implicit":
            self.remove(entry)

    def withdraw(self, what: str, text: str) -> bool:
        """Remove the lines about ``what``; whether the clause ``text`` needs no further attention."""
        found = self.ledger.about(what)
        for entry in found:
            self.remove(entry)
        return bool(found) or not (
            text.lower().startswith(("i ", "i'", "we ", "we'", "the ", "my ", "our ")) and of_claim(parse(text)) >= KEEP
        )

    def without_value(self, claim: Claim) -> bool:
        """Whether a clause names a known slot and gives no value: it takes the slot back, or only talks about it."""
        entry = self.ledger.mentioned(claim)
        if entry is None:
            if (
                claim.phrases
                and not claim.terms - set(claim.phrases[-1]) - GENERIC_WORDS
                and cues.WRONG.search(claim.text)
            ):
                self.mind.think_of(parse(f"The {' '.join(phrase(claim))} is it."))
                return True
            return False
        named = entry.claim.slot if entry.claim.form in ("named", "set") else frozenset[str]()
        if not named:
            named = frozenset(term for words in claim.phrases for term in words if term in entry.claim.terms)
        if claim.terms - named - GENERIC_WORDS or not named:
            return False
        if not cues.ENDING.search(claim.text) or cues.HEDGE.search(claim.text) or not self.supersede:
            if entry.claim.form in ("named", "set") or not claim.phrases:
                self.mind.look_at(entry)
            else:
                self.mind.think_of(parse(f"The {' '.join(phrase(claim))} is it."), entry)
            self.mind.corrected = claim.cued or bool(cues.WRONG.search(claim.text))
        else:
            self.remove(entry)
        return True

    def deny(self, claim: Claim) -> bool:
        """Take out a line that a denial such as "A is no longer B" contradicts; what comes instead may follow."""
        match = self.ledger.matching(claim)
        if self.supersede and match is not None and match[1]:
            self.remove(match[0])
            return True
        if not claim.cued:
            return False
        if match is not None:
            self.mind.look_at(match[0])
            self.mind.corrected = True
            return True
        self.mind.think_of(parse(affirmed(claim.text)))
        return True

    def past(self, claim: Claim, text: str, seq: int, worth: float) -> None:
        """What was once: only the value of now matters, which may follow."""
        match = self.ledger.matching(replace(claim, cued=True)) or None
        entry = match[0] if match else self.ledger.mentioned(claim)
        if entry is not None:
            self.mind.look_at(entry)
        elif worth >= KEEP:
            self.mind.think_of(parse(affirmed(text)), self.ledger.add(text, [seq]))

    def remove(self, entry: Entry) -> None:
        """Take a line out; what it was about stays in mind."""
        self.mind.think_of(entry.claim)
        self.ledger.remove(entry)
