"""Text that can be stored: halves of a character that a provider split are joined, lost ones replaced."""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """``text`` with its surrogate pairs joined and each lone surrogate replaced by U+FFFD."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class WholeText:
    """Joins text that arrives in pieces: the first half of a character waits for the second one."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be shown after ``piece``."""
        text, self._held = self._held + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return whole(text)
