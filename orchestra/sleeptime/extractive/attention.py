"""What the talk is about: the line or claim that "it" stands for."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestra.sleeptime.extractive.claim import Claim
from orchestra.sleeptime.extractive.decisions import Choices
from orchestra.sleeptime.extractive.ledger import Entry, Ledger

FOCUS_MESSAGES = 6


@dataclass(slots=True)
class Attention:
    """``focus`` is the claim that "it" stands for, ``entry`` its line while that exists, ``at`` the message of both.

    ``corrected`` when its value was just taken back, so that the next one may come without a cue. ``before`` is the
    clause before in the same message and ``kept`` the line that it gave, if it gave one; ``resolved`` when this clause
    has the subject of that one as its object. ``choices`` is what was to be decided.
    """

    ledger: Ledger
    focus: Claim | None = None
    entry: Entry | None = None
    at: int = -FOCUS_MESSAGES
    message: int = 0
    corrected: bool = False
    before: str = ""
    kept: Entry | None = None
    resolved: bool = False
    choices: Choices = field(default_factory=Choices)

    def begin(self, seq: int) -> None:
        """Let "it" stand for the line of the last messages before ``seq``, the first of a stretch."""
        sourced = [entry for entry in self.ledger.entries.values() if entry.sources]
        newest = max(sourced, key=lambda entry: (max(entry.sources), entry.number), default=None)
        if newest is not None and 0 < seq - max(newest.sources) <= FOCUS_MESSAGES:
            self.look_at(newest)

    def next_message(self) -> None:
        """Another message begins."""
        self.message += 1
        self.before, self.kept, self.resolved = "", None, False

    @property
    def lively(self) -> bool:
        """Whether the focus is recent enough for "it"."""
        return self.focus is not None and self.message - self.at <= FOCUS_MESSAGES

    @property
    def corrected_now(self) -> bool:
        """Whether a value was taken back in this message."""
        return self.corrected and self.at == self.message

    def look_at(self, entry: Entry) -> None:
        """Let "it" stand for a line."""
        self.focus, self.entry, self.at, self.corrected = entry.claim, entry, self.message, False

    def think_of(self, claim: Claim, entry: Entry | None = None) -> None:
        """Let the next "it" stand for a claim that no longer holds."""
        self.focus, self.entry, self.at, self.corrected = claim, entry, self.message, True

    def look_away(self) -> None:
        """Let "it" stand for nothing that is known."""
        self.focus = self.entry = None

    def mention(self, claim: Claim) -> None:
        """Let "it" stand for the line that ``claim`` names, if there is one."""
        if entry := self.ledger.mentioned(claim):
            self.look_at(entry)

    def antecedent(self) -> Entry | None:
        """The line that a sentence which goes on belongs to: that of the clause before, in the same message.

        Not of another message: when one of the two is retracted, its words have to go.
        """
        kept = self.kept
        return kept if kept is not None and kept.number in self.ledger.entries else None
