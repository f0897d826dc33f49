"""Comparing claims: the same owner, the same kind of value, the same words."""

from __future__ import annotations

import re

from orchestra.core.terms import tokens
from orchestra.sleeptime.extractive.claim import Claim


def says_the_same(new: Claim, line: Claim, old: str = "") -> bool:
    """Whether everything that ``new`` says stands in ``line`` already, or it adds one detail and changes nothing."""
    gone = frozenset(token.stem for token in tokens(old) if token.kind != "function")
    if gone and gone <= line.terms:
        return False
    if new.terms <= line.terms:
        return True
    more = new.terms - line.terms
    return line.terms < new.terms and len(more) == 1 and not new.cued and not more & strong_terms(new.text)


def is_named(claim: Claim) -> bool:
    """Whether the clause names its slot by a noun phrase."""
    return claim.form in ("named", "set")


def common_phrase(phrase: tuple[str, ...], line: Claim) -> int:
    """The length of a noun phrase of an unparsed line that ``phrase`` begins with, or that begins with ``phrase``."""
    if is_named(line):
        return 0
    for other in line.phrases:
        size = min(len(phrase), len(other))
        if phrase[:size] == other[:size]:
            return size
    return 0


def owners_agree(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two slots may be the same person's; "his" may be anybody's but the speaker's."""
    if not one or not other or one == other:
        return True
    if "?" in one or "?" in other:
        return "self" not in one | other
    return False


def strong_terms(text: str) -> frozenset[str]:
    """The numbers and dates of a text."""
    return frozenset(token.stem for token in tokens(text) if token.kind in ("number", "date"))


def kinds_met(new: Claim, line: Claim) -> bool:
    """Whether both have a number, or both a date."""
    one, other = ({token.kind for token in tokens(claim.text)} for claim in (new, line))
    return any(kind in one and kind in other for kind in ("number", "date"))


def value_kind(claim: Claim) -> str:
    """What the value is: date, number, name or word."""
    kinds = {token.kind for token in tokens(claim.value)}
    return next((kind for kind in ("date", "number", "name") if kind in kinds), "word")


_LEAD = re.compile(r"(?:^|\s)(in|on|at|with|near|from|by|an?)$", re.IGNORECASE)
_VALUE_LEAD = re.compile(r"^(in|on|at|with|near|from|by|an?)\s", re.IGNORECASE)


def value_lead(claim: Claim) -> str:
    """The preposition or article that leads into the value."""
    match = _VALUE_LEAD.match(claim.value) or _LEAD.search(claim.text[: claim.value_at[0]].rstrip())
    return match.group(1).lower().replace("an", "a") if match else ""


def alike(new: Claim, line: Claim) -> bool:
    """Whether two values may be values of one slot: "in A" is none of the same as "12", nor "on Friday" as "at 10"."""
    one, other = value_lead(new), value_lead(line)
    if {one, other} == {"on", "at"}:
        return False
    return _shape(one, value_kind(new)) == _shape(other, value_kind(line))


def _shape(lead: str, kind: str) -> tuple[str, bool]:
    return lead if lead in ("in", "with", "a") else "", kind in ("number", "date")
