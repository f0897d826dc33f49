"""Sentences that go on about the one before: "It's called A.", "They charge 12.", "1,200 for both of us."."""

from __future__ import annotations

import re

from orchestra.core.smalltalk import is_small_talk
from orchestra.core.terms import tokens

LONGEST = 320
_THING = re.compile(r"^(?:it|they|that|this|these|those|both|there)(?:\b|['’])", re.IGNORECASE)
_PERSON = re.compile(r"^(?:he|she|his|her|their)\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:i|we|you|he|she|it|they|is|are|am|was|were|has|have|had|will|would|can|could|should|must|do|does|did"
    r"|please|never|always|let)\b|['’](?:s|re|m|ve|ll|d)\b|n['’]t\b|\b\w{3,}(?:ed|es)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(r"^(?:no|not|only|about|around|just|\W*\d)", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^(?P<np>(?:my|our|the|his|her|their)\s[\w-]+(?: [\w-]+)?)\s+(?:is|are|was|were|has|have|will|would|can|could"
    r"|got)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"(?<=\w\s)(?:them|it)\b(?=\s+(?:on|in|at|by|from|until|before|after|for|to)\b|\s*[.!]?$)", re.IGNORECASE
)


def goes_on(text: str) -> bool:
    """Whether a clause cannot be understood without the one before it, and adds something exact to it.

    A clause about things must bring a number, date or name; one about people anything but small talk.
    """
    if is_small_talk(text):
        return False
    if _PERSON.match(text):
        return True
    pieces = tokens(text)
    exact = any(token.kind in ("number", "date", "name") for token in pieces)
    if _THING.match(text):
        return exact
    if pieces and not _FINITE.search(text):
        return exact or bool(_OPENING.match(text))
    return bool(_OPENING.match(text)) and pieces[0].kind in ("number", "function") and not _starts_anew(text)


def is_person(text: str) -> bool:
    """Whether a clause is about "him" or "her"."""
    return bool(_PERSON.match(text))


def is_reference(text: str) -> bool:
    """Whether a clause begins with a word that stands for something said before."""
    return bool(_PERSON.match(text) or _THING.match(text))


def resolved(text: str, before: str) -> str:
    """``text`` with "it" or "them" as object replaced by the subject of the clause before it, when that is told."""
    match = _SUBJECT.match(before)
    if match is None:
        return text
    phrase = match["np"]
    phrase = phrase[:1].lower() + phrase[1:]
    word = "them" if phrase.endswith("s") and not phrase.endswith("ss") else "it"
    found = _OBJECT.search(text)
    return text[: found.start()] + phrase + text[found.end() :] if found and found.group().lower() == word else text


def joined(before: str, text: str) -> str | None:
    """Both sentences as one line, or ``None`` when that is too long."""
    line = f"{before.rstrip('! ').rstrip('.')}. {text}"
    return line if len(line) <= LONGEST else None


def _starts_anew(text: str) -> bool:
    return bool(re.match(r"^(?:no|not|only|about|around|just)\s+(?:my|our|the|i|we)\b", text, re.IGNORECASE))
