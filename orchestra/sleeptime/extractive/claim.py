"""What one clause claims: of whom, about which slot, which value. Stored lines are parsed by the same rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from orchestra.core.sentences import sentences
from orchestra.sleeptime.extractive import cues
from orchestra.sleeptime.extractive.nouns import EMPTY_WORDS, content_tokens, noun_phrases, slot_terms
from orchestra.sleeptime.extractive.predicates import predicate
from orchestra.sleeptime.extractive.shapes import Form, named_slot

_TAIL = re.compile(
    r"[\s,]+(?:now|instead|these days|nowadays|from (?:now|here) on|going forward|any ?more|actually|at the moment"
    r"|currently|as of (?:now|today)|after all|please|for now|then|by the way|though|in the end|this time|too|thanks?"
    r"|thank you|in future|already|again|so you know|just so you know|if that helps|if possible|rather"
    r"|as far as i (?:know|remember)|i think|i believe|i guess|for (?:me|us))?[.!?\s]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause. ``slot`` are the stems that name what it is about, ``value_at`` where the value stands in ``text``.

    ``owner`` holds the stems of whose slot it is: ``self`` for the speaker, ``?`` for "his" and "her", empty when not
    told. ``old`` is a value that the clause itself says is replaced. ``head`` is the predicate of a named subject up to
    its first preposition. ``phrases`` are the noun phrases after a determiner.
    """

    text: str
    form: Form
    slot: frozenset[str]
    owner: frozenset[str]
    prepositions: frozenset[str]
    terms: frozenset[str]
    value_at: tuple[int, int]
    old: str = ""
    cued: bool = False
    head: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def value(self) -> str:
        """The words of the value."""
        return self.text[self.value_at[0] : self.value_at[1]]


@lru_cache(maxsize=8192)
def parse(text: str, cued: bool = False) -> Claim:
    """The claim of ``text``, a clause without openers. ``cued`` when what stood before it announced a change."""
    first, *more = sentences(text) or [text]
    if more and text.startswith(first):
        claim = parse(first, cued)  # what a line goes on about is no slot of its own
        terms = claim.terms.union(*(parse(sentence).terms for sentence in more))
        return replace(claim, text=text, terms=terms)
    bare = _TAIL.sub("", text) or text
    cued = cued or bool(cues.CHANGE.search(text))
    phrases = noun_phrases(bare)
    if found := named_slot(bare):
        form, np, start, end, old = found
        slot, owner = (frozenset[str](), frozenset[str]()) if form == "implicit" else slot_terms(np)
        if slot or form == "implicit":
            terms = frozenset(token.stem for token in content_tokens(bare)) - (EMPTY_WORDS - slot)
            cued = cued or (form == "implicit" and start > 0 and bare[:start].lower().startswith(("make", "call")))
            return Claim(text, form, slot, owner, frozenset(), terms, (start, end), old, cued, (), phrases)
    terms = frozenset(token.stem for token in content_tokens(bare)) - EMPTY_WORDS
    said = predicate(bare)
    if said is None:
        return Claim(text, "loose", frozenset(), frozenset(), frozenset(), terms, (0, 0), "", cued, (), phrases)
    slot, owner = frozenset({said.verb}), said.subject
    return Claim(
        text, "verb", slot, owner, said.prepositions, terms, said.object_at, "", cued, said.head, phrases
    )  # fmt: skip
