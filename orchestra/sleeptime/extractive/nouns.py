"""Noun phrases: the words by which a clause names a slot, and whose slot it is."""

from __future__ import annotations

import re
from functools import lru_cache

from orchestra.core.sentences import words
from orchestra.core.terms import Token, stem, tokens

DETERMINER = r"(?:my|our|the|his|her|their|your|this|that|[^\W\d_][\w-]*['’]s|[^\W\d_]+s['’])"
EMPTY_WORDS = frozenset(
    stem(word)
    for word in words(
        "new current latest updated actual final exact own usual default present right correct real overall"
        " choice value setting pick selection preference answer go use change switch update make set move put"
        " thing one way actually now instead currently anymore longer official officially chosen preferred"
        " selected revised original initial old previous previously already number replace adjust decide"
        " prefer pick choose select settle opt plan planned get keep need want like time last end case turn"
        " bump raise lower shift become happen remain stay equal be matter concern regard come term take agree"
        " say stand good work"
    )
)
GENERIC_WORDS = EMPTY_WORDS | frozenset(
    stem(word)
    for word in words(
        "mind mistake wrong tell talk mention note notes list drop forget stop relevant irrelevant apply"
        " exist hold remove delete cancel scrap ignore disregard scratch sell lose done pull plug whole"
        " earlier before everything anything reflect think thought discard abandon ditch erase strike skip"
        " quit finish close clear wipe revoke withdraw retire dismiss require necessary valid really"
        " completely entirely altogether totally idea stuff point record memory agenda table today back know"
        " see have more again call fall give rid hear question ask remind remember confuse mix error fix sort"
        " rethink revisit reconsider little small quick"
    )
)
_RELATIVE = re.compile(r"\s(?:that|which|who|i|we|you|i['’]\w+|we['’]\w+)\s.*$", re.IGNORECASE)
_OWNER = re.compile(
    r"^(?:((?:(?:my|our|the|his|her|their) )?[\w-]+(?: [\w-]+)?)['’]s?\s(?=\w)"
    r"|(my|our|your|his|her|their|the|this|that)\b)",
    re.IGNORECASE,
)
_DETERMINED = words("my our the his her their your a an this that")


def content_tokens(text: str) -> tuple[Token, ...]:
    """The tokens that carry meaning."""
    return tuple(token for token in tokens(text) if token.kind != "function")


def slot_terms(phrase: str) -> tuple[frozenset[str], frozenset[str]]:
    """The slot that a noun phrase names, and its owner."""
    phrase = _RELATIVE.sub("", " " + phrase.strip()).strip() or phrase
    owner: frozenset[str] = frozenset()
    if match := _OWNER.match(phrase):
        word = (match.group(2) or "").lower()
        if word in ("my", "our", "your"):
            owner = frozenset({"self"})
        elif word in ("his", "her", "their"):
            owner = frozenset({"?"})
        elif match.group(1):
            owner = frozenset(token.stem for token in content_tokens(match.group(1)))
        phrase = phrase[match.end() :]
    stems = [token.stem for token in content_tokens(phrase)]
    return frozenset([term for term in stems if term not in EMPTY_WORDS] or stems), owner


@lru_cache(maxsize=8192)
def noun_phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """The stems after each determiner up to the next function word, number or mark, at most four."""
    out: list[tuple[str, ...]] = []
    pieces = tokens(text)
    for i, token in enumerate(pieces):
        if token.lower not in _DETERMINED and not (token.lower == "s" and i and pieces[i - 1].end == token.start - 1):
            continue
        phrase: list[str] = []
        end = token.end
        for word in pieces[i + 1 : i + 6]:
            if word.kind in ("function", "number", "date") or text[end : word.start].strip():
                break
            end = word.end
            if word.stem not in EMPTY_WORDS:
                phrase.append(word.stem)
        if phrase:
            out.append(tuple(phrase[:4]))
    return tuple(out)
