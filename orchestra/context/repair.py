"""The guard at read time: a log that a crash or an import broke becomes one that a provider takes.

Results are paired with calls inside a *frame*: a message with calls, and everything up to the next one with calls. So
an id that a later turn uses again keeps its own result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from orchestra.context.missing_result import missing_result, without_malformed
from orchestra.core.messages import Message, ToolCall


def repair(messages: Sequence[Message], *, unanswered: Literal["answer", "drop"] = "answer") -> Sequence[Message]:
    """``messages`` with each call answered once, right after it and in call order; a healthy log is returned itself.

    Per id the first result belongs to the first call. A real result takes the place of a synthetic one, however late
    in the frame it stands. A call without any gets a synthetic one. Further results and those without a call are left
    out, and so is a message that was broken off (``meta.aborted``), unless each of its calls was answered: then its
    tools ran, and a model that did not see it might run them again. All other messages stay, in their order. O(n).

    ``unanswered="drop"`` is for a list that was whole before a step left results out on purpose: their calls go too,
    for a model that is told that a result is missing repeats the call.
    """
    out: list[Message] = []
    changed = False
    place, end = 0, len(messages)
    while place < end:
        start = place
        message = messages[place]
        place += 1
        if message.role == "tool":  # no frame before it
            changed = True
            continue
        if not message.tool_calls:
            if message.meta.aborted and message.role == "assistant":
                changed = True
            else:
                out.append(message)
            continue
        healthy = _is_healthy(messages, start)
        while place < end and not messages[place].tool_calls:
            place += 1
        after = start + 1 + healthy
        if healthy and not any(_leaves(message) for message in messages[after:place]):
            out.extend(messages[start:place])
            continue
        repaired = _repaired(messages[start:place], unanswered == "drop")
        changed = changed or not _is_same(repaired, messages[start:place])
        out.extend(repaired)
    return out if changed else messages


def _is_healthy(messages: Sequence[Message], start: int) -> int:
    """How many results follow the calls at ``start``; 0 when they are not exactly those of its calls, in order."""
    calls = messages[start].tool_calls
    place = start
    for call in calls:
        place += 1
        if place >= len(messages) or messages[place].tool_call_id != call.id or messages[place].role != "tool":
            return 0
    asked = messages[start]
    return len(calls) if asked.role == "assistant" and without_malformed(asked) is asked else 0


def _leaves(message: Message) -> bool:
    """Whether a message that is no result of a call cannot stay."""
    return message.role == "tool" or (message.meta.aborted and message.role == "assistant" and not message.tool_calls)


def _is_same(made: Sequence[Message], given: Sequence[Message]) -> bool:
    return len(made) == len(given) and all(one is other for one, other in zip(made, given, strict=True))


def _repaired(frame: Sequence[Message], drop: bool) -> list[Message]:
    """A frame whose results are not in order."""
    others = [message for message in frame[1:] if not _leaves(message)]
    asked = without_malformed(frame[0]) if frame[0].role == "assistant" else _with_calls(frame[0], ())
    if asked is None:
        return others
    if not asked.tool_calls:
        return others if asked.meta.aborted and asked.role == "assistant" else [asked, *others]
    results = _by_call(asked.tool_calls, frame)
    if asked.meta.aborted and None in results:
        return others
    if drop and None in results:
        answered = [(call, result) for call, result in zip(asked.tool_calls, results, strict=True) if result]
        asked = _with_calls(asked, tuple(call for call, _ in answered))
        kept = [asked] if asked.content or asked.tool_calls else []
        return [*kept, *(result for _, result in answered), *others]
    answers = [
        missing_result(call, asked) if result is None else result
        for call, result in zip(asked.tool_calls, results, strict=True)
    ]
    return [asked, *answers, *others]


def _with_calls(message: Message, calls: tuple[ToolCall, ...]) -> Message:
    return Message(message.role, message.content, calls, None, message.name, message.is_error, message.meta)


def _by_call(calls: Sequence[ToolCall], frame: Sequence[Message]) -> list[Message | None]:
    """The result of each call, found by occurrence."""
    places: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        places.setdefault(call.id, []).append(number)
    taken = dict.fromkeys(places, 0)
    made_up: dict[str, deque[int]] = {call: deque() for call in places}
    out: list[Message | None] = [None] * len(calls)
    for message in frame[1:]:
        answered = message.tool_call_id
        if message.role != "tool" or answered is None or answered not in places:
            continue
        if taken[answered] < len(places[answered]):
            number = places[answered][taken[answered]]
            taken[answered] += 1
            if message.meta.synthetic:
                made_up[answered].append(number)
        elif not message.meta.synthetic and made_up[answered]:
            number = made_up[answered].popleft()
        else:
            continue
        out[number] = message
    return out
