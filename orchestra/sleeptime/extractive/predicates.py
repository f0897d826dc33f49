"""Clauses by subject and verb: what people and things are said to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestra.core.sentences import words
from orchestra.core.terms import Token, stem, tokens

_FAMILIES = {
    stem(word): family
    for family, words in {
        "@place": "live reside base move relocate settle located dwell",
        "@work": "work employed job joined hired",
        "@name": "call name rename named called",
    }.items()
    for word in words.split()
}
FUNCTIONAL = frozenset({"@place", "@work", "@name"})
_COPULAS = frozenset(["am", "is", "are", "was", "were", "m", "s"])
_ARTICLE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_PREPOSITIONS = words("in at on to for with by from of about as into near under over through")
_AUX = words(
    "a an am is are was were be been being have has had do does did will would can could should shall must m"
    " re s ve ll d just now also currently still always usually often then really recently finally both once"
    " since already not never only mostly"
)


@dataclass(frozen=True, slots=True)
class Predicate:
    """Subject and verb of a clause: stems, the verb's family where it has one, and where its object stands."""

    subject: frozenset[str]
    verb: str
    prepositions: frozenset[str]
    object_at: tuple[int, int]
    head: tuple[str, ...]


def predicate(text: str) -> Predicate | None:
    """The subject and verb that ``text`` begins with; ``None`` when it begins with no subject that can be told."""
    pieces = tokens(text)
    subject: set[str] = set()
    at = 0
    if pieces and pieces[0].lower in ("i", "we"):
        subject, at = {"self"}, 1
    elif pieces and pieces[0].lower in ("he", "she", "they"):
        subject, at = {"?"}, 1
    elif pieces and pieces[0].kind != "function":
        while at < len(pieces) and (text[pieces[at].start].isupper() or pieces[at].lower in ("and", "both", "jr")):
            if pieces[at].lower not in ("and", "both", "the"):
                subject.add(pieces[at].stem)
            at += 1
    first = at
    while at < len(pieces) and (pieces[at].lower in _AUX or pieces[at].lower.endswith("ly")):
        at += 1
    if (
        at + 1 < len(pieces)
        and pieces[at].stem in ("start", "begin", "keep", "stop")
        and pieces[at + 1].lower.endswith("ing")
    ):
        at += 1  # "started working"
    if not subject or at >= len(pieces):
        return None
    verb = pieces[at]
    family = _FAMILIES.get(verb.stem, verb.stem)
    if family == "@place" and pieces[at + 1 : at + 2] and pieces[at + 1].lower in ("on", "for", "with"):
        family = verb.stem  # "settled on A"
    if _ARTICLE.search(text[: verb.start]) and any(token.lower in _COPULAS for token in pieces[first:at]):
        family = "be"  # "is a plumber"
    after = pieces[at + 1 :]
    prepositions = frozenset(token.lower for token in pieces[at:] if token.lower in _PREPOSITIONS)
    start = next((token.start for token in after if token.lower not in _PREPOSITIONS), verb.end)
    end = len(text.rstrip(" .!"))
    return Predicate(frozenset(subject), family, prepositions, (min(start, end), end), _head(pieces[at:]))


def _head(pieces: tuple[Token, ...]) -> tuple[str, ...]:
    out: list[str] = []
    for token in pieces[:6]:
        if token.lower in _PREPOSITIONS:
            return (*out, token.lower)
        if token.kind != "function" and not token.lower.endswith("ly"):
            out.append(token.stem)
    return ()
