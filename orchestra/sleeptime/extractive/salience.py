"""How much a sentence is worth keeping: a number from its form, not from its subject matter."""

from __future__ import annotations

import re
from functools import lru_cache

from orchestra.core.sentences import words
from orchestra.core.smalltalk import is_opinion, is_small_talk
from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive import cues
from orchestra.sleeptime.extractive.claim import Claim, parse

KEEP = 1.5
_FIRST_PERSON = re.compile(r"\b(?:i|my|we|our|mine|ours|me|us)\b", re.IGNORECASE)
_ROUGHLY = re.compile(r"^(?:about|around|roughly|some|at least|at most)\s+\d+\s+\w", re.IGNORECASE)
_WORN = words(
    "good great nice cool awesome amazing wonderful thank sound help perfect sur welcom glad happy sorry wow"
    " haha lol lov interest thing day tim morn bye see talk soon tak car chat fin lovely bit feel gues think"
    " know say tell way excit fun super real look hop wait right got pretty sweet cheer keep appreciat"
    " question answer message word anyth someth everyth noth"
)


@lru_cache(maxsize=8192)
def salience(text: str) -> float:
    """The worth of one sentence, about 0 to 6; below :data:`KEEP` a new one is not kept."""
    return of_claim(parse(text))


def of_claim(claim: Claim) -> float:
    """The worth of a parsed clause."""
    text = claim.text
    pieces = tokens(text)
    carrying = [token for token in pieces if token.kind != "function"]
    telling = [token for token in carrying if token.stem not in _WORN]
    if not telling:
        return 0.0
    score = min(len(telling), 4) * 0.25
    if claim.form in ("named", "set"):
        score += 1.5
    elif claim.form == "verb":
        score += 1.0 if claim.owner else 0.0
    if _FIRST_PERSON.search(text):
        score += 0.5
    if claim.form == "loose" and _ROUGHLY.match(text):
        score += 0.5
    kinds = {token.kind for token in telling}
    score += 0.5 * ("number" in kinds) + 0.5 * ("name" in kinds) + 0.5 * ("date" in kinds)
    if cues.PREFERENCE.search(text):
        score += 1.0
    if not text.isascii() and any(ord(letter) > 0x2FFF for letter in text):
        score += 1.0
    if cues.ABOUT_THE_TALK.match(text) and claim.form != "named":
        score -= 3.0
    if cues.HEDGE.search(text):
        score -= 0.75
    if cues.EPHEMERAL.search(text) and claim.form != "named":
        score -= 1.0
    if is_opinion(text) if claim.form in ("named", "set") else is_small_talk(text):
        score -= 3.0
    if len(text) > 240:
        score -= 0.5
    return score


def request_constraint(text: str) -> bool:
    """Whether a request carries a lasting preference or constraint."""
    return bool(cues.CONSTRAINT.search(text)) and sum(token.kind != "function" for token in tokens(text)) >= 2
