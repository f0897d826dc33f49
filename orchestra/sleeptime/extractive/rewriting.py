"""Putting a new value into an old line, when the sentence that brings it does not say what it is about."""

from __future__ import annotations

from orchestra.core.terms import Token, TokenKind, tokens
from orchestra.sleeptime.extractive.claim import Claim, parse


def with_value(line: Claim, value: str, old: str) -> str:
    """The text of ``line`` with ``value`` in the place of its value (of ``old``, when the line has it)."""
    value = value.strip(" .!,")
    text = line.text
    if old and (at := text.lower().find(old.lower())) >= 0:
        return text[:at] + value + text[at + len(old) :]
    kinds = _kinds(value)
    for kind in ("date", "number"):
        if kind in kinds and (span := _last(text, kind, line.value_at)):
            return _joined(text, span, _span_of(value, kind) if len(kinds) == 1 and line.form == "verb" else value)
    start, end = line.value_at
    if start < end:
        return _joined(text, (start, end), value)
    return f"{text.rstrip(' .!')}: {value}"


def _joined(text: str, span: tuple[int, int], value: str) -> str:
    before = text[: span[0]].rstrip()
    lead, _, rest = value.partition(" ")
    if rest and before.lower().endswith((" " + lead.lower(),)):
        value = rest  # "on" + "on Thursday"
    return text[: span[0]] + value + text[span[1] :]


def _kinds(value: str) -> set[TokenKind]:
    return {token.kind for token in tokens(value) if token.kind in ("date", "number")}


def _span_of(value: str, kind: TokenKind) -> str:
    found = [token for token in tokens(value) if token.kind == kind]
    return value[found[0].start :] if found else value


def _last(text: str, kind: TokenKind, within: tuple[int, int]) -> tuple[int, int] | None:
    """The place of the last run of tokens of ``kind`` in the value, else anywhere."""
    pieces: list[Token] = [token for token in tokens(text) if token.kind == kind]
    inside = [token for token in pieces if within[0] <= token.start < within[1]]
    chosen = inside or pieces
    if not chosen:
        return None
    start, end = chosen[-1].start, chosen[-1].end
    for token in reversed(chosen[:-1]):
        if start - token.end <= 1:
            start = token.start
    if start and text[start - 1] in "$€£¥₩":
        start -= 1
    return start, end


def self_contained(text: str) -> bool:
    """Whether a clause says by itself what it is about and reads as a statement."""
    return parse(text).form in ("named", "verb")
