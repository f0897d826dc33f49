"""A long text as its head, a marker that gives the numbers, and its tail. Lengths are Unicode code points."""

from __future__ import annotations

import re

from orchestra.context.cutting import safe_after, safe_before

_MARKER = re.compile(r"\n\[… the first (\d+) and the last (\d+) of (\d+) characters …\]\n")


def head_tail(text: str, maximum: int, *, head: float = 0.7, tail: float = 0.2) -> str:
    """``text`` in at most ``maximum`` characters, the marker among them; a text that fits is returned itself.

    ``head`` and ``tail`` are shares of ``maximum``; what they leave is for the marker, and when that is not enough they
    share what the marker leaves. When there is not even room for the marker, only the beginning is kept. A text that
    was trimmed before is trimmed as the text that it came from: its numbers stay true, and markers do not pile up.
    """
    # The small addition: 0.29 * 100 is 28.999….
    return _trimmed(text, maximum, int(maximum * head + 1e-9), int(maximum * tail + 1e-9))


def soft_trim(text: str, *, over: int, head: int, tail: int) -> str:
    """``text``, when it is longer than ``over`` characters, as its first ``head``, a marker, and its last ``tail``.

    What comes out is never longer than ``over``, so it is not trimmed again.
    """
    return _trimmed(text, over, head, tail)


def is_trimmed(text: str) -> bool:
    """Whether ``text`` came out of one of these functions with a marker."""
    return _origin(text) is not None


def _trimmed(text: str, maximum: int, head: int, tail: int) -> str:
    if len(text) <= maximum:
        return text
    first, last, length = _origin(text) or (text, text, len(text))
    room = maximum - len(_marker(length, length, length))
    if room <= 0:
        return first[: safe_before(first, max(0, maximum))]
    if head + tail > room:
        head = room * head // (head + tail)
        tail = room - head if tail else 0
    start = first[: safe_before(first, head)]
    end = last[safe_after(last, len(last) - min(tail, len(last))) :]
    return f"{start}{_marker(len(start), len(end), length)}{end}"


def _marker(first: int, last: int, length: int) -> str:
    return f"\n[… the first {first} and the last {last} of {length} characters …]\n"


def _origin(text: str) -> tuple[str, str, int] | None:
    """Head, tail and former length of a trimmed text. Only numbers that are true make a marker."""
    for found in _MARKER.finditer(text):
        first, last, length = (int(number) for number in found.groups())
        if first == found.start() and last == len(text) - found.end() and length > first + last:
            return text[:first], text[found.end() :], length
    return None
