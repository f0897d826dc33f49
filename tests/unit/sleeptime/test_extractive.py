from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.extractive import appending, data_directory, dialogues, passes, slots, superseding, worlds
from orchestra.sleeptime.extractive import Line, Said, consolidate
from tests.unit.sleeptime.slots import HELD_OUT, REVIEWED, TUNED, conversation

LIMIT = 5000


def block(*messages: str | tuple[str, str], lines: Sequence[Line] = (), limit: int = LIMIT) -> list[str]:
    return [line.text for line in consolidate(lines, said(*messages), limit=limit)]


def said(*messages: str | tuple[str, str], first: int = 1) -> list[Said]:
    pairs = [("user", message) if isinstance(message, str) else message for message in messages]
    return [Said(first + i, role, text) for i, (role, text) in enumerate(pairs)]  # type: ignore[arg-type]


# --- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "filler",
    [
        "Hello there!",
        "Thanks a lot, that helps.",
        "Can you explain that again?",
        "What is my zorbel?",
        "Please find me a nice place.",
        "Sounds good to me.",
        "I'm a bit tired right now.",
    ],
)
def test_talk_that_states_no_lasting_fact_is_not_kept(filler: str) -> None:
    assert block(filler) == []


@pytest.mark.parametrize(
    "fact",
    [
        "My zorbel is blick.",
        "I prefer the quiet plimt.",
        "We meet on Tuesdays.",
        "Ana Quint leads the Drel group.",
        "Never call me before 9.",
        "제 이름은 민수예요.",
        "会議は火曜日です。",
    ],
)
def test_statements_and_constraints_are_kept_as_they_are(fact: str) -> None:
    assert block(fact) == [fact]


def test_openers_go_and_compound_sentences_become_lines() -> None:
    assert block("Oh, by the way, my zorbel is 12 and my plimt is red.") == ["My zorbel is 12.", "My plimt is red."]


def test_a_constraint_inside_a_request_is_kept() -> None:
    assert block("Could you please find one under 200 with a drel?") == []
    assert block("Please only show me ones under 200.") == ["Please only show me ones under 200."]


def test_assistants_count_only_for_outcomes() -> None:
    assert (
        block(("assistant", "Your zorbel is 12, noted."), ("assistant", "You could try Blick."), ("tool", "My a is b."))
        == []
    )
    assert block(("assistant", "I've arranged Blick for Friday, number 8812.")) == [
        "I've arranged Blick for Friday, number 8812."
    ]
    assert block(("assistant", "Once confirmed, Blick will cost 12.")) == []


def test_a_bare_answer_is_kept_with_what_was_asked() -> None:
    assert block(("assistant", "What is your zorbel?"), "12 drels.") == ["My zorbel is 12 drels."]


def test_repetitions_are_one_line_with_all_sources() -> None:
    lines = consolidate((), said("My zorbel is blick.", "As I said, my zorbel is blick."), limit=LIMIT)
    assert lines == (Line("My zorbel is blick.", (1, 2)),)


# --- what is superseded -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("My zorbel is 900 drels.", "Make the zorbel 1200 instead.", "My zorbel is 1200 drels."),
        ("I live in Oslo.", "I moved to Bergen.", "I moved to Bergen."),
        ("We meet on Tuesdays.", "We now meet on Thursday, not Tuesday.", "We now meet on Thursday."),
        ("My zorbel is 12.", "Actually it's 14.", "My zorbel is 14."),
        ("My zorbel is 12.", "Scratch that, it's 14.", "My zorbel is 14."),
        ("My zorbel is 12.", "My zorbel is no longer 12, it's 14.", "My zorbel is 14."),
        ("My zorbel is blick.", "Change of plan: flarn is my new zorbel.", "Flarn is my new zorbel."),
        ("My zorbel is blick.", "I switched my zorbel from blick to flarn.", "My zorbel is flarn."),
        ("Drels go through Blick.", "We switched from Blick to Flarn for drels.", "Drels go through Flarn."),
        ("Ben's zorbel is 13.", "Ben's zorbel is now 20.", "Ben's zorbel is now 20."),
        ("회의는 화요일이에요.", "회의는 목요일로 변경됐어요.", "회의는 목요일로 변경됐어요."),
        (
            "Nora Fisk and Eli Wood ran a drel that joined music and prose.",
            "Joren Sull and Eli Wood ran a drel that joined music and prose.",
            "Joren Sull and Eli Wood ran a drel that joined music and prose.",
        ),
    ],
)
def test_a_new_value_replaces_the_line(before: str, after: str, expected: str) -> None:
    stored = consolidate((), said(before), limit=LIMIT)
    assert consolidate(stored, said(after, first=7), limit=LIMIT) == (Line(expected, (7,)),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My zorbel is blick.", "My plimt is blick."),
        ("Ana's zorbel is 12.", "Ben's zorbel is 14."),
        ("My sister's zorbel is 12.", "My zorbel is 14."),
        ("I love jazz.", "I love opera."),
        ("I visited Rome in 2019.", "I visited Paris in 2021."),
        ("My brother is a doctor.", "My brother is in Oslo."),
        ("I can't eat nuts.", "I also can't eat eggs."),
        ("My long zorbel is 12.", "My short zorbel is 14."),
    ],
)
def test_other_slots_stay(one: str, other: str) -> None:
    assert block(one, other) == [one, other]


@pytest.mark.parametrize(
    "musing", ["Should my zorbel be 14?", "What if my zorbel were 14?", "I was thinking about 14 for my zorbel."]
)
def test_questions_and_musings_change_nothing(musing: str) -> None:
    assert block("My zorbel is 12.", musing) == ["My zorbel is 12."]


def test_append_only_keeps_both() -> None:
    lines = consolidate((), said("My zorbel is 12.", "My zorbel is now 14."), limit=LIMIT, supersede=False)
    assert [line.text for line in lines] == ["My zorbel is 12.", "My zorbel is now 14."]


# --- what is withdrawn ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "withdrawal",
    [
        "Forget about the zorbel.",
        "Scrap the zorbel, please.",
        "We cancelled the zorbel.",
        "The zorbel is off.",
        "I no longer have a zorbel.",
        "Scratch that.",
    ],
)
def test_a_withdrawal_takes_the_line_out(withdrawal: str) -> None:
    assert block("I use a plimt of 3 drels.", "My zorbel is blick.", withdrawal) == ["I use a plimt of 3 drels."]


def test_no_longer() -> None:
    assert block("I'm a drellist.", "I'm no longer a drellist.") == []


# --- sources, retraction, people's lines ------------------------------------------------------------------------------


def test_retracted_messages_count_for_nothing() -> None:
    stored = (Line("My zorbel is 12.", (1,)), Line("My plimt is red.", (1, 2)), Line("Typed by hand."))
    new = [Said(1, "user", "", retracted=True), Said(5, "user", "My drel is 9.", retracted=True)]
    assert consolidate(stored, new, limit=LIMIT) == (Line("My plimt is red.", (2,)), Line("Typed by hand."))


def test_an_updated_line_goes_with_the_message_that_updated_it() -> None:
    stored = consolidate((), said("My zorbel is 12.", "Make it 14."), limit=LIMIT)
    assert [line.text for line in stored] == ["My zorbel is 14."]
    assert consolidate(stored, [Said(2, "user", "", retracted=True)], limit=LIMIT) == ()


def test_peoples_lines_stay_until_something_says_otherwise() -> None:
    typed = (Line("The drel opens at nine."), Line("My zorbel is 12."))
    kept = consolidate(typed, said("Thanks!", "My plimt is red."), limit=LIMIT)
    assert kept[:2] == typed
    assert consolidate(typed, said("My zorbel is now 14."), limit=LIMIT) == (
        typed[0],
        Line("My zorbel is now 14.", (1,)),
    )


# --- the limit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 10, 40, 100, 300, 1000])
def test_the_limit_holds_and_lines_stay_whole(limit: int) -> None:
    made = conversation(3, TUNED, facts=30)
    everything = {line.text for line in consolidate((), messages(3, facts=30), limit=100_000)}
    lines = consolidate((), messages(3, facts=30), limit=limit)
    assert made.facts
    assert len("\n".join(line.text for line in lines)) <= limit
    assert {line.text for line in lines} <= everything or len(lines) == 1


def test_one_line_that_is_too_long_is_cut_between_words() -> None:
    (line,) = consolidate((Line("My zorbel is a very long drel indeed."),), (), limit=20)
    assert line.text == "My zorbel is a very…"


def test_peoples_lines_and_salient_ones_stay_longest() -> None:
    stored = (Line("zu"), Line("The air is mild.", (1,)), Line("My zorbel is 12 on Friday.", (2,)))
    assert [line.text for line in consolidate(stored, (), limit=35)] == ["zu", "My zorbel is 12 on Friday."]


def messages(seed: int, *, facts: int = 12) -> list[Said]:
    return [
        Said(i + 1, message.role, message.text)
        for i, message in enumerate(conversation(seed, TUNED, facts=facts).messages)
    ]


# --- determinism and cost ---------------------------------------------------------------------------------------------


def test_the_same_input_gives_the_same_lines() -> None:
    assert consolidate((), messages(1), limit=800) == consolidate((), messages(1), limit=800)


def test_a_second_pass_over_nothing_changes_nothing() -> None:
    lines = consolidate((), messages(2), limit=LIMIT)
    assert consolidate(lines, (), limit=LIMIT) == lines


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrases", "fresh", "stale", "left"),
    [(TUNED, 0.95, 0.06, 0.06), (REVIEWED, 0.85, 0.2, 0.25), (HELD_OUT, 0.52, 0.6, 0.62)],
    ids=["tuned", "reviewed", "held-out"],
)
def test_freshness_on_invented_slots(phrases: object, fresh: float, stale: float, left: float) -> None:
    got = slots(phrases, seeds=20, run=superseding)  # type: ignore[arg-type]
    assert got["fresh"] >= fresh
    assert got["stale"] <= stale
    assert got["left"] <= left
    assert slots(phrases, seeds=20, run=appending)["fresh"] < got["fresh"] - 0.08  # type: ignore[arg-type]


@pytest.mark.parametrize("every", [1, 5, 50])
def test_the_length_of_a_pass_does_not_matter_much(every: int) -> None:
    assert slots(TUNED, seeds=8, run=superseding, every=every)["fresh"] >= 0.95


def test_nothing_is_lost_without_updates() -> None:
    for seed in range(10):
        made = conversation(seed, TUNED, updates=0.0, withdrawals=0.0)
        stretch = [Said(i + 1, message.role, message.text) for i, message in enumerate(made.messages)]
        text = "\n".join(line.text for line in passes(stretch, every=10, limit=LIMIT, run=superseding)).lower()
        lost = [fact for fact in made.facts if fact.value is not None and fact.value.lower() not in text]
        assert len(lost) <= 1


def sample(name: str) -> Path:
    directory = data_directory()
    if directory is None or not (directory / name).exists():
        pytest.skip(f"no {name}: set ORCHESTRA_DATA to the directory with the sample data")
    return directory / name


def test_worlds_of_contradicted_facts() -> None:
    path = sample("letta_worlds_dev.jsonl")
    new, old = worlds(path, limit=LIMIT, run=superseding), worlds(path, limit=LIMIT, run=appending)
    assert new.new / new.questions >= 0.72
    assert new.kept / new.untouched >= 0.95
    assert old.new / old.questions <= 0.05


def test_evidence_in_dialogues() -> None:
    recall, questions, malformed, _ = dialogues(sample("locomo_dev.json"), every=5, limit=LIMIT, run=superseding)
    assert questions > 1000
    assert malformed > 0
    assert recall >= 0.25
