"""Old tool results are shortened, and then left out, once the provider's prompt cache has gone cold anyway.

Sizes are in characters; a character that costs a whole token counts as four, so that all scripts are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from orchestra.context.head_tail import soft_trim
from orchestra.core.conversation import Pruning
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens, text_tokens

CHARACTERS_PER_TOKEN = 4
Decision: TypeAlias = Literal["trim", "clear"]
Reason: TypeAlias = Literal["disabled", "warm", "nothing_eligible", "below_soft", "nothing_over", "trimmed", "cleared"]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What :func:`prune` made: the view, all decisions so far by ``meta.seq`` of the result, and why.

    ``reason``: ``disabled`` and ``warm`` (the cache is still warm): nothing new was decided; ``nothing_eligible``: no
    result is old enough, or none may be touched; ``below_soft``: the window is not full enough; ``nothing_over``: full
    enough, and nothing to gain; ``trimmed`` and ``cleared``: what was decided now.
    """

    messages: Sequence[Message]
    pruned: Mapping[int, Decision]
    reason: Reason


def prune(
    messages: Sequence[Message],
    *,
    settings: Pruning,
    window: int,
    now: float,
    last_call: float | None,
    pruned: Mapping[int, Decision],
    estimate: Callable[[Message], int] = message_tokens,
    total_tokens: int | None = None,
) -> Pruned:
    """The view in which old tool results take less room.

    ``pruned`` are the decisions of earlier calls: they hold, in the same bytes, also while the cache is warm.
    ``window`` is in tokens; ``now`` and ``last_call`` (of this thread to the model; ``None``: unknown, so cold) in
    seconds on one clock. ``estimate`` gives a message's tokens; hand in a look-up of those that the log stores. It is
    asked for messages as they are in ``messages``, never for shortened ones. ``total_tokens`` is the sum over
    ``messages`` where it is known: then not each of them is looked at.

    Results without a ``meta.seq`` cannot be remembered and are left alone. When nothing changes, ``messages`` and
    ``pruned`` themselves come back.
    """
    if not settings.enabled:
        return Pruned(messages, pruned, "disabled")
    shown = _apply(messages, pruned, settings)
    if last_call is not None and now - last_call < settings.ttl:
        return Pruned(shown, pruned, "warm")
    eligible = _eligible(messages, settings)
    if not eligible:
        return Pruned(shown, pruned, "nothing_eligible")

    def size(place: int) -> int:
        message = shown[place]
        return _size(message, estimate if message is messages[place] else message_tokens)

    characters = max(1, window * CHARACTERS_PER_TOKEN)
    # Most messages are plain texts, and a view has thousands: no call for each of those.
    if total_tokens is None:
        total = 0
        for place, message in enumerate(shown):
            content = message.content
            plain = not message.tool_calls and isinstance(content, str) and content.isascii()
            total += len(content) if plain else size(place)
    else:
        total = total_tokens * CHARACTERS_PER_TOKEN
        if shown is not messages:
            changed = (place for place in eligible if shown[place] is not messages[place])
            total += sum(size(place) - _size(messages[place], estimate) for place in changed)
    if total / characters < settings.soft_ratio:
        return Pruned(shown, pruned, "below_soft")

    decided: dict[int, Decision] = {}
    made: dict[int, Message] = {}
    sizes: dict[int, int] = {}
    for place in eligible:
        message = shown[place]
        sizes[place] = size(place)
        if pruned.get(message.meta.seq) is None and (shorter := _soft(message, settings)) is not message:
            decided[message.meta.seq] = "trim"
            made[place] = shorter
            total -= sizes[place]
            sizes[place] = _text_size(shorter.text)
            total += sizes[place]
    reason: Reason = "trimmed" if decided else "nothing_over"
    left = [place for place in eligible if pruned.get(shown[place].meta.seq) != "clear"]
    if total / characters >= settings.hard_ratio and sum(sizes[place] for place in left) >= settings.min_prunable:
        gone = _text_size(settings.placeholder)
        for place in left:
            if total / characters < settings.hard_ratio:
                break
            if sizes[place] > gone:  # a placeholder in place of less would cost, not gain
                decided[shown[place].meta.seq] = "clear"
                made[place] = _cleared(shown[place], settings)
                total += gone - sizes[place]
                reason = "cleared"
    if not decided:
        return Pruned(shown, pruned, reason)
    out = list(shown)
    for place, message in made.items():
        out[place] = message
    return Pruned(out, {**pruned, **decided}, reason)


def may_prune(tool: str, settings: Pruning) -> bool:
    """Whether results of this tool may be shortened: globs without regard to case, ``deny`` wins."""
    name = tool.lower()
    if any(fnmatchcase(name, glob.lower()) for glob in settings.deny):
        return False
    return not settings.allow or any(fnmatchcase(name, glob.lower()) for glob in settings.allow)


def _apply(messages: Sequence[Message], decisions: Mapping[int, Decision], settings: Pruning) -> Sequence[Message]:
    """``messages`` with the decisions carried out."""
    if not decisions:
        return messages
    out: list[Message] | None = None
    for place, message in enumerate(messages):
        if message.role != "tool" or (decision := decisions.get(message.meta.seq)) is None:
            continue
        made = _soft(message, settings) if decision == "trim" else _cleared(message, settings)
        if made is not message:
            out = list(messages) if out is None else out
            out[place] = made
    return messages if out is None else out


def _soft(message: Message, settings: Pruning) -> Message:
    """The head and the tail of a long result; one that holds more than text stays."""
    if not isinstance(message.content, str) and any(part.type != "text" for part in message.content):
        return message
    text = message.text
    shorter = soft_trim(text, over=settings.soft_over, head=settings.head, tail=settings.tail)
    return message if shorter is text else _with_text(message, shorter)


def _cleared(message: Message, settings: Pruning) -> Message:
    return message if message.content == settings.placeholder else _with_text(message, settings.placeholder)


def _with_text(message: Message, text: str) -> Message:
    return Message(message.role, text, (), message.tool_call_id, message.name, message.is_error, message.meta)


def _eligible(messages: Sequence[Message], settings: Pruning) -> list[int]:
    """The places of results that may be touched: after the first message of the user, before the last replies."""
    first = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
    end = len(messages)
    replies = 0
    while replies < settings.keep_last and end > 0:
        end -= 1
        replies += messages[end].role == "assistant"
    if replies < settings.keep_last:
        return []
    allowed: dict[str, bool] = {}
    called: dict[str, str] = {}
    places = []
    for place in range(first, end):
        message = messages[place]
        for call in message.tool_calls:
            called[call.id] = call.name
        if message.role == "tool" and message.meta.seq:
            tool = message.name or called.get(message.tool_call_id or "", "")
            if tool not in allowed:
                allowed[tool] = may_prune(tool, settings)
            if allowed[tool]:
                places.append(place)
    return places


def _size(message: Message, estimate: Callable[[Message], int]) -> int:
    """Characters of a message; exact where each costs a quarter of a token, as it mostly does."""
    if isinstance(message.content, str) and not message.tool_calls and message.content.isascii():
        return len(message.content)
    return estimate(message) * CHARACTERS_PER_TOKEN


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else text_tokens(text) * CHARACTERS_PER_TOKEN
