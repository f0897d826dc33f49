"""The whole chain: any log, also a broken one, comes out valid; nothing is changed; it fits; hosts agree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra.context.assembly import Surroundings, assemble, budget_of
from orchestra.context.decisions import (
    NO_DECISIONS,
    Decisions,
    LastCall,
    decisions_from,
    pinned_from,
    pinned_text,
    pruned_from,
    pruned_text,
)
from orchestra.context.invariants import faults
from orchestra.context.summary_message import is_summary
from orchestra.context.view import LogView
from orchestra.core.blocks import BlockView
from orchestra.core.compaction import CompactionRecord
from orchestra.core.conversation import Conversation, Pruning
from orchestra.core.messages import Message
from orchestra.core.tokens import message_tokens
from orchestra.store.context_store import ContextRecord
from tests.unit.context.logs import LOGS, stored

PRUNING = Pruning(ttl=1, soft_ratio=0.01, hard_ratio=0.02, min_prunable=1, soft_over=40, head=10, tail=10, keep_last=1)
CONVERSATIONS = [
    Conversation(pruning=PRUNING),
    Conversation(pruning=PRUNING, history_limit=2),  # type: ignore[arg-type]
    Conversation(strategy="window"),
    Conversation(strategy="summarizing"),
    Conversation(strategy="full"),
]
NEW = Message("user", "and now?")


def log_of(messages: Sequence[Message], first: int = 0) -> LogView:
    log = LogView(first)
    for message in messages[first:]:
        log.add(message, message_tokens(message))
    return log


def around(window: int = 4_000, now: float = 1_000.0) -> Surroundings:
    return Surroundings(window, 100, now, None)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: f"{one.strategy}-{one.history_limit.default}")
@settings(max_examples=60, deadline=None)
@given(LOGS, st.integers(500, 6_000))
def test_any_log_comes_out_valid_and_the_log_is_not_changed(
    conversation: Conversation, messages: list[Message], window: int
) -> None:
    log = log_of(messages)
    before = list(log.messages)
    made = assemble(log, [NEW], decided=NO_DECISIONS, conversation=conversation, around=around(window))
    shown = [*made.history, *made.turn]
    assert faults(shown, newest=NEW) == []
    assert all(one is other for one, other in zip(before, log.messages, strict=True))
    if conversation.strategy != "full":
        assert made.tokens <= max(budget_of(conversation, around(window)), message_tokens(NEW))
    assert made.tokens == sum(map(message_tokens, shown))
    again = assemble(
        log, [NEW], decided=Decisions(pruned=made.pruned), conversation=conversation, around=around(window)
    )
    assert [message.text for message in again.history] == [message.text for message in made.history]


@settings(max_examples=60, deadline=None)
@given(LOGS, st.data())
def test_with_a_summary_a_cold_host_shows_what_a_warm_one_does(messages: list[Message], data: st.DataObject) -> None:
    places = [place for place, message in enumerate(messages) if message.role == "user" and place]
    if not places:
        return
    upto = data.draw(st.sampled_from(places))
    decided = Decisions(cycle=1, summary=CompactionRecord("so far", upto, 10, 1, 1))
    shown = []
    for log in (log_of(messages), log_of(messages, upto)):
        made = assemble(log, [NEW], decided=decided, conversation=CONVERSATIONS[0], around=around())
        shown.append([(message.role, message.text) for message in made.history])
        assert is_summary(made.history[0])
        assert faults([*made.history, NEW], summary=made.history[0], newest=NEW) == []
    assert shown[0] == shown[1]


def test_a_healthy_log_that_fits_is_shown_as_it_is() -> None:
    messages = [Message("user" if n % 2 == 0 else "assistant", f"message {n}") for n in range(20)]
    log = log_of(stored(*messages))
    made = assemble(log, [NEW], decided=NO_DECISIONS, conversation=Conversation(), around=around())
    assert list(made.history) == log.messages
    assert made.left_out == ()
    assert made.unfitted == 0


def test_decisions_survive_being_stored() -> None:
    pinned = (BlockView(id="b", label="notes", value="v", limit=10, description="d", version=3, born="7"),)
    decided = Decisions(cycle=2, pinned=pinned, pinned_cycle=1, bootstrap="files", pruned={1: "trim", 9: "clear"})
    assert pinned_from(pinned_text(decided)) == (pinned, 1, "files")
    assert pruned_from(pruned_text(decided.pruned, 0)) == {1: "trim", 9: "clear"}
    assert pruned_from(pruned_text(decided.pruned, 5)) == {9: "clear"}
    call = LastCall(12.5, 900, 4, 2, 7, noticed=1)
    record = ContextRecord(
        version="r",
        cycle=2,
        flushed=1,
        pruned=pruned_text({9: "clear"}, 0),
        pinned=pinned_text(decided),
        call=call.to_text(),
    )
    read = decisions_from(record)
    assert (read.call, read.pinned, read.flushed, dict(read.pruned)) == (call, pinned, 1, {9: "clear"})
