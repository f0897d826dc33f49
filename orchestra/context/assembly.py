"""The history that a prompt holds: a pure function of the log, of this turn, and of what was decided before.

The order: repair, preprocessors, history limit (or another strategy), repair again, pruning, and at last what fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestra.context.decisions import Decisions
from orchestra.context.flush_gate import reserve_floor_of
from orchestra.context.history_limit import limit
from orchestra.context.pruning import Decision, Pruned, prune
from orchestra.context.repair import repair
from orchestra.context.summary_message import head_length, is_user_turn, summary_message
from orchestra.context.view import LogView
from orchestra.context.window import last_ones
from orchestra.core.conversation import Conversation
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens

REPLY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a view depends on besides log and decisions. ``now`` and ``last_call`` are Unix seconds on one clock.

    ``fixed`` are the tokens of instructions, blocks and tools. ``squeeze`` is 1, and less after the provider found the
    prompt too long in spite of the estimates: such a share of the window is then filled. ``turn_tokens`` is the
    estimate of this turn's messages, where the caller has it. ``preprocess`` applies the agent's preprocessors, if it
    has any, to what :func:`before_preprocessors` gives.
    """

    window: int
    fixed: int
    now: float
    last_call: float | None
    user_id: str | None = None
    preprocess: Callable[[Sequence[Message]], Sequence[Message]] | None = None
    squeeze: float = 1.0
    turn_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a step kept from the prompt, and why. The log has it all."""

    part: str
    messages: int
    reason: str


@dataclass(frozen=True, slots=True)
class Assembled:
    """The view. ``tokens`` is the estimate of both parts; ``pruned`` are all decisions about results so far.

    ``unfitted`` are the tokens of older turns that did not fit: a summary should long stand for them.
    """

    history: Sequence[Message]
    turn: Sequence[Message]
    tokens: int
    pruned: Mapping[int, Decision]
    prune_reason: str
    left_out: tuple[LeftOut, ...]
    unfitted: int = 0


def budget_of(conversation: Conversation, around: Surroundings) -> int:
    """Tokens that history and turn may take: the window without what is fixed and without room for the reply.

    Where summaries are made, half of the reserve is for the reply: what comes before the next compaction needs room.
    """
    window = int(around.window * around.squeeze)
    if summarises(conversation):
        return max(0, window - reserve_floor_of(window, conversation.compaction.reserve_floor) // 2 - around.fixed)
    return max(0, int(window * (1 - REPLY_SHARE)) - around.fixed)


def summarises(conversation: Conversation) -> bool:
    """Whether old messages become a summary."""
    return conversation.strategy in ("safeguard", "summarizing") and conversation.compaction.enabled


def assemble(
    log: LogView, turn: Sequence[Message], *, decided: Decisions, conversation: Conversation, around: Surroundings
) -> Assembled:
    """The history of ``log`` and this ``turn`` as a model is shown them. Nothing of either is changed."""
    summary, start = _summary_of(decided), log.beginning(decided.upto)
    history, left = _history(log, start, summary, conversation, around)
    plain = len(log.messages) - start
    known = log.sums[-1] - log.sums[start] if _is_slice(history, log, start, plain, summary) else None
    lead = len(history) - plain
    around_it = 0
    if known is not None:
        of_turn = sum(map(message_tokens, turn)) if around.turn_tokens is None else around.turn_tokens
        around_it = of_turn + sum(map(message_tokens, history[:lead]))
    pruned = Pruned([*history, *turn], decided.pruned, "disabled")
    if conversation.strategy == "safeguard":
        pruned = prune(
            pruned.messages,
            settings=conversation.pruning,
            window=around.window,
            now=around.now,
            last_call=around.last_call,
            pruned=decided.pruned,
            estimate=log.tokens_of,
            total_tokens=None if known is None else known + around_it,
        )
    if known is not None and not pruned.pruned:
        tokens = known + around_it
    else:
        tokens = _tokens(pruned.messages, known, lead, plain, log)
    unfitted = 0
    # What a provider has refused is not asked for again as it was, not even by ``full``.
    bounded = conversation.strategy != "full" or around.squeeze < 1
    if bounded and tokens > (budget := budget_of(conversation, around)):
        before = tokens
        tail = start if known is not None else None
        shown, pruned, tokens = _fitted(pruned, len(history), tokens, budget, conversation, around, log, tail)
        if len(shown) < len(pruned.messages):
            left.append(
                LeftOut("older turns", len(pruned.messages) - len(shown), f"{budget} tokens are free for history")
            )
            unfitted = before - tokens
        at = len(shown) - len(turn)
    else:
        shown, at = pruned.messages, len(history)
    if decided.summary is not None:
        left.insert(
            0, LeftOut("summarised messages", 0, f"a summary stands for what came up to message {decided.upto}")
        )
    if pruned.pruned and (count := sum(_is_changed(message, log) for message in shown if message.role == "tool")):
        left.append(LeftOut("old tool results", count, "shortened; the log has them whole"))
    return Assembled(shown[:at], shown[at:], tokens, pruned.pruned, pruned.reason, tuple(left), unfitted)


def before_preprocessors(log: LogView, decided: Decisions) -> Sequence[Message]:
    """What the preprocessors get: what the log holds behind its summary, repaired, with the summary in front."""
    summary, start = _summary_of(decided), log.beginning(decided.upto)
    history = _since(log, start) if log.healthy(start) else repair(_since(log, start))
    return history if summary is None else [summary, *history]


def _summary_of(decided: Decisions) -> Message | None:
    return summary_message(decided.summary.summary) if decided.summary is not None else None


def _since(log: LogView, start: int) -> Sequence[Message]:
    return log.messages[start:] if start else log.messages


def _history(
    log: LogView, start: int, summary: Message | None, conversation: Conversation, around: Surroundings
) -> tuple[Sequence[Message], list[LeftOut]]:
    """Repair, preprocessors, limit, repair."""
    left: list[LeftOut] = []
    history = _since(log, start)
    if start and summary is None:
        left.append(LeftOut("oldest messages", start, "a view reaches back 4096 entries at most"))

    def told(part: str, before: Sequence[Message], after: Sequence[Message], reason: str) -> Sequence[Message]:
        if len(after) < len(before):
            left.append(LeftOut(part, len(before) - len(after), reason))
        return after

    if not log.healthy(start):
        history = told(
            "broken messages", history, repair(history), "a call or its result is missing, or it was broken off"
        )
    if summary is not None:
        history = [summary, *history]
    if around.preprocess is not None:
        history = told("by preprocessors", history, around.preprocess(history), "conversation.preprocessors")
    before = history
    if conversation.strategy == "window":
        history = last_ones(history, conversation.window)
        return told("older messages", before, history, "conversation.window"), left
    if turns := conversation.history_limit.of(around.user_id):
        history = limit(history, turns, hysteresis=conversation.history_limit.hysteresis)
        if history is not before:
            history = told("older turns", before, repair(history), f"history_limit {turns}")
    return history, left


def _is_slice(history: Sequence[Message], log: LogView, start: int, plain: int, summary: Message | None) -> bool:
    """Whether the history is the very tail of the log, behind its summary: its size is known then."""
    lead = 1 if summary is not None else 0
    if len(history) != plain + lead:
        return False
    return not plain or (
        history[lead] is log.messages[start] and history[-1] is log.messages[-1] and log.healthy(start)
    )


def _tokens(messages: Sequence[Message], known: int | None, lead: int, plain: int, log: LogView) -> int:
    """The estimate of ``messages``; of the ``plain`` ones behind ``lead`` it is ``known``, where they are the same."""
    if known is None:
        return sum(map(log.tokens_of, messages))
    total = known + sum(map(message_tokens, messages[:lead])) + sum(map(message_tokens, messages[lead + plain :]))
    first = len(log.messages) - plain
    for place in range(plain):
        was, message = log.messages[first + place], messages[lead + place]
        if message is not was:
            total += message_tokens(message) - log.tokens_of(was)
    return total


def _fitted(
    pruned: Pruned,
    history: int,
    tokens: int,
    budget: int,
    conversation: Conversation,
    around: Surroundings,
    log: LogView,
    start: int | None,
) -> tuple[Sequence[Message], Pruned, int]:
    """The newest whole turns that fit; when this turn alone does not, its older tool results are shortened too."""
    turn = pruned.messages[history:]
    if conversation.strategy == "safeguard" and sum(map(message_tokens, turn)) > budget // 2:
        hard = conversation.pruning.model_copy(
            update={
                "ttl": 0.0,
                "keep_last": 1,
                "soft_ratio": 1e-9,
                "hard_ratio": 0.5 * around.squeeze,
                "min_prunable": 0,
            }
        )
        forced = prune(
            pruned.messages,
            settings=hard,
            window=around.window,
            now=around.now,
            last_call=None,
            pruned=pruned.pruned,
            estimate=log.tokens_of,
        )
        if forced.pruned is not pruned.pruned:
            pruned, tokens = forced, sum(map(log.tokens_of, forced.messages))
    messages = pruned.messages
    if tokens <= budget:
        return messages, pruned, tokens
    head = head_length(messages)
    if start is not None and not pruned.pruned:
        # The history is the very tail of the log: where it is to begin is found without looking at each message.
        free = budget - (tokens - (log.sums[-1] - log.sums[start]))
        first = max(start, log.start(max(0, free)))
        return (
            [*messages[:head], *messages[head + first - start :]],
            pruned,
            tokens - (log.sums[first] - log.sums[start]),
        )
    place, left = head, tokens
    for at in range(head, history):
        if left <= budget and is_user_turn(messages[at]):
            break
        left -= log.tokens_of(messages[at])
        place = at + 1
    return [*messages[:head], *messages[place:]], pruned, left


def _is_changed(message: Message, log: LogView) -> bool:
    """Whether a message of the log is shown otherwise than it stands there."""
    at = log.beginning(message.meta.seq - 1) if message.meta.seq else len(log.messages)
    return at < len(log.messages) and log.messages[at].meta.seq == message.meta.seq and log.messages[at] is not message
