"""A reply that says nothing on purpose: the token ``NO_REPLY``."""

from __future__ import annotations

TOKEN = "NO_REPLY"


def is_silent(text: str) -> bool:
    """Whether the reply is exactly the token, whatever white space is around it."""
    return text.strip() == TOKEN


def visible(text: str) -> str:
    """What of a reply is delivered: without the token at its end, and the white space in front of it.

    A silent reply gives an empty text; a text without the token comes back as it is.
    """
    end = _body(text, len(text), "")
    return text if end is None else text[:end]


class SilentFilter:
    """The same for a reply that arrives piece by piece: nothing is let through that may turn out to be the token.

    ``feed`` and ``finish`` together give exactly :func:`visible` of the whole. Owner: the stream of one reply.
    """

    def __init__(self) -> None:
        self._held = ""
        self._before = ""  # the last character that was let through: it tells whether a word begins

    def feed(self, text: str) -> str:
        """What can be shown after ``text`` has come."""
        held = self._held + text
        end = len(held)
        for size in range(min(len(TOKEN) - 1, end), 0, -1):
            if held.endswith(TOKEN[:size]) and _begins_word(held, end - size, self._before):
                end -= size
                break
        body = _body(held, end, self._before)
        end = len(held[:end].rstrip()) if body is None else body
        shown, self._held = held[:end], held[end:]
        self._before = shown[-1:] or self._before
        return shown

    def finish(self) -> str:
        """What is left to show at the end of the reply."""
        held, self._held = self._held, ""
        end = _body(held, len(held), self._before)
        return held if end is None else held[:end]


def _body(text: str, end: int, before: str) -> int | None:
    """Where the white space and tokens at the end of ``text[:end]`` begin; ``None``: there is no token."""
    found: int | None = None
    at = len(text[:end].rstrip())
    while text.endswith(TOKEN, 0, at) and _begins_word(text, at - len(TOKEN), before):
        found = at = len(text[: at - len(TOKEN)].rstrip())
    return found


def _begins_word(text: str, at: int, before: str) -> bool:
    # Only ASCII letters and digits join: in a language without spaces the token follows the last character.
    last = text[at - 1] if at > 0 else before
    return not (last.isascii() and (last.isalnum() or last == "_")) if last else True
