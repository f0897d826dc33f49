"""Small questions about a clause, and small texts made from one."""

from __future__ import annotations

import re
from dataclasses import replace

from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive.claim import Claim, parse
from orchestra.sleeptime.extractive.salience import KEEP, of_claim


def tells(claim: Claim) -> bool:
    """Whether the value of a claim is worth putting in the place of another."""
    return (
        any(token.kind != "function" for token in tokens(claim.value))
        and of_claim(replace(claim, form="named")) >= KEEP
    )


def is_bare(text: str) -> bool:
    """Whether a clause is a bare value: "12 euros." in answer to a question."""
    pieces = tokens(text)
    return (
        0 < len(pieces) <= 5
        and pieces[0].lower not in ("i", "we", "it", "no", "yes")
        and parse(text).form == "loose"
        and any(token.kind in ("number", "date") or text[token.start].isupper() for token in pieces)
    )


def stated(claim: Claim) -> str:
    """What "I swapped A for B as my C" leaves: that C is B."""
    whose = "My" if "self" in claim.owner else "The"
    stems = claim.slot
    name = [claim.text[token.start : token.end] for token in tokens(claim.text) if token.stem in stems]
    return f"{whose} {' '.join(name)} is {claim.value.strip(' .!')}."


def phrase(claim: Claim) -> list[str]:
    """The words of the last noun phrase of a clause, as they stand in it."""
    stems = set(claim.phrases[-1])
    return [claim.text[token.start : token.end] for token in tokens(claim.text) if token.stem in stems]


_PRONOUNS = ("I", "We", "He", "She", "It", "They", "There", "That", "This")
_NAME = r"[A-Z][\w.&'’-]*"
_SUBJECT = re.compile(
    rf"^(?:the\s+)?(?P<who>{_NAME}(?:\s+{_NAME})*|(?:the|my|our)\s[\w-]+(?: [\w-]+)?)"
    r"(?=\s+(?:can|could|is|are|was|has|have|had|will|would|does|do|did|no longer|cannot|isn|aren|won)\b"
    r"|['’]s\b)"
)


def subject(text: str) -> str:
    """The name or noun phrase that a clause begins with, when a verb follows; else empty."""
    match = _SUBJECT.match(text)
    if match is None or match["who"].split(" ", 1)[0] in _PRONOUNS:
        return ""
    return re.sub(r"^(?:The|the|My|my|Our|our)\s", "", match["who"])


def full_name(who: str, text: str) -> str:
    """``who`` as it stands in ``text``, with the capitalised words around it."""
    around = rf"(?:{_NAME}\s+)*?" if who[:1].isupper() else ""
    after = rf"(?:\s+{_NAME})*" if who[:1].isupper() else ""
    match = re.search(rf"(?<=\w\s){around}{re.escape(who)}{after}", text)
    return match.group() if match else ""
