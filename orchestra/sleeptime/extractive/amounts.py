"""Amounts with a unit: "we can go up to 900 drels" moves the limit that a line states in drels."""

from __future__ import annotations

import re

from orchestra.core.terms import Token, tokens
from orchestra.sleeptime.extractive.claim import Claim
from orchestra.sleeptime.extractive.ledger import Entry, Ledger

_LIMIT = re.compile(
    r"\b(?:up to|at most|a maximum of|no more than|as much as|stretch to|stretch it to|down to"
    r"|rais(?:e|ed|ing) (?:it|that|this) to|lower(?:ed|ing)? (?:it|that|this) to"
    r"|(?:can|could|may|will|have to|must) (?:now )?(?:spend|afford|go to|go down to))\b",
    re.IGNORECASE,
)
_SIGNS = "$€£¥₩"


def limit_moved(claim: Claim, ledger: Ledger) -> tuple[Entry, str] | None:
    """The line that states a limit in the unit of ``claim``, and its new value; ``None`` when it is not exactly one."""
    limit = _LIMIT.search(claim.text)
    if limit is None:
        return None
    found = _amount(claim.text, limit.start())
    if found is None:
        return None
    unit, start = found
    fitting = [
        entry for entry in ledger.near((unit,) if unit not in _SIGNS else claim.terms) if _states(entry.claim, unit)
    ]
    if len(fitting) > 1:
        fitting = [entry for entry in fitting if (entry.claim.slot & claim.terms)]
    if len(fitting) != 1:
        return None
    value = re.split(r"[,;](?=\s)", claim.text[start:])[0].strip(" .!")
    return fitting[0], re.sub(r"\s+(?:now|instead|after all)$", "", value)


def _amount(text: str, after: int) -> tuple[str, int] | None:
    pieces = tokens(text)
    for i, token in enumerate(pieces):
        if token.start >= after and token.kind == "number" and (unit := _unit(text, pieces, i)):
            return unit, token.start - (unit in _SIGNS)
    return None


def _unit(text: str, pieces: tuple[Token, ...], i: int) -> str:
    token = pieces[i]
    if token.start and text[token.start - 1] in _SIGNS:
        return text[token.start - 1]
    following = pieces[i + 1] if i + 1 < len(pieces) else None
    return following.stem if following and following.kind == "word" and following.start - token.end <= 1 else ""


def _states(line: Claim, unit: str) -> bool:
    """Whether a line names a slot of the speaker's (or nobody's) whose value begins with an amount in ``unit``."""
    if line.form not in ("named", "set") or line.owner - {"self"}:
        return False
    pieces = tokens(line.text)
    first = next(
        (i for i, token in enumerate(pieces) if token.start >= line.value_at[0] and token.kind != "function"), None
    )
    return first is not None and pieces[first].kind == "number" and _unit(line.text, pieces, first) == unit
