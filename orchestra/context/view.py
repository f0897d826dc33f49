"""The view: which part of the log a model is shown. A pure function of the log and the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestra.core.messages import Message

DEFAULT_WINDOW = 128_000
REPLY_SHARE = 0.25
WINDOW_ENTRIES = 4096  # a view never reaches further back, so a cold host and a warm one make the same view
# One entry more is loaded: whether a turn begins at the first one that may be shown is told by the one before it.
TAIL_ENTRIES = WINDOW_ENTRIES + 1


@dataclass(slots=True)
class LogView:
    """The tail of a log as a host caches it. Owner: the host that holds the thread.

    ``sums[i]`` is the estimated tokens of the first ``i`` messages, so a cut is found by bisection and a turn costs
    the same with 4,000 stored messages as with none. ``turns[j]`` is the index of the ``j``-th user message that
    follows no other one, the only places where a cut may be. ``places[i]`` is the index in the log of the ``i``-th
    message, ``end`` that of the entry which comes next.
    """

    end: int = 0
    messages: list[Message] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])
    turns: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, message: Message, tokens: int) -> None:
        """One more message at the end."""
        follows = self.places and self.places[-1] == self.end - 1 and self.messages[-1].role == "user"
        if message.role == "user" and not follows:
            self.turns.append(len(self.messages))
        self.messages.append(message)
        self.sums.append(self.sums[-1] + tokens)
        self.places.append(self.end)
        self.end += 1

    def skip(self) -> None:
        """One more entry at the end that cannot be read."""
        self.end += 1

    def trim(self, keep: int) -> None:
        """Forget the oldest messages so that about ``keep`` stay, a quarter of them at a time (Redis has them all)."""
        extra = len(self.messages) - keep - keep // 4
        if extra <= 0:
            return
        drop = extra + keep // 4
        del self.messages[:drop], self.places[:drop]
        base = self.sums[drop]
        self.sums = [total - base for total in self.sums[drop:]]
        self.turns = [at - drop for at in self.turns if at >= drop]

    def shown(self, budget: int, history_limit: int | None = None) -> Sequence[Message]:
        """The newest whole turns that fit into ``budget`` tokens, at most ``history_limit`` of them."""
        start = self.start(budget, history_limit)
        return self.messages[start:] if start else self.messages

    def start(self, budget: int, history_limit: int | None = None) -> int:
        """The index (here) of the first message that is shown."""
        if not self.messages:
            return 0
        cut = max(bisect_left(self.sums, self.sums[-1] - budget), bisect_left(self.places, self.end - WINDOW_ENTRIES))
        at = bisect_left(self.turns, cut)
        if history_limit is not None:
            at = max(at, len(self.turns) - history_limit)
        return self.turns[at] if at < len(self.turns) else len(self.messages)


def history_budget(context_tokens: int | None, fixed_tokens: int) -> int:
    """Tokens that the history may take: the window without a share for the reply and what is always there."""
    window = context_tokens or DEFAULT_WINDOW
    return max(0, int(window * (1 - REPLY_SHARE)) - fixed_tokens)
