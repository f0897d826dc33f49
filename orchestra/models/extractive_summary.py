"""A summary without a language model: lines picked from what was said, deterministic, and nothing made up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestra.core.messages import Message
from orchestra.core.sentences import sentences
from orchestra.core.terms import tokens
from orchestra.core.tokens import text_tokens
from orchestra.models.recollection import key_sentence

SHARE = 0.2
MOST_TOKENS = 1_200
LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    worth: float
    order: int


class ExtractiveSummary:
    """Picks the telling sentences of what is added, what earlier summaries tell first. Owner: one summary.

    Message by message, so that an event loop can go on between them. The text has at most a fifth of the tokens that
    were added. What users said is worth most, what tools gave least; short lines are better than long ones, newer ones
    than older ones.
    """

    def __init__(self, previous: str | None = None, partials: Sequence[str] = ()) -> None:
        carried = [line for text in (previous or "", *partials) for line in text.split("\n") if line.strip()]
        self._lines = [
            _Line(line, _worth(line) + 2.0 * ("- user: " in line), order) for order, line in enumerate(carried)
        ]
        self._size = sum(map(text_tokens, carried))
        self._only_carried = True

    def add(self, message: Message) -> None:
        """One more message."""
        self._only_carried = False
        self._size += text_tokens(message.text)
        if found := _line(message, len(self._lines)):
            self._lines.append(found)

    def text(self, most: int = MOST_TOKENS) -> str:
        """At most ``most`` tokens; empty when nothing tells anything."""
        room = most if self._only_carried else min(most, max(40, int(self._size * SHARE)))
        kept: list[_Line] = []
        for line in sorted(_once(self._lines), key=lambda line: (len(line.text) / 60 - line.worth, -line.order)):
            cost = text_tokens(line.text + "\n")
            if cost <= room:
                room -= cost
                kept.append(line)
        return "\n".join(line.text for line in sorted(kept, key=lambda line: line.order))


def _line(message: Message, order: int) -> _Line | None:
    """What of a message may stand in a summary."""
    if message.meta.synthetic or message.role == "system":
        return None
    if message.role == "tool":
        found = next(iter(sentences(message.text[:2_000])), "")
        bonus = -4.0
    else:
        found = key_sentence(message.text[:20_000])
        bonus = 2.0 if message.role == "user" else -2.0
    if not found:
        return None
    text = found if len(found) <= LONGEST_LINE else f"{found[:LONGEST_LINE]}…"
    return _Line(f"- {message.role}: {text}", _worth(text) + bonus, order)


def _worth(text: str) -> float:
    telling = [token for token in tokens(text) if token.kind != "function"]
    return min(len(telling), 8) + 1.5 * min(4, sum(token.kind in ("number", "date", "name") for token in telling))


def _once(lines: Iterable[_Line]) -> list[_Line]:
    """The newest of lines that say the same."""
    found = {line.text: line for line in lines}
    return list(found.values())
