"""Putting a new value into an old line, when the sentence that brings it does not say what it is about."""

from __future__ import annotations

import re

from orchestra.core.sentences import sentences
from orchestra.core.terms import Token, TokenKind, tokens
from orchestra.sleeptime.extractive.claim import Claim, parse


def with_value(line: Claim, value: str, old: str) -> str:
    """The text of ``line`` with ``value`` in the place of its value (of ``old``, when the line has it)."""
    first = sentences(line.text)[0]
    if first != line.text and not (old and old.lower() in line.text[len(first) :].lower()):
        line = parse(first)  # what it went on about was said of the old value
    text = _put(line, value, old)
    return text + "." if line.text.endswith(".") and text[-1:].isalnum() else text


def _put(line: Claim, value: str, old: str) -> str:
    value = value.strip(" .!,?")
    line = _present(line)
    text = line.text
    if old and (at := text.lower().find(old.lower())) >= 0:
        return _joined(text, (at, at + len(old)), value)
    kinds = _kinds(value)
    whole = line.form != "verb" and bool(line.value) and len(tokens(value)) > 1
    for kind in ("date", "number"):
        if not whole and kind in kinds and (span := _last(text, kind, line.value_at)):
            return _joined(text, span, _span_of(value, kind) if len(kinds) == 1 and line.form == "verb" else value)
    start, end = line.value_at
    if start < end:
        return _joined(text, (start, end), value)
    return f"{text.rstrip(' .!')}: {value}"


def _present(line: Claim) -> Claim:
    """A line about the past as one about the present, so that it may take the value of now."""
    text = re.sub(
        r"\b(was|were)(?=\W+$)", lambda m: {"was": "is", "were": "are"}[m[1].lower()], line.text[: line.value_at[0]]
    )
    if text == line.text[: line.value_at[0]]:
        return line
    return parse(text + line.text[line.value_at[0] :])


def _joined(text: str, span: tuple[int, int], value: str) -> str:
    before = text[: span[0]].rstrip()
    lead, _, rest = value.partition(" ")
    if rest and before.lower().endswith((" " + lead.lower(),)):
        value = rest  # "on" + "on Thursday"
    head, _, last = value.rpartition(" ")
    if head and re.match(rf"\s+{re.escape(last)}\b", text[span[1] :], re.IGNORECASE):
        value = head  # "14 drels" + "drels"
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


_DENIED = re.compile(r"(?:n['’]t\b|\s(?:not|no longer|never)\b)|\s+any ?(?:more|longer)\b", re.IGNORECASE)
_USED_TO = re.compile(r"\bused to be\b|\bwas (?:originally|previously|formerly|at first)\b", re.IGNORECASE)


def affirmed(text: str) -> str:
    """A denial or a statement about the past as the plain statement whose value may be put in place."""
    return _USED_TO.sub("is", _DENIED.sub("", text))


def without_old(text: str, old: str) -> str:
    """``text`` without "from ``old``" in "from A to B"."""
    if not old:
        return text
    return re.sub(rf"\bfrom {re.escape(old)} (?=(?:to|into)\b)", "", text, count=1, flags=re.IGNORECASE)


_ASKING = re.compile(r"^(?:(?:please|can you|could you|would you|will you)\s+)+", re.IGNORECASE)


def as_note(text: str) -> str:
    """A request to set something as a note: "Could you set A to B?" becomes "Set A to B."."""
    bare = _ASKING.sub("", text)
    if bare.endswith("?"):
        bare = bare[:-1].rstrip() + "."
    return bare[:1].upper() + bare[1:]
