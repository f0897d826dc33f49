"""Cluster files, the environment over them, and the command line over both."""

from pathlib import Path

import pytest

from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ConfigError
from orchestra.runtime.cluster_file import load_cluster

NOTHING: dict[str, str] = {}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_code_is_relative_to_the_file_and_data_to_the_current_directory(here: Path) -> None:
    (here / "configs/tools").mkdir(parents=True)
    path = write(here / "configs/c.yaml", "namespace: demo\ncode: [tools/]\ndata_dir: data\n")
    config = load_cluster(path, environment=NOTHING)
    assert (config.namespace, config.code, config.data_dir) == ("demo", (here / "configs/tools",), here / "data")


def test_without_a_file_it_is_this_machine(here: Path) -> None:
    config = load_cluster(environment=NOTHING)
    assert config == ClusterConfig(data_dir=here / ".orchestra")


def test_a_mapping_and_a_model(here: Path) -> None:
    assert (
        load_cluster({"namespace": "x"}, environment={"ORCHESTRA_REDIS_URL": "redis://h:1"}).redis.url == "redis://h:1"
    )
    model = ClusterConfig(namespace="x")
    assert load_cluster(model, environment={"ORCHESTRA_NAMESPACE": "y"}) is model
    assert load_cluster(model, overrides=["namespace=z"], environment=NOTHING).namespace == "z"
    with pytest.raises(ConfigError, match="namespce: there is no key 'namespce'"):
        load_cluster({"namespce": "x"}, environment=NOTHING)


def test_command_line_over_environment_over_file(here: Path) -> None:
    path = write(
        here / "c.yaml", "namespace: file\nredis: {url: 'redis://file:1', durability: everysec}\nray: {address: auto}\n"
    )
    environment = {"ORCHESTRA_NAMESPACE": "env", "ORCHESTRA_REDIS_URL": "redis://env:1", "ORCHESTRA_RAY_ADDRESS": ""}
    config = load_cluster(path, overrides=["namespace=set", "hosts.primary=3"], environment=environment)
    assert config.namespace == "set"
    assert config.redis.url == "redis://env:1"
    assert config.redis.durability == "everysec"
    assert config.ray.address == "auto"
    assert config.hosts.primary == 3


def test_the_environment_of_the_process_is_the_default(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRA_NAMESPACE", "env")
    monkeypatch.setenv("WHERE", "redis://h:1")
    config = load_cluster(write(here / "c.yaml", "redis: {url: '${WHERE}'}"))
    assert (config.namespace, config.redis.url) == ("env", "redis://h:1")


FAULTS = [
    ("namespace: Demo", [], NOTHING, "c.yaml", 1, "namespace", "lower-case letters"),
    ("a: 1", [], NOTHING, "c.yaml", 1, "a", "there is no key 'a'"),
    ("code: [gone/]", [], NOTHING, "c.yaml", 1, "code[0]", "configs/gone: there is no such file or folder"),
    ("[a]", [], NOTHING, "c.yaml", 1, None, "not a list"),
    ("redis: x", [], {"ORCHESTRA_REDIS_URL": "redis://h:1"}, "c.yaml", 1, "redis", "must be a mapping"),
    ("", ["namespace=x"], NOTHING, "c.yaml", 1, None, "there is nothing in it"),
    ("namespace: a", [], {"ORCHESTRA_NAMESPACE": "B"}, None, None, "ORCHESTRA_NAMESPACE", "lower-case letters"),
    ("namespace: a", [], {"ORCHESTRA_REDIS_URL": "x"}, None, None, "ORCHESTRA_REDIS_URL", "use embedded, redis://"),
    ("namespace: a", ["namespace=B"], NOTHING, None, None, "--set namespace", "lower-case letters"),
    ("namespace: a", ["namspace=b"], NOTHING, None, None, "--set namspace", "there is no key 'namspace'"),
    ("namespace: a", ["hosts.primry=b"], NOTHING, None, None, "--set hosts.primry", "there is no key 'primry'"),
    ("namespace: a", ["hosts.primary=b"], NOTHING, None, None, "--set hosts.primary", "must be a whole number"),
    ("namespace: a", ["hosts={primry: 1}"], NOTHING, None, None, "--set hosts.primry", "there is no key 'primry'"),
    ("namespace: a", ["namespace.x=1"], NOTHING, None, None, "--set namespace.x", "has no keys"),
    ("namespace: a", ["code[3]=x"], NOTHING, None, None, "--set code[3]", "there is no entry [3]"),
    ("namespace: a", ["code=[gone]"], NOTHING, None, None, "--set code[0]", "gone: there is no such file"),
    ("namespace: a", ["namespace"], NOTHING, None, None, "--set namespace", "is not key=value"),
    ("namespace: a", ["=x"], NOTHING, None, None, "--set =x", "is not key=value"),
    ("namespace: a", ["namespace=[x"], NOTHING, None, None, "--set namespace", "not closed"),
    ("namespace: a", ["namespace="], NOTHING, None, None, "--set namespace", "has no value"),
]


@pytest.mark.parametrize(("text", "overrides", "environment", "file", "line", "field", "problem"), FAULTS)
def test_each_fault_names_what_set_the_value(
    here: Path,
    text: str,
    overrides: list[str],
    environment: dict[str, str],
    file: str | None,
    line: int | None,
    field: str | None,
    problem: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_cluster(write(here / "configs/c.yaml", text), overrides=overrides, environment=environment)
    error = caught.value
    assert (error.file, error.line, error.field) == (f"configs/{file}" if file else None, line, field)
    assert problem in error.problem
    assert error.exit_code == 2


def test_an_override_hides_a_fault_of_what_it_replaces(here: Path) -> None:
    path = write(here / "c.yaml", "namespace: ${NOWHERE}\nhosts: {primary: x}\n")
    assert load_cluster(path, overrides=["namespace=a", "hosts.primary=2"], environment=NOTHING).namespace == "a"


def test_a_value_of_the_command_line_is_text_where_text_is_wanted(here: Path) -> None:
    assert load_cluster({}, overrides=["namespace=007"], environment=NOTHING).namespace == "007"
    assert load_cluster({}, overrides=["namespace=12"], environment=NOTHING).namespace == "12"


def test_overridden_code_is_relative_to_the_current_directory(here: Path) -> None:
    (here / "tools").mkdir()
    path = write(here / "configs/c.yaml", "namespace: a")
    assert load_cluster(path, overrides=["code=[tools]"], environment=NOTHING).code == (here / "tools",)
