"""The view: which part of the log a model is shown. A pure function of the log and the budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestra.context.missing_result import is_malformed
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens

WINDOW_ENTRIES = 4096  # a view never reaches further back, so a cold host and a warm one make the same view
# One entry more is loaded: whether a turn begins at the first one that may be shown is told by the one before it.
TAIL_ENTRIES = WINDOW_ENTRIES + 1


@dataclass(slots=True)
class LogView:
    """The tail of a log as a host caches it. Owner: the host that holds the thread.

    ``sums[i]`` is the estimated tokens of the first ``i`` messages, so a cut is found by bisection and a turn costs
    the same with 4,000 stored messages as with none. ``turns[j]`` is the index of the ``j``-th user message that
    follows no other one, the only places where a cut may be. ``places[i]`` is the index in the log of the ``i``-th
    message, ``end`` that of the entry which comes next. ``seqs`` are their sequence numbers. ``broken`` is the index of
    the last message that does not stand as it should (a result without its call, say), ``awaited`` the calls at the
    end that have no result yet: a cut behind both needs no repair, so a turn does not look at each message again.
    """

    end: int = 0
    messages: list[Message] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])
    turns: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    broken: int = -1
    awaited: list[str] = field(default_factory=list)

    def add(self, message: Message, tokens: int) -> None:
        """One more message at the end."""
        if message.role == "user":
            follows = self.places and self.places[-1] == self.end - 1 and self.messages[-1].role == "user"
            if not follows:
                self.turns.append(len(self.messages))
        # What is mostly said needs no watching: words, after which no result is awaited.
        if self.awaited or message.tool_calls or message.role == "tool" or message.meta.aborted:
            self._watch(message)
        self.messages.append(message)
        self.seqs.append(message.meta.seq)
        self.sums.append(self.sums[-1] + tokens)
        self.places.append(self.end)
        self.end += 1

    def _watch(self, message: Message) -> None:
        """Note what :func:`orchestra.context.repair.repair` would have to look at."""
        if message.role == "tool":
            if self.awaited and self.awaited[0] == message.tool_call_id:
                del self.awaited[0]
            else:
                self.broken = len(self.messages)
            return
        if self.awaited or (message.meta.aborted and message.role == "assistant"):
            self.broken = len(self.messages)
        self.awaited = [call.id for call in message.tool_calls]
        if self.awaited and (message.role != "assistant" or any(map(is_malformed, message.tool_calls))):
            self.broken = len(self.messages)

    def healthy(self, start: int) -> bool:
        """Whether the messages from ``start`` on need no repair."""
        behind = start >= len(self.messages) or self.messages[start].role != "tool"
        return behind and self.broken < start and not self.awaited

    def tokens_of(self, message: Message) -> int:
        """The estimate that is stored with a message of this log, else a new one."""
        at = bisect_left(self.seqs, message.meta.seq) if message.meta.seq else len(self.seqs)
        if at < len(self.seqs) and self.messages[at] is message:
            return self.sums[at + 1] - self.sums[at]
        return message_tokens(message)

    def tokens_after(self, seq: int) -> int:
        """The estimated tokens of the messages behind the one with this number."""
        return self.sums[-1] - self.sums[bisect_right(self.seqs, seq)]

    def beginning(self, upto: int) -> int:
        """The index of the first message that may be shown when a summary stands for those up to number ``upto``."""
        at = bisect_right(self.seqs, upto) if upto else 0
        if upto and at >= bisect_left(self.places, self.end - WINDOW_ENTRIES):
            return at
        return max(at, self.start(1 << 60))

    def skip(self) -> None:
        """One more entry at the end that cannot be read."""
        self.end += 1

    def trim(self, keep: int) -> None:
        """Forget the oldest messages so that about ``keep`` stay, a quarter of them at a time (Redis has them all)."""
        extra = len(self.messages) - keep - keep // 4
        if extra <= 0:
            return
        self._drop(extra + keep // 4)

    def forget(self, upto: int) -> None:
        """Forget the messages that a summary stands for, up to this number."""
        if upto and self.seqs and self.seqs[0] <= upto:
            self._drop(bisect_right(self.seqs, upto))

    def _drop(self, drop: int) -> None:
        del self.messages[:drop], self.places[:drop], self.seqs[:drop]
        self.broken -= drop
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
