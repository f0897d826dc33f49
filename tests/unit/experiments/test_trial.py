"""What trials find out, against what must come out: the perfect memory, the empty one, the late one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestra.core.jsontext import dumps, loads
from orchestra.experiments.arms import Arm, ArmKind, Memory
from orchestra.experiments.experiment import ConsolidatorName, Prices
from orchestra.experiments.intervals import Resamples, estimate
from orchestra.experiments.measures import Value, row
from orchestra.experiments.trial import Options, play
from orchestra.experiments.trial_record import TrialRecord
from orchestra.experiments.workloads import Dialogue, Observation, Recipe, generate
from orchestra.sleeptime.triggers import Adaptive, EveryTurns, Never, Trigger, WhenIdle

LAGS = (0, 1, 3, 10, 30)
OPTIONS = Options(LAGS, 5, "extractive", "none")
SEEDS = (1, 2, 3, 4, 5)
DIALOGUES = [generate(Recipe(), seed) for seed in SEEDS]


def arm(
    trigger: Trigger, consolidator: ConsolidatorName = "extractive", *, memory: Memory = "block", limit: int = 20_000
) -> Arm:
    kind: ArmKind = "fixed" if memory == "block" else "baseline"
    return Arm(trigger.label, kind, trigger, memory, consolidator, limit, 4)


def played(dialogue: Dialogue, of: Arm) -> tuple[TrialRecord, dict[str, Value]]:
    record = play(dialogue, of, OPTIONS)
    return record, row(record, lags=LAGS, k=5, prices=Prices())


@pytest.mark.parametrize("dialogue", DIALOGUES)
def test_a_perfect_memory_after_every_turn_is_always_fresh(dialogue: Dialogue) -> None:
    _, found = played(dialogue, arm(EveryTurns(1), "gold"))
    assert found["freshness"] == 1.0
    assert [found[f"recall_lag_{lag}"] for lag in LAGS] == [1.0] * 5
    assert (found["staleness_mean"], found["never_share"]) == (0.0, 0.0)
    assert (found["new_end"], found["old_end"], found["retracted_left_end"]) == (1.0, 0.0, 0.0)
    assert found["coverage_end"] is not None


@pytest.mark.parametrize("dialogue", DIALOGUES)
def test_an_empty_memory_is_never_fresh(dialogue: Dialogue) -> None:
    _, found = played(dialogue, arm(Never()))
    assert (found["freshness"], found["recall_end"], found["coverage_end"]) == (0.0, 0.0, 0.0)
    assert (found["staleness_mean"], found["never_share"]) == (None, 1.0)
    assert (found["passes"], found["tokens_sleep_in"]) == (0, 0)


@pytest.mark.parametrize("every", [1, 2, 3, 5, 8, 13, 25])
def test_a_perfect_memory_is_late_by_half_of_the_turns_between_passes(every: int) -> None:
    # Many dialogues without updates: nothing is superseded before its pass, so no delay is cut off.
    recipe = Recipe(turns=150, updates=0.0)
    records = [play(generate(recipe, seed), arm(EveryTurns(every), "gold"), OPTIONS) for seed in SEEDS]
    found = estimate(Resamples(records, 1000).staleness(records))
    assert found is not None
    assert found.low <= (every - 1) / 2 <= found.high
    assert found.high - found.low <= max(1e-9, 0.25 * every)


def test_facts_that_never_came_are_apart_from_the_mean() -> None:
    dialogue = generate(Recipe(turns=120), 1)
    record, found = played(dialogue, arm(EveryTurns(50), "gold"))
    never = [trace.id for trace in record.traces if trace.kind != "retraction" and not any(p.new for p in trace.points)]
    last = [one.id for one in dialogue.questions if one.is_fact and one.since > 100]
    assert set(last) <= set(never)
    assert found["never_share"] == pytest.approx(len(never) / int(str(found["questions"])))
    assert float(str(found["staleness_mean"])) <= 49


def test_a_last_flush_brings_what_no_pass_has_read() -> None:
    _, found = played(DIALOGUES[0], arm(EveryTurns(50), "gold"))
    assert float(str(found["recall_end"])) < 1.0 == found["recall_end_flushed"]
    assert found["passes"] == 2


def test_rarer_is_cheaper_and_staler() -> None:
    rows = [played(DIALOGUES[0], arm(EveryTurns(every)))[1] for every in (1, 3, 8, 25)]
    fresh = [float(str(one["freshness"])) for one in rows]
    tokens = [int(str(one["tokens_sleep_in"])) for one in rows]
    assert fresh == sorted(fresh, reverse=True)
    assert tokens == sorted(tokens, reverse=True)
    assert fresh[0] > 0.9
    assert tokens[0] > 5 * tokens[-1]


def test_superseding_ends_above_appending() -> None:
    new, old = (played(DIALOGUES[0], arm(EveryTurns(5), name))[1] for name in ("extractive", "append-only"))
    assert float(str(new["new_end"])) > float(str(old["new_end"])) + 0.4
    assert float(str(old["both_end"])) > 0.5
    assert float(str(old["recall_end"])) > 0.9  # it is all there, beside what is not true any more


def test_a_small_block_decides_what_is_there_at_the_end() -> None:
    often, seldom = (played(DIALOGUES[0], arm(EveryTurns(n), "gold", limit=300))[1] for n in (1, 8))
    assert float(str(often["recall_end"])) < 0.4
    assert abs(float(str(often["recall_end"])) - float(str(seldom["recall_end"]))) < 0.1
    assert int(str(often["block_chars"])) <= 300


def test_the_window_counts_for_the_context_only() -> None:
    _, found = played(DIALOGUES[0], arm(EveryTurns(25)))
    assert found["context_recall_lag_0"] == found["context_recall_lag_3"] == 1.0
    assert float(str(found["recall_lag_3"])) < 0.3
    none = play(DIALOGUES[0], replace(arm(Never()), window=0), OPTIONS)
    assert all(value in (None, 0.0) for trace in none.traces for value in trace.context)


def test_full_context_and_search() -> None:
    full, search = (played(DIALOGUES[0], arm(Never(), memory=memory))[1] for memory in ("full", "search"))
    assert full["freshness"] == 1.0
    assert int(str(full["tokens_primary_in"])) > 5 * int(str(search["tokens_primary_in"]))
    assert 0.9 < float(str(search["freshness"])) <= 1.0
    assert int(str(search["tokens_search"])) > 0
    assert (search["k"], search["units"]) == (5, 240)


def test_replay_adds_the_notes_of_the_data_when_their_messages_are_read() -> None:
    notes = tuple(Observation(one.line, one.evidence) for one in DIALOGUES[0].questions if one.kind == "first")
    dialogue = replace(DIALOGUES[0], observations=notes)
    record, found = played(dialogue, arm(EveryTurns(5), "replay"))
    firsts = [trace for trace in record.traces if trace.kind == "first"]
    assert all(trace.at(min(trace.since + 4, 120)).recall == 1.0 for trace in firsts if trace.true_at(trace.since + 4))
    assert found["new_end"] == 0.0  # none of the notes is about an update


def test_triggers_by_pauses_and_by_what_passes_find() -> None:
    pauses = sum(
        later[0].at - turn[-1].at >= 3600
        for turn, later in zip(DIALOGUES[0].by_turn(), DIALOGUES[0].by_turn()[1:], strict=False)
    )
    record, _ = played(DIALOGUES[0], arm(WhenIdle(3600)))
    assert record.cost.passes == pauses + 1  # and after the last turn
    quiet = play(generate(Recipe(filler=0.95, updates=0.0), 1), arm(Adaptive(1, 25)), OPTIONS)
    busy = play(generate(Recipe(filler=0.05, updates=0.3), 1), arm(Adaptive(1, 25)), OPTIONS)
    assert quiet.cost.passes < busy.cost.passes < 120


def test_the_same_trial_gives_the_same_record_and_survives_json() -> None:
    one, two = (play(DIALOGUES[1], arm(EveryTurns(3)), OPTIONS) for _ in range(2))
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)
    assert TrialRecord.from_json(loads(dumps(one.to_json()))) == one


def test_a_reader_answers_from_memory_alone() -> None:
    asked = replace(OPTIONS, reader="extractive")
    full, empty = (play(DIALOGUES[0], of, asked) for of in (arm(EveryTurns(1), "gold"), arm(Never())))
    assert sum(f1 for f1, _ in full.answers.values()) > 5 * sum(f1 for f1, _ in empty.answers.values())
