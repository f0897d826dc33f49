"""The pages docs/configuration.md and docs/scenarios.md: their examples load, and their tables name every key."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from orchestra.core import conversation
from orchestra.core.agent import Agent, Budget, Limits, Sleeptime
from orchestra.core.blocks import Block
from orchestra.core.cluster import ClusterConfig, HostsConfig, RayConfig, RedisConfig, SnapshotsConfig
from orchestra.core.errors import ConfigErrors
from orchestra.core.graph import Edge, Graph, Node
from orchestra.core.scenario import Expectation, Scenario
from orchestra.core.swarm import Swarm
from orchestra.patterns.drawing import terminal
from orchestra.runtime.agent_file import load_agent, load_agents
from orchestra.runtime.cluster_file import load_cluster
from orchestra.runtime.environment import CLUSTER_VARIABLES, MODEL_VARIABLE
from orchestra.runtime.scenario_file import load_scenario

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("configuration.md", "scenarios.md"))
NAMED = re.compile(r"^```\w+\n# (\S+/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODELS = [
    Agent, Block, Budget, ClusterConfig, Expectation, HostsConfig, Limits, RayConfig, RedisConfig, Scenario, Sleeptime,
    SnapshotsConfig, Edge, Graph, Node, Swarm,
    *(m for m in vars(conversation).values() if isinstance(m, type) and m.__module__ == conversation.__name__),
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in a directory of their own."""
    monkeypatch.chdir(tmp_path)
    for name, text in NAMED.findall(PAGE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_examples_are_a_project_that_loads(project: Path) -> None:
    assert [agent.name for agent in load_agents("agents", environment={})] == ["desk", "travel"]
    assert load_cluster("configs/cluster.yaml", environment={}).code == (project / "tools",)
    for name in ("trip", "desk", "letter", "hotline"):
        assert load_scenario(f"configs/{name}.yaml", environment={}).warnings == ()


def test_the_overrides_of_the_page_work(project: Path) -> None:
    [command] = re.findall(r"^orchestra run (\S+) (.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    loaded = load_scenario(command[0], overrides=re.findall(r"--set (\S+)", command[1]), environment={})
    assert loaded.scenario.session == "ana-2"
    assert loaded.cluster.hosts.primary == 2
    assert loaded.agents[0].sleeptime is not None
    assert (loaded.agents[0].sleeptime.every, loaded.agents[0].blocks[1].limit) == (2, 3000)


def test_the_messages_of_the_page_are_the_real_ones(project: Path) -> None:
    [shown] = re.findall(r"```text\n(agents/.*?)```", PAGE, re.DOTALL)
    front = "---\nname: travel\ndescription: x\nmodel: auto\n\nblocks:\n  - {label: a, limt: 3}\n---\n"
    (project / "agents/travel.md").write_text(front)
    with pytest.raises(ValueError) as caught:
        load_agent("agents/travel.md", environment={})
    (project / "agents/travel.md").write_text("---\nname: travel\n---\n")
    (project / "configs/trip.yaml").write_text(
        "cluster: cluster.yaml\n\nagents: [../agents/travel.md]\nrun: travle\nturns: [x]\n"
    )
    with pytest.raises(ValueError) as also:
        load_scenario("configs/trip.yaml", environment={})
    assert not isinstance(also.value, ConfigErrors)
    assert f"{caught.value}\n{also.value}\n" == shown


def test_the_graph_of_the_page_is_the_one_that_it_shows_in_python_and_as_a_drawing(project: Path) -> None:
    loaded = load_scenario("configs/letter.yaml", environment={})
    [code] = re.findall(r"```text\n(Graph\(.*?)```", PAGE, re.DOTALL)
    names = {"Graph": Graph, "Node": Node, "Edge": Edge, **{agent.name: agent for agent in loaded.agents}}
    shown = eval(code, names | {"send": "tools/mail.py:send"})
    sends = Node(function=f"{project / 'tools/mail.py'}:send", needs_approval=True)
    assert shown.model_copy(update={"nodes": {**shown.nodes, "send": sends}}) == loaded.runnable
    [drawing] = re.findall(r"```text\n(letter\n.*?)```", PAGE, re.DOTALL)
    assert isinstance(loaded.runnable, Graph)
    assert terminal(loaded.runnable) == drawing


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_on_the_page(model: type[BaseModel]) -> None:
    for name in (field.alias or name for name, field in model.model_fields.items()):
        assert re.search(rf"`(\w+\.)?{name}(\.\w+)?`", PAGE), name


def test_every_variable_is_on_the_page() -> None:
    for name in (*CLUSTER_VARIABLES, MODEL_VARIABLE):
        assert f"`{name}`" in PAGE
