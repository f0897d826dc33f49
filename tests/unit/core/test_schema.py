"""The JSON Schemas for editors: current, and of one mind with the loader."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from orchestra.core.errors import ConfigError
from orchestra.core.interpolation import interpolate
from orchestra.core.schema import SCHEMAS, SchemaName, json_schema
from orchestra.core.validation import validated
from orchestra.core.yamltext import parse, split_front_matter

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "orchestra/cli/template"
SHIPPED: list[tuple[SchemaName, Path]] = [
    *(("agent", path) for path in [*ROOT.glob("agents/*.md"), *ROOT.glob("configs/scenarios/*/*.md")]),
    *(("agent", path) for path in TEMPLATE.glob("agents/*.md")),
    *(("cluster", path) for path in [*ROOT.glob("configs/clusters/*.yaml"), TEMPLATE / "configs/cluster.yaml"]),
    *(("scenario", path) for path in [ROOT / "configs/quickstart.yaml", *ROOT.glob("configs/scenarios/*.yaml")]),
    ("scenario", TEMPLATE / "configs/scenario.yaml"),
]  # fmt: skip


def valid(name: SchemaName, data: object) -> bool:
    return jsonschema.Draft202012Validator(json_schema(name)).is_valid(data)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema_and_the_one_checked_in_is_current(name: SchemaName) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema(name))
    there = json.loads((ROOT / f"configs/schema/{name}.schema.json").read_text(encoding="utf-8"))
    assert there == json_schema(name), "run python -m orchestra.cli.schema"


@pytest.mark.parametrize(("name", "path"), SHIPPED, ids=lambda value: value if isinstance(value, str) else value.name)
def test_what_is_shipped_validates(name: SchemaName, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    data = yaml.safe_load(split_front_matter(text)[0] if path.suffix == ".md" else text)
    jsonschema.Draft202012Validator(json_schema(name)).validate(data)


GOOD: list[tuple[SchemaName, str]] = [
    ("agent", "{name: a, sleeptime: {every: 'off'}}"),
    ("agent", "{name: a, sleeptime: {every: off, timeout: 5m}}"),
    ("agent", "{name: a, context_tokens: '${N:-3}', memory_tools: '${M:-true}', model: [auto, extractive]}"),
    ("agent", "{name: a, blocks: [{label: b, scope: '${S:-user}', metadata: {a: [1, null]}}], tools: ['a:b']}"),
    ("cluster", "{}"),
    ("cluster", "{namespace: x, redis: {url: 'redis://h:1'}, code: [a], hosts: {primary: 2}}"),
    ("scenario", "{agents: [a], run: a, turns: t.jsonl, cluster: c.yaml}"),
    ("scenario", "{agents: [a], run: a, turns: [x, {content: y, role: user, at: '1'}], cluster: {namespace: x}}"),
    ("scenario", "{agents: [a], run: a, turns: [x], invocation_state: {a: 1}, limits: {seconds: 3}, expect: {}}"),
    ("scenario", "{agents: [a], run: g, turns: [x], graph: {nodes: {a: b, c: {run: d, join: any}}, edges: [[a, c]]}}"),
    ("scenario", "{agents: [a], run: s, turns: [x], swarm: [{name: s, agents: [a, b]}], expect: {outputs: [x, null]}}"),
]  # fmt: skip
BAD: list[tuple[SchemaName, str]] = [
    ("agent", "{}"),
    ("agent", "{name: a, zzz: 1}"),
    ("agent", "{name: a, sleeptime: {every: 0}}"),
    ("agent", "{name: a, sleeptime: {timeout: soon}}"),
    ("agent", "{name: a, blocks: [{label: b, scope: usr}]}"),
    ("agent", "{name: a, context_tokens: many}"),
    ("cluster", "{hosts: {primry: 2}}"),
    ("cluster", "{redis: {durability: never}}"),
    ("scenario", "{agents: [], run: a, turns: [x]}"),
    ("scenario", "{agents: [a], run: a, turns: [{role: assistant, content: x}]}"),
    ("scenario", "{agents: [a], run: a}"),
    ("scenario", "{agents: [a], run: a, turns: [x], swarm: {agents: []}}"),
    ("scenario", "{agents: [a], run: a, turns: [x], graph: {nodes: {a: {run: b, joni: any}}}}"),
    ("scenario", "{agents: [a], run: a, turns: [x], graph: {nodes: {a: b}, edges: [[a, b, c]]}}"),
]


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_what_the_loader_takes_the_schema_takes(name: SchemaName, text: str) -> None:
    validated(SCHEMAS[name], parse(text))
    assert valid(name, yaml.safe_load(text))


@pytest.mark.parametrize(("name", "text"), BAD)
def test_what_the_loader_refuses_the_schema_refuses(name: SchemaName, text: str) -> None:
    with pytest.raises(ConfigError):
        validated(SCHEMAS[name], parse(text))
    assert not valid(name, yaml.safe_load(text))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_is_described(name: SchemaName) -> None:
    schema = json_schema(name)
    for part in [schema, *schema["$defs"].values()]:  # type: ignore[union-attr]
        for key, value in part.get("properties", {}).items():  # type: ignore[union-attr]
            assert value.get("description"), key
            assert interpolate(value["description"], {}).problems == ()
