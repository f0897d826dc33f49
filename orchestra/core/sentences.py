"""Sentences: where a text may be cut without harming what it says."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


_BULLET = re.compile(r"^\s*(?:[-*•‣·]|\(?\d{1,2}[.)]|[A-Za-z]\))\s+")
_END = re.compile(r"(?:[.!?…]+|[。！？．]+)[\"'”’»」』)\]]*")
_WIDE_END = "。！？．"
_ABBREVIATIONS = words(
    "mr mrs ms dr prof sr jr st mt vs etc eg ie e.g i.e a.m p.m no nos vol fig dept inc ltd co corp approx"
    " est ca cf al jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ph.d u.s u.k"
)
_CLOSERS = frozenset("\"'”’»」』)]")
_LAST_WORD = re.compile(r"[^\s(\"'“‘«]+$")


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order, stripped, without bullets of lists.

    Line breaks always separate. Abbreviations, initials, decimals and quoted endings inside a sentence do not. The full
    stops of Chinese and Japanese separate without a space after them.
    """
    found: list[str] = []
    for line in text.splitlines():
        if line := _BULLET.sub("", line, count=1).strip():
            found.extend(_split(line))
    return found


def is_abbreviation(word: str) -> bool:
    """Whether a full stop after ``word`` does not end a sentence by itself: a known abbreviation or an initial."""
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper() and word != "I")


def is_question(sentence: str) -> bool:
    """Whether ``sentence`` ends in a question mark (quotes and brackets after it do not count)."""
    bare = sentence.rstrip("\"'”’»」』)] ")
    return bare.endswith(("?", "？")) or ("?" in bare[-3:] and bare.endswith("!"))


def _split(line: str) -> list[str]:
    out: list[str] = []
    start = 0
    for mark in _END.finditer(line):
        end = mark.end()
        if end < len(line) and not _ends(line, start, mark):
            continue
        if piece := line[start:end].strip():
            out.append(piece)
        start = end
    if rest := line[start:].strip():
        out.append(rest)
    return out


def _ends(line: str, start: int, mark: re.Match[str]) -> bool:
    stop, after = mark.group(), line[mark.end() :]
    if stop[0] in _WIDE_END:
        return stop[-1] not in _CLOSERS or not after.startswith(("と", "라", "이라"))
    if not after[0].isspace():
        return False
    following = after.lstrip()[:1]
    if stop[-1] in _CLOSERS and following.islower():
        return False  # "Stop!" she said
    if stop == ".":
        word = _LAST_WORD.search(line[start : mark.start()])
        last = word.group() if word else ""
        if last.lower() in _ABBREVIATIONS:
            return last.lower() in ("etc", "a.m", "p.m", "jr", "sr", "inc", "ltd") and following.isupper()
        if is_abbreviation(last):
            return False
        return not following.islower()
    if stop[0] == "…" or stop.startswith(".."):
        return not following.islower()
    return True
