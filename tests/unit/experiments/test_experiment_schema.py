"""The JSON Schema of experiment files: current, and of one mind with the loader."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from orchestra.core.errors import ConfigError
from orchestra.core.schema import schema_of
from orchestra.experiments.experiment import Experiment
from orchestra.experiments.experiment_file import load_experiment

ROOT = Path(__file__).parents[3]
SCHEMA = schema_of(Experiment, "experiment")
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema_and_the_one_checked_in_is_current() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    there = json.loads((ROOT / "configs/schema/experiment.schema.json").read_text(encoding="utf-8"))
    assert there == SCHEMA, "run python -m orchestra.cli.schema"


@pytest.mark.parametrize("path", sorted((ROOT / "configs/experiments").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_shipped_validates(path: Path) -> None:
    VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("{}", True),
        ("triggers: [adaptive, compaction, {idle: 10m}, {tokens: 9}, {adaptive: {min: 2}}]", True),
        ("{every: [1, off, '${N:-3}'], seeds: [4], workers: '${W:-2}'}", True),
        ("workloads: [{name: a, filler: 0.5, burst: 4}, {name: b}]", True),
        ("{shared_writers: {writers: [1, 64], every: off}, prices: {primary: {input: 3}}}", True),
        ("triggers: [sometimes]", False),
        ("triggers: [{idle: soon}]", False),
        ("every: [0]", False),
        ("workloads: [{dataset: lokomo}]", False),
        ("workloads: [{filler: 1.5}]", False),
        ("worht: 3", False),
        ("shared_writers: {writers: [65]}", False),
        ("runner: cloud", False),
    ],
)
def test_it_is_of_one_mind_with_the_loader(text: str, good: bool, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(text, encoding="utf-8")
    assert VALIDATOR.is_valid(yaml.safe_load(text)) == good
    if good:
        load_experiment(path)
    else:
        with pytest.raises(ConfigError):
            load_experiment(path)


def test_every_key_is_described() -> None:
    definitions = SCHEMA["$defs"]
    assert isinstance(definitions, dict)
    for name, model in {"Experiment": SCHEMA, **definitions}.items():
        assert isinstance(model, dict)
        for key, value in dict(model.get("properties", {})).items():  # type: ignore[call-overload]
            assert value.get("description"), f"{name}.{key} has no description"
