"""The gold of generated dialogues agrees with what is said in them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestra.core.errors import InputError
from orchestra.experiments.workloads import Dialogue, Question, Recipe, generate, rendered, terms

RECIPES = st.builds(
    Recipe,
    turns=st.integers(10, 160),
    filler=st.sampled_from((0.0, 0.2, 0.4, 0.7)),
    updates=st.sampled_from((0.0, 0.1, 0.2, 0.3)),
    retractions=st.sampled_from((0.0, 0.2, 1.0)),
    paraphrases=st.sampled_from((0.0, 0.5, 1.0)),
    derived=st.integers(0, 4),
    people=st.integers(0, 4),
    writers=st.integers(1, 4),
    burst=st.integers(1, 10),
)
SEEDS = st.integers(0, 10_000)
FEW = settings(max_examples=60, deadline=None)


def by_slot(dialogue: Dialogue) -> list[list[Question]]:
    slots = defaultdict(list)
    for question in dialogue.questions:
        if question.kind != "derived":
            slots[question.id.rpartition(" #")[0]].append(question)
    return list(slots.values())


@FEW
@given(RECIPES, SEEDS)
def test_the_evidence_states_the_answer_at_its_turn(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    for question in dialogue.questions:
        (first, *_) = evidence = [dialogue.utterances[seq - 1] for seq in question.evidence]
        assert max(one.turn for one in evidence) == question.since
        assert all(one.role == "user" for one in evidence)
        if question.kind in ("first", "update"):
            assert terms(question.answer) <= terms(first.text)


@FEW
@given(RECIPES, SEEDS)
def test_the_values_of_a_slot_follow_each_other_without_gap_or_overlap(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    for slot in by_slot(dialogue):
        assert slot[0].kind == "first"
        assert slot[-1].until is None
        for before, after in pairwise(slot):
            assert before.until == after.since > before.since
            assert before.kind != "retraction"
        answers = [question.answer for question in slot if question.is_fact]
        assert len(set(answers)) == len(answers)


@FEW
@given(RECIPES, SEEDS)
def test_a_superseded_value_is_known_as_such(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    for slot in by_slot(dialogue):
        for before, after in pairwise(slot):
            line = terms(before.line)
            assert all(mark.stands_in(line) for mark in before.now)
            assert any(mark.stands_in(line) for mark in after.before)
            assert not any(mark.stands_in(line) for mark in after.now)


@FEW
@given(RECIPES, SEEDS)
def test_only_its_own_line_states_a_fact(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    facts = [question for question in dialogue.questions if question.now]
    for question in facts:
        stating = [other.id for other in facts if question.now[0].stands_in(terms(other.line))]
        assert stating == [question.id]


@FEW
@given(RECIPES, SEEDS)
def test_derived_quantities_are_the_sum_of_numbers_that_hold_together(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    for question in dialogue.questions:
        if question.kind == "derived":
            parts = [
                one for one in dialogue.questions if one.kind != "derived" and one.evidence[0] in question.evidence
            ]
            assert len(parts) == 2
            assert all(one.true_at(dialogue.turns) for one in parts)
            assert int(question.answer) == sum(int(one.answer) for one in parts)


@FEW
@given(RECIPES, SEEDS)
def test_the_same_seed_gives_the_same_dialogue(recipe: Recipe, seed: int) -> None:
    assert generate(recipe, seed) == generate(recipe, seed)
    assert generate(recipe, seed) != generate(recipe, seed + 1)


@FEW
@given(RECIPES, SEEDS)
def test_time_goes_on(recipe: Recipe, seed: int) -> None:
    dialogue = generate(recipe, seed)
    assert [one.seq for one in dialogue.utterances] == list(range(1, len(dialogue.utterances) + 1))
    assert all(a.at <= b.at for a, b in pairwise(dialogue.utterances))


def test_the_shares_are_those_of_the_recipe() -> None:
    dialogue = generate(Recipe(), 1)
    kinds = [question.kind for question in dialogue.questions]
    assert dialogue.turns == 120
    assert kinds.count("first") == 48
    assert kinds.count("update") + kinds.count("retraction") == 24
    stating = {question.since for question in dialogue.questions if question.kind != "derived"}
    assert len(stating) == 72


def test_writers_all_speak() -> None:
    assert {one.writer for one in generate(Recipe(writers=3), 1).utterances} == {"writer-1", "writer-2", "writer-3"}


def test_bursts_leave_quiet_stretches() -> None:
    def longest_quiet(burst: int) -> int:
        dialogue = generate(Recipe(burst=burst, filler=0.6), 1)
        stating = sorted({question.since for question in dialogue.questions})
        return max(b - a for a, b in pairwise(stating))

    assert longest_quiet(15) >= 15 > longest_quiet(1)


def test_more_statements_than_slots_are_refused() -> None:
    with pytest.raises(InputError, match="first statements"):
        generate(Recipe(turns=900, filler=0.0, updates=0.0), 1)


def test_the_shipped_text_is_what_the_generator_makes() -> None:
    shipped = Path(__file__).parents[4] / "configs" / "experiments" / "generated-seed-1.txt"
    assert shipped.read_text(encoding="utf-8") == rendered(generate(Recipe(), 1))
