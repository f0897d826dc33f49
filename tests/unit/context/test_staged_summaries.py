"""Staged summaries: parts, merge, retries, oversized messages, and giving up without touching the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestra.context.chunk_ratio import chunk_tokens
from orchestra.context.identifiers import HEADING, identifiers, missing
from orchestra.context.invariants import faults
from orchestra.context.repair import repair
from orchestra.context.staged_summaries import SummaryRequest, joined
from orchestra.core.conversation import Compaction
from orchestra.core.messages import Message, ToolCall
from orchestra.core.tokens import message_tokens, text_tokens
from tests.unit.context.logs import LOGS, answers, asks, says, user
from tests.unit.context.summariser import Summariser, counted

PLAIN = [user("please " * 20), says("certainly " * 20)] * 4
UUID = "123e4567-e89b-12d3-a456-426614174000"


async def test_everything_within_one_chunk_is_one_call_with_the_previous_summary() -> None:
    model = Summariser()
    assert await model.of(PLAIN, window=1_000, tokens=[50] * 8, previous="before") == "whole:8"
    assert [(request.kind, request.previous) for request in model.asked] == [("whole", "before")]


async def test_fewer_than_four_messages_are_one_call() -> None:
    model = Summariser()
    assert await model.of(PLAIN[:3], window=1_000, tokens=[250] * 3, previous="before") == "whole:3"
    assert model.kinds == ["whole"]


async def test_few_messages_that_no_prompt_can_hold_are_parted_all_the_same() -> None:
    model = Summariser()
    assert await model.of(PLAIN[:3], window=1_000, tokens=[400] * 3) is not None
    assert model.kinds == ["part", "part", "part", "merge"]


async def test_parts_do_not_get_the_previous_summary_the_merge_does() -> None:
    model = Summariser()
    assert await model.of(PLAIN, window=2_000, tokens=[110] * 8, previous="before") == "part:4+part:4"
    told = [(request.kind, request.previous, len(request.messages), request.partials) for request in model.asked]
    assert told == [
        ("part", None, 4, ()),
        ("part", None, 4, ()),
        ("merge", "before", 0, ("part:4", "part:4")),
    ]


async def test_a_part_over_the_chunk_splits_again() -> None:
    model = Summariser()
    tokens = [150] * 8
    assert await model.of(PLAIN, window=1_000, tokens=tokens) is not None
    chunk = chunk_tokens(tokens, 1_000, settings=Compaction())
    assert chunk == 150
    assert model.kinds == ["part"] * 8 + ["merge"]
    assert [len(request.messages) for request in model.asked[:8]] == [1] * 8


async def test_partial_summaries_over_the_chunk_are_merged_in_rounds() -> None:
    model = Summariser(lambda request, _: "x" * 4 * (60 if request.kind == "part" else 30))
    assert await model.of(PLAIN, window=1_000, tokens=[150] * 8, previous="before") == "x" * 120
    merges = [request for request in model.asked if request.kind == "merge"]
    assert [len(request.partials) for request in merges] == [2, 2, 2, 2, 4]
    assert [request.previous for request in merges] == [None] * 4 + ["before"]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (lambda *_: RuntimeError("broken"), "RuntimeError: broken"),
        (lambda *_: TimeoutError(), "TimeoutError"),
        (lambda *_: "", "empty"),
        (lambda *_: " \n", "empty"),
        (lambda *_: "x" * 4_000, "longer"),
        (lambda *_: "한" * 401, "401 tokens was longer than the 400"),
    ],
)
async def test_what_fails_is_tried_three_times_more_and_then_the_history_stays(
    rule: Callable[[SummaryRequest, int], str | BaseException], reason: str
) -> None:
    model = Summariser(rule)
    made = await model.staged(PLAIN, window=1_000, tokens=[50] * 8)
    assert (made.text, made.covered) == (None, 0)
    assert reason in made.reason
    assert model.waited == [1.0, 2.0, 4.0]
    assert model.kinds == ["whole"] * 4
    assert await Summariser(rule).of(PLAIN, window=1_000, tokens=[50] * 8) is None


async def test_a_summary_as_long_as_what_it_replaces_is_none_longer() -> None:
    assert await Summariser(lambda *_: "한" * 400).of(PLAIN, window=1_000, tokens=[50] * 8) == "한" * 400


async def test_the_number_of_retries_is_configurable() -> None:
    model = Summariser(lambda *_: RuntimeError())
    assert await model.of(PLAIN, window=1_000, tokens=[1] * 8, settings=Compaction(retries=0)) is None
    assert (len(model.asked), model.waited) == (1, [])


async def test_what_works_in_the_end_is_taken() -> None:
    model = Summariser(lambda request, number: counted(request, number) if number == 4 else RuntimeError("busy"))
    assert await model.of(PLAIN, window=1_000, tokens=[50] * 8) == "whole:8"
    assert len(model.asked) == 4


async def test_a_finished_part_is_not_made_again_when_a_later_one_fails_at_first() -> None:
    model = Summariser(lambda request, number: RuntimeError("busy") if number in (2, 3) else counted(request, number))
    assert await model.of(PLAIN, window=2_000, tokens=[110] * 8) == "part:4+part:4"
    assert [(request.kind, request.messages[:1]) for request in model.asked[:1]] == [("part", (PLAIN[0],))]
    assert model.kinds == ["part", "part", "part", "part", "merge"]


async def test_when_a_later_part_fails_for_good_the_finished_ones_are_kept() -> None:
    def rule(request: SummaryRequest, number: int) -> str | BaseException:
        return RuntimeError("down") if request.kind == "part" and number > 1 else counted(request, number)

    model = Summariser(rule)
    made = await model.staged(PLAIN, window=2_000, tokens=[110] * 8, previous="before")
    assert (made.text, made.covered, made.reason) == ("part:4", 4, "RuntimeError: down")
    assert (model.asked[-1].kind, model.asked[-1].previous) == ("merge", "before")
    assert await Summariser(rule).of(PLAIN, window=2_000, tokens=[110] * 8) is None  # all or nothing


async def test_a_merge_that_fails_leaves_the_history() -> None:
    model = Summariser(lambda request, number: TimeoutError() if request.kind == "merge" else counted(request, number))
    made = await model.staged(PLAIN, window=2_000, tokens=[110] * 8)
    assert (made.text, made.covered, made.reason) == (None, 0, "TimeoutError")


async def test_then_it_goes_without_the_oversized_messages() -> None:
    log = [user("a"), asks("c1"), answers("c1", "huge"), says("b"), user("c")]
    tokens = [10, 10, 500, 10, 10]  # 500 x 1.2 > 1000 / 2

    def rule(request: SummaryRequest, _number: int) -> str | BaseException:
        large = any("huge" in message.text for message in request.messages)
        return RuntimeError("too long") if large else "|".join(message.text for message in request.messages)

    model = Summariser(rule)
    made = await model.staged(log[:3], window=1_000, tokens=tokens[:3])
    assert made.text is not None
    assert made.covered == 3
    assert "role tool with about 500 tokens" in made.text
    assert "huge" not in made.text
    assert len(model.asked) == 5
    assert model.asked[-1].messages[2].tool_call_id == "c1"


async def test_a_placeholder_never_stands_for_all_of_the_history() -> None:
    model = Summariser(lambda request, _: "notes" if request.kind == "merge" else RuntimeError("too long"))
    made = await model.staged([user("x"), user("y")], window=1_000, tokens=[450, 450])
    assert (made.text, made.covered) == (None, 0)
    made = await model.staged([user("x")] * 6, window=1_000, tokens=[450] * 6)
    assert (made.text, made.covered) == (None, 0)


async def test_an_oversized_message_on_its_own_is_a_note_among_real_summaries() -> None:
    def rule(request: SummaryRequest, number: int) -> str | BaseException:
        return RuntimeError("no") if any("huge" in m.text for m in request.messages) else counted(request, number)

    made = await Summariser(rule).staged([*PLAIN[:4], user("huge")], window=1_000, tokens=[30] * 4 + [900])
    assert made.text is not None
    assert made.covered == 5
    assert "part:4" in made.text
    assert "role user with about 900 tokens" in made.text


async def test_no_messages_no_call() -> None:
    model = Summariser()
    assert await model.of([], window=1_000, previous="before") is None
    assert model.asked == []


async def test_cancelling_is_no_failure_of_the_summariser() -> None:
    model = Summariser(lambda *_: asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await model.of(PLAIN, window=1_000)
    assert len(model.asked) == 1


async def test_a_lost_identifier_is_asked_for_once_more() -> None:
    log = [user(f"order {UUID} " + "please " * 60)]
    model = Summariser(lambda request, _: f"order {UUID}" if request.keep else "an order")
    assert await model.of(log, window=1_000) == f"order {UUID}"
    assert [request.keep for request in model.asked] == [(), (UUID,)]


@pytest.mark.parametrize("second", ["still without", "", "x" * 9_000, RuntimeError("down")])
async def test_then_it_is_listed(second: str | BaseException) -> None:
    log = [user("words " * 60), Message("assistant", "", (ToolCall("c1", "open", {"path": "/srv/a.py"}),))]
    model = Summariser(lambda request, _: second if request.keep else "a file")
    assert (
        await model.of([*log, answers("c1", "3.5 GB")], window=1_000) == f"a file\n\n{HEADING}\n- /srv/a.py\n- 3.5 GB"
    )
    assert len(model.asked) == 2
    assert model.waited == []


async def test_identifiers_of_the_previous_summary_survive_a_merge() -> None:
    model = Summariser(lambda request, _: "text")
    made = await model.of([user("/srv/new.py " + "w " * 200)] * 8, window=2_000, previous="it is in /srv/old.py")
    assert made is not None
    assert {"/srv/new.py", "/srv/old.py"} <= set(identifiers(made))


async def test_a_list_never_makes_the_summary_longer_than_its_source() -> None:
    log = [user(" ".join(f"/a/{number}" for number in range(100)))]
    made = await Summariser(lambda *_: "paths").of(log, window=1_000)
    assert made is not None
    assert text_tokens(made) <= message_tokens(log[0])
    assert "/a/0" in made


@pytest.mark.parametrize(
    ("history", "prefix", "expected"),
    [
        (None, None, None),
        ("h", None, "h"),
        (None, "p", "p"),
        ("h\n", "p", "h\n\nThe turn that is going on, up to here:\np"),
    ],
)
def test_the_summary_of_a_turn_that_goes_on_follows_the_other_one(
    history: str | None, prefix: str | None, expected: str | None
) -> None:
    assert joined(history, prefix) == expected


@given(LOGS, st.lists(st.integers(0, 900), min_size=60, max_size=60), st.sampled_from([500, 1_000, 5_000]))
def test_whatever_is_summarised_is_all_of_it_in_valid_pieces(log: list[Message], sizes: list[int], window: int) -> None:
    messages = list(repair(log))
    model = Summariser(lambda *_: "한")
    tokens = [size + 10 for size in sizes[: len(messages)]]
    made = asyncio.run(model.of(messages, window=window, tokens=tokens))
    given_to_it = [message for request in model.asked for message in request.messages if not request.keep]
    assert given_to_it == messages
    assert (made is None) == (not messages)
    assert all(faults(request.messages) == [] for request in model.asked)


@given(st.lists(st.uuids().map(str), min_size=1, max_size=12, unique=True), st.sampled_from([400, 1_000, 100_000]))
def test_identifiers_survive_every_stage(ids: list[str], window: int) -> None:
    log = [user(f"주문 {one} 👩‍👩‍👧‍👦 " + "이야기 " * 30) for one in ids]
    made = asyncio.run(Summariser(lambda *_: "짧게").of(log, window=window))
    assert made is not None
    assert missing(" ".join(ids), made) == ()
