"""The view: which part of the log a model is shown. A pure function of the log and the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestra.core.messages import Message

DEFAULT_WINDOW = 128_000
REPLY_SHARE = 0.25
WINDOW_MESSAGES = 4096  # a view never reaches further back, so a cold host and a warm one make the same view


@dataclass(slots=True)
class LogView:
    """The tail of a log as a host caches it. Owner: the host that holds the thread.

    ``sums[i]`` is the estimated tokens of the first ``i`` messages, so a cut is found by bisection and a turn costs
    the same with 4,000 stored messages as with none. ``turns[j]`` is the index of the ``j``-th user message, the only
    places where a cut may be. ``first`` is the index in the log of the first message here.
    """

    first: int = 0
    messages: list[Message] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])
    turns: list[int] = field(default_factory=list)

    def add(self, message: Message, tokens: int) -> None:
        """One more message at the end."""
        if message.role == "user" and (not self.messages or self.messages[-1].role != "user"):
            self.turns.append(len(self.messages))
        self.messages.append(message)
        self.sums.append(self.sums[-1] + tokens)

    def trim(self, keep: int) -> None:
        """Forget the oldest messages so that about ``keep`` stay, a quarter of them at a time (Redis has them all)."""
        extra = len(self.messages) - keep - keep // 4
        if extra <= 0:
            return
        drop = extra + keep // 4
        self.first += drop
        del self.messages[:drop]
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
        cut = max(bisect_left(self.sums, self.sums[-1] - budget), len(self.messages) - WINDOW_MESSAGES)
        at = bisect_left(self.turns, cut)
        if history_limit is not None:
            at = max(at, len(self.turns) - history_limit)
        return self.turns[at] if at < len(self.turns) else len(self.messages)


def history_budget(context_tokens: int | None, fixed_tokens: int) -> int:
    """Tokens that the history may take: the window without a share for the reply and what is always there."""
    window = context_tokens or DEFAULT_WINDOW
    return max(0, int(window * (1 - REPLY_SHARE)) - fixed_tokens)
