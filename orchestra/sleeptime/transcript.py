"""What a pass reads: every message after the watermark, up to the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestra.core.messages import Message
from orchestra.memory.sessions import readable
from orchestra.sleeptime.documents import Part


@dataclass(frozen=True, slots=True)
class Transcript:
    """``messages`` in order; ``upto`` and ``upto_turn`` are the watermark after this pass.

    ``rest`` is True when more messages wait than fit; they are the next pass's. ``retracted`` are sequence numbers of
    messages that earlier passes saw and that were popped since. ``documents`` are what a pass reads instead of the
    dialogue.
    """

    messages: tuple[Message, ...]
    upto: int
    upto_turn: int
    rest: bool
    retracted: tuple[int, ...] = ()
    documents: tuple[Part, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to learn from."""
        return not (self.messages or self.retracted or self.documents)

    def text(self) -> str:
        """The transcript as a model reads it, each message with its number."""
        lines = []
        if self.retracted:
            numbers = ", ".join(map(str, self.retracted))
            lines.append(f"(Messages {numbers} were retracted: what came only from them is not true.)")
        for message in self.messages:
            mark = " (of a turn that was broken off)" if message.meta.aborted else ""
            calls = "".join(f"\n  calls {call.name}({dict(call.arguments)})" for call in message.tool_calls)
            lines.append(f"[{message.meta.seq}] {message.role}{mark}: {message.text}{calls}")
        lines.extend(f"{part.heading()}\n{part.text}" for part in self.documents)
        return "\n".join(lines)


def transcript(
    entries: Sequence[str], *, watermark: int, watermark_turn: int, max_tokens: int, retracted: Sequence[int] = ()
) -> Transcript:
    """The stretch after ``watermark``: whole turns, as many as fit into ``max_tokens``, but at least one.

    A turn is never split, so a transcript never ends inside a reply. What does not fit is left for the next pass.
    """
    taken: list[Message] = []
    upto, upto_turn, total = watermark, watermark_turn, 0
    waiting = [(entry, message) for entry, message in readable(entries) if entry.seq > watermark]
    at = 0
    while at < len(waiting):
        end = _turn_end(waiting, at)
        tokens = sum(entry.tokens for entry, _ in waiting[at:end])
        if taken and total + tokens > max_tokens:
            break
        taken.extend(message for _, message in waiting[at:end])
        total += tokens
        upto, upto_turn = waiting[end - 1][0].seq, waiting[end - 1][0].turn
        at = end
    return Transcript(tuple(taken), upto, upto_turn, at < len(waiting), tuple(retracted))


def several_turns(entries: Sequence[str]) -> bool:
    """Whether the entries are of more than one turn, so that the first one is there whole."""
    waiting = readable(entries)
    return bool(waiting) and _turn_end(waiting, 0) < len(waiting)


def _turn_end(waiting: Sequence[tuple[object, Message]], at: int) -> int:
    """The end of the run that begins at ``at``: the messages of one turn have one run id."""
    run = waiting[at][1].meta.run
    end = at + 1
    while end < len(waiting) and run and waiting[end][1].meta.run == run:
        end += 1
    return end
