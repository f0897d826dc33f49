"""Where a text may be cut: never inside what a reader sees as one character.

Combining marks, emoji sequences, flags, Hangul syllables of several jamo and surrogate pairs stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

from orchestra.core.tokens import text_tokens

_CLUSTER: Final = regex.compile(r"\X")
# Searched backwards: two characters between which there is a boundary whatever stands around them. The first neither
# joins what follows (a flag's first half, a leading jamo, a mark or joiner inside a sequence), nor does the second join
# what stands before it.
_BOUNDARY: Final = regex.compile(
    r"(?r)[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\p{GCB=Control}\n--[\p{Cs}\p{M}]]"
    r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\p{GCB=L}\p{GCB=RI}\p{GCB=Control}--[\p{Cs}\p{M}]]",
    regex.V1,
)


def safe_before(text: str, index: int) -> int:
    """The last place at or before ``index`` where ``text`` may be cut."""
    index = max(0, min(index, len(text)))
    if _is_plain(text, index):
        return index
    last = 0
    for place in _boundaries(text, index):
        if place > index:
            return last
        last = place
    return last


def safe_after(text: str, index: int) -> int:
    """The first place at or after ``index`` where ``text`` may be cut."""
    index = max(0, min(index, len(text)))
    if _is_plain(text, index):
        return index
    return next((place for place in _boundaries(text, index) if place >= index), len(text))


def head_of(text: str, tokens: int) -> str:
    """As much of the beginning of ``text`` as has at most so many estimated tokens."""
    if tokens <= 0:
        return ""
    low, high = 0, min(len(text), 4 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return text[: safe_before(text, low)]


def tail_of(text: str, tokens: int) -> str:
    """As much of the end of ``text`` as has at most so many estimated tokens."""
    if tokens <= 0:
        return ""
    low, high = 0, min(len(text), 4 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_tokens(text[len(text) - middle :]) <= tokens else (low, middle - 1)
    return text[safe_after(text, len(text) - low) :]


def _is_plain(text: str, index: int) -> bool:
    """Whether both neighbours are ASCII (or there is only one), and not the two halves of a line end."""
    if index in (0, len(text)):
        return True
    return text[index - 1] < "\x80" and text[index] < "\x80" and text[index - 1 : index + 1] != "\r\n"


def _boundaries(text: str, index: int) -> Iterator[int]:
    """The places where ``text`` may be cut, from one at or before ``index`` on."""
    found = _BOUNDARY.search(text, 0, index + 1)
    start = found.start() + 1 if found else 0
    yield start
    for cluster in _CLUSTER.finditer(text, start):
        end = cluster.end()
        if not ("\ud800" <= text[end - 1] <= "\udbff" and "\udc00" <= text[end : end + 1] <= "\udfff"):
            yield end
