"""The conversations of an experiment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestra.core.errors import InputError
from orchestra.experiments.conversations import defects, dialogues
from orchestra.experiments.experiment import Experiment


def world(**more: object) -> str:
    facts = {"facts": ["Ada Lind plays the oud."], "contradicting_facts": ["Ada Lind plays the harp."]}
    asked = {"question": ["What?"], "answer": ["oud"], "contradicting_answers": ["harp"]}
    return json.dumps({**facts, **asked, "supporting_fact_indices": [[0]], **more})


def test_generated_ones_are_one_for_each_seed() -> None:
    experiment = Experiment.model_validate({"workloads": [{"turns": 12}, {"name": "b", "turns": 14}], "seeds": [3, 9]})
    found = [(one.workload, one.case, one.turns) for one in dialogues(experiment)]
    assert found == [("generator", "seed 3", 12), ("generator", "seed 9", 12), ("b", "seed 3", 14), ("b", "seed 9", 14)]


def test_a_data_set_is_played_once_and_its_first_cases_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text("\n".join([world(), world(contradicting_answers=["lute"]), world()]), encoding="utf-8")
    workload = {"dataset": "letta_worlds", "path": str(path), "name": "w"}
    found = dialogues(Experiment.model_validate({"workloads": [workload]}))
    assert [one.case for one in found] == ["world 1", "world 2", "world 3"]
    assert defects(found) == {"w": {"contradictions that are not clean, left out": 1}}
    (first,) = dialogues(Experiment.model_validate({"workloads": [{**workload, "cases": 1}]}))
    assert first == found[0]


def test_conversations_of_one_name_are_told_apart(tmp_path: Path) -> None:
    lines = [{"speaker": "Ada", "dia_id": f"D1:{i}", "text": "I have a cat."} for i in (1, 2)]
    asked = [{"question": "Pet?", "answer": "a cat", "evidence": ["D1:2"], "category": 1}]
    sample = {"sample_id": "c", "conversation": {"session_1": lines}, "qa": asked}
    path = tmp_path / "l.json"
    path.write_text(json.dumps([sample, {**sample, "sample_id": "d"}, sample]), encoding="utf-8")
    found = dialogues(Experiment.model_validate({"workloads": [{"dataset": "locomo", "path": str(path)}]}))
    assert [one.case for one in found] == ["c (1)", "d", "c (3)"]


def test_what_cannot_be_asked_for_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"role": "assistant", "content": "Hi."}', encoding="utf-8")
    with pytest.raises(InputError, match="nothing in the workload 'transcript' can be asked for"):
        dialogues(Experiment.model_validate({"workloads": [{"dataset": "transcript", "path": str(path)}]}))
