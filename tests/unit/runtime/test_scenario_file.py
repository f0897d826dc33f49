"""Scenario files with everything that they name."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.runtime.scenario_file import LoadedScenario, load_scenario

ROOT = Path(__file__).parents[3]
AGENT = "---\nname: %s\nblocks:\n  - {label: human, description: The user.}\nsleeptime: {every: 5}\n---\nHelp.\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project: configs/s.yaml is the scenario."""
    monkeypatch.chdir(tmp_path)
    write("agents/travel.md", AGENT % "travel")
    write("agents/dotted.md", AGENT % "team.travel")
    write("configs/clusters/local.yaml", "namespace: file\n")
    write("configs/turns.jsonl", '{"content": "One."}\n{"content": "Two.", "at": "2026-05-01"}\n')
    return tmp_path


def write(name: str, text: str) -> Path:
    path = Path.cwd() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def scenario(
    more: str = "", *, agents: str = "[../agents/travel.md]", run: str = "travel", turns: str = "[One.]"
) -> Path:
    return write("configs/s.yaml", f"agents: {agents}\nrun: {run}\nturns: {turns}\n{more}\n")


def load(path: Path, *overrides: str, cluster: str | None = None, **environment: str) -> LoadedScenario:
    return load_scenario(path, overrides=overrides, cluster=cluster, environment=environment)


def test_files_are_relative_to_the_file_that_names_them(here: Path) -> None:
    loaded = load(scenario("cluster: clusters/local.yaml\nsession: s1\nuser: ana", turns="turns.jsonl"))
    assert loaded.cluster.namespace == "file"
    assert [agent.name for agent in loaded.agents] == ["travel"]
    assert [(turn.content, turn.at) for turn in loaded.turns] == [("One.", None), ("Two.", "2026-05-01")]
    assert (loaded.path, loaded.directory) == (here / "configs/s.yaml", here / "configs")
    assert (loaded.scenario.session, loaded.scenario.user, loaded.scenario.cluster) == ("s1", "ana", loaded.cluster)
    assert loaded.warnings == ()


def test_turns_as_texts_and_as_mappings(here: Path) -> None:
    loaded = load(scenario(turns="[One., 2, {content: Three., at: 2026-05-03}]"))
    assert [(turn.content, turn.at) for turn in loaded.turns] == [("One.", None), ("2", None), ("Three.", "2026-05-03")]


def test_a_cluster_in_the_scenario_and_none_at_all(here: Path) -> None:
    inside = load(scenario("cluster: {namespace: inside, code: [clusters]}"))
    assert (inside.cluster.namespace, inside.cluster.code) == ("inside", (here / "configs/clusters",))
    assert load(scenario()).cluster.namespace == "default"


def test_precedence(here: Path) -> None:
    write("other.yaml", "namespace: other\n")
    path = scenario("cluster: clusters/local.yaml")
    assert load(path).cluster.namespace == "file"
    assert load(path, ORCHESTRA_NAMESPACE="env").cluster.namespace == "env"
    assert load(path, "cluster.namespace=set", ORCHESTRA_NAMESPACE="env").cluster.namespace == "set"
    assert load(path, cluster="other.yaml").cluster.namespace == "other"
    assert load(path, "cluster=other.yaml").cluster.namespace == "other"
    assert load(path, "cluster.namespace=set", cluster="other.yaml").cluster.namespace == "set"
    inside = scenario("cluster: {namespace: inside}")
    assert load(inside, ORCHESTRA_NAMESPACE="env").cluster.namespace == "env"
    assert load(inside, "cluster.namespace=set", ORCHESTRA_NAMESPACE="env").cluster.namespace == "set"
    assert load(scenario(), "cluster.hosts.primary=2").cluster.hosts.primary == 2


def test_a_fault_of_a_cluster_that_another_one_stands_in_for_does_not_count(here: Path) -> None:
    path = scenario("cluster: {namespace: '${NOWHERE}'}")
    assert load(path, cluster="configs/clusters/local.yaml").cluster.namespace == "file"
    with pytest.raises(ConfigError, match=r"configs/s.yaml:4: cluster.namespace: the environment variable NOWHERE"):
        load(path)


def test_overrides_of_the_scenario_and_of_agents(here: Path) -> None:
    path = scenario(agents="[../agents/travel.md, ../agents/dotted.md]")
    loaded = load(
        path,
        "session=s2",
        "run=team.travel",
        "limits.tokens=500",
        "turns=[A., B.]",
        "agents.travel.sleeptime.every=2",
        "agents.travel.blocks.human.limit=99",
        "agents.team.travel.sleeptime.every=off",
    )
    assert (loaded.scenario.session, loaded.scenario.run, len(loaded.turns)) == ("s2", "team.travel", 2)
    assert loaded.scenario.limits is not None
    assert loaded.scenario.limits.tokens == 500
    travel, dotted = loaded.agents
    assert travel.sleeptime is not None
    assert dotted.sleeptime is not None
    assert (travel.sleeptime.every, travel.blocks[0].limit, dotted.sleeptime.every) == (2, 99, None)


def test_files_on_the_command_line_are_relative_to_the_current_directory(here: Path) -> None:
    loaded = load(scenario(), "turns=configs/turns.jsonl", "agents=[agents/dotted.md]", "run=team.travel")
    assert (len(loaded.turns), loaded.agents[0].name) == (2, "team.travel")


def test_the_model_of_the_environment_and_of_the_command_line(here: Path) -> None:
    assert load(scenario(), ORCHESTRA_MODEL="x:y").agents[0].model == "x:y"
    assert load(scenario(), "agents.travel.model=extractive", ORCHESTRA_MODEL="x:y").agents[0].model == "extractive"
    assert load(scenario(), "agents.travel.model=auto", ORCHESTRA_MODEL="x:y").agents[0].model == "auto"


FAULTS = [
    ("run", "run: travle", [], 2, "run", "there is no agent 'travle'", "Did you mean 'travel'?"),
    (
        "agents",
        "agents: [../agents/travle.md]",
        [],
        1,
        "agents[0]",
        "agents/travle.md: there is no such",
        "'travel.md'?",
    ),
    ("agents", "agents: ../agents/travel.md", [], 1, "agents", "must be a list", ""),
    ("agents", "agents: [../agents]", [], None, None, "this is a directory, not an agent file", ""),
    ("turns", "turns: turn.jsonl", [], 3, "turns", "configs/turn.jsonl: there is no such turn file", "'turns.jsonl'?"),
    ("turns", "turns: []", [], 3, "turns", "there are no turns in it", ""),
    ("turns", "turns: [a, '']", [], 3, "turns[1]", "must not be empty", ""),
    ("", "cluster: clusters/lokal.yaml", [], 4, "cluster", "there is no such cluster file", "'local.yaml'?"),
    ("", "cluster: [a]", [], 4, "cluster", "must be a path or a mapping", ""),
    ("", "cluster:", [], 4, "cluster", "has no value", "remove the key"),
    ("", "cluster: {namespce: a}", [], 4, "cluster.namespce", "there is no key", "Did you mean 'namespace'?"),
    ("", "cluster: {redis: {url: x}}", [], 4, "cluster.redis.url", "use embedded", ""),
    ("", "expect: {answers: [a]}", [], 4, "expect.answers", "1 answers for 0 questions", ""),
    ("", "expect: {passes_at: [1, 2]}", [], 4, "expect.passes_at[1]", "there is no turn 2; the last one is 1", ""),
    ("", "expect: {blocks: {humn: [a]}}", [], 4, "expect.blocks.humn", "has no block 'humn'", "'human'?"),
    ("", "swarm: {}", [], 4, "swarm.agents", "is missing", ""),
    ("", "expect: {outputs: [a, b]}", [], 4, "expect.outputs", "there are 2 outputs for 1 turns", "null"),
    ("", "", ["sesion=x"], None, "--set sesion", "there is no key 'sesion'", "Did you mean 'session'?"),
    ("", "", ["cluster.namspace=x"], None, "--set cluster.namspace", "there is no key", "'namespace'?"),
    ("", "", ["run=x"], None, "--set run", "there is no agent 'x'", "There are: travel"),
    ("", "", ["turns=gone.jsonl"], None, "--set turns", "gone.jsonl: there is no such turn file", ""),
    ("", "", ["agents.travle.model=x:y"], None, "--set agents.travle.model", "no agent 'travle'", "'travel'?"),
    ("", "", ["agents.travel=x"], None, "--set agents.travel", "has keys of its own", "agents.NAME.key"),
    ("", "", ["agents.travel.sleeptime.evry=2"], None, "--set agents.travel.sleeptime.evry", "no key", "'every'?"),
    ("", "", ["agents.travel.sleeptime.every=0"], None, "--set agents.travel.sleeptime.every", "or off, not 0", ""),
    (
        "",
        "",
        ["agents.travel.blocks.humn.limit=2"],
        None,
        "--set agents.travel.blocks.humn.limit",
        "'humn'",
        "'human'?",
    ),
    ("", "", ["agents.travel.model=gpt"], None, "--set agents.travel.model", "names no provider", "auto"),
]


@pytest.mark.parametrize(("replaced", "line_text", "overrides", "line", "field", "problem", "hint"), FAULTS)
def test_each_fault(
    here: Path,
    replaced: str,
    line_text: str,
    overrides: list[str],
    line: int | None,
    field: str | None,
    problem: str,
    hint: str,
) -> None:
    lines = {"agents": "agents: [../agents/travel.md]", "run": "run: travel", "turns": "turns: [One.]", "": line_text}
    if replaced:
        lines |= {replaced: line_text, "": ""}
    path = write("configs/s.yaml", "\n".join(lines.values()))
    with pytest.raises(ConfigError) as caught:
        load(path, *overrides)
    error = caught.value
    assert not isinstance(error, ConfigErrors), str(error)
    assert (error.line, error.field) == (line, field)
    assert error.file == ("configs/s.yaml" if line else error.file)
    assert problem in error.problem
    assert hint in error.hint


def test_a_block_for_each_user_needs_a_user(here: Path) -> None:
    write("agents/travel.md", (AGENT % "travel").replace("label: human", "label: human, scope: user"))
    with pytest.raises(
        ConfigError, match=r"configs/s.yaml:1: user: is missing: agent 'travel' has a block for each user"
    ):
        load(scenario())
    assert load(scenario("user: ana")).scenario.user == "ana"


def test_the_faults_of_all_files_are_told_together(here: Path) -> None:
    write("agents/travel.md", "---\nname: travel\nx: 1\n---\n")
    write("configs/clusters/local.yaml", "y: 1\n")
    write("configs/turns.jsonl", "z\n")
    with pytest.raises(ConfigErrors) as caught:
        load(scenario("cluster: clusters/local.yaml", turns="turns.jsonl"))
    found = [(error.file, error.line) for error in caught.value.errors]
    assert found == [("configs/clusters/local.yaml", 1), ("agents/travel.md", 3), ("configs/turns.jsonl", 1)]


def test_warnings(here: Path) -> None:
    write("agents/travel.md", "---\nname: travel\nblocks:\n  - {label: trip}\nconversation: {strategy: full}\n---\n")
    [first, second] = load(scenario()).warnings
    assert first.startswith("agents/travel.md:4: blocks[0]: the block 'trip' has no description")
    assert second.startswith("agents/travel.md:5: conversation.strategy: ")


def test_invocation_state_is_never_in_a_message(here: Path) -> None:
    path = scenario("invocation_state: {key: '${SECRET}'}\nsesion: x")
    with pytest.raises(ConfigError) as caught:
        load(path, SECRET="hunter2")
    assert "hunter2" not in str(caught.value)


SHIPPED = ["configs/quickstart.yaml", "configs/scenarios/support.yaml", "orchestra/cli/template/configs/scenario.yaml"]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_loads_without_warnings(name: str) -> None:
    loaded = load_scenario(ROOT / name, environment={})
    assert loaded.warnings == ()
    agent = next(agent for agent in loaded.agents if agent.name == loaded.scenario.run)
    assert agent.sleeptime is not None
    assert agent.sleeptime.every is not None
    due = [turn for turn in range(1, len(loaded.turns) + 1) if turn % agent.sleeptime.every == 0]
    assert list(loaded.scenario.expect.passes_at or ()) == due


@pytest.mark.parametrize("path", sorted((ROOT / "configs/scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_loads_without_warnings(path: Path) -> None:
    loaded = load_scenario(path, environment={})
    assert loaded.warnings == ()
    assert loaded.taking_part
    on_a_model = load_scenario(path, overrides=["agents.*.model=openai:m"], environment={})
    assert {agent.model for agent in on_a_model.agents} == {"openai:m"}


def test_the_quickstart_asks_what_only_memory_can_answer() -> None:
    loaded = load_scenario(ROOT / "configs/quickstart.yaml", environment={})
    [agent] = loaded.agents
    window = agent.conversation.history_limit.default
    assert window > 0
    assert len(loaded.turns) >= 26
    assert len({turn.at[:10] for turn in loaded.turns if turn.at}) >= 4
    in_view = " ".join(turn.content for turn in loaded.turns[-window:]) + " ".join(loaded.scenario.follow_up)
    for answer in loaded.scenario.expect.answers or ():
        assert any(answer in turn.content for turn in loaded.turns)
        assert answer not in in_view


def test_a_session_of_each_user_and_day(here: Path) -> None:
    write(
        "agents/travel.md", (AGENT % "travel").replace("sleeptime", "conversation: {time_zone: Asia/Seoul}\nsleeptime")
    )
    before = datetime.now(ZoneInfo("Asia/Seoul")).date()
    loaded = load(scenario('session: "{user}-{date}"\nuser: ana'))
    assert loaded.scenario.session in {f"ana-{day}" for day in (before, datetime.now(ZoneInfo("Asia/Seoul")).date())}
    assert (loaded.template.text, loaded.template.time_zone) == ("{user}-{date}", "Asia/Seoul")
    assert load(scenario('session: "{{date}}"')).scenario.session == "{date}"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('session: "{name}"', r"s\.yaml:4: session: .*unknown placeholder \{name\}"),
        ('session: "a}"', r"s\.yaml:4: session: .*single '\}'"),
        ('session: "{user}-{date}"', r"s\.yaml:4: session: .*needs a user"),
        (f'session: "{{user}}-{"x" * 250}"\nuser: anastasia', r"s\.yaml:4: session: .*256"),
    ],
)
def test_a_session_that_cannot_be_made(here: Path, more: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(scenario(more))


def test_an_unknown_time_zone_is_named_with_its_place(here: Path) -> None:
    write(
        "agents/travel.md", (AGENT % "travel").replace("sleeptime", "conversation: {time_zone: Mars/Base}\nsleeptime")
    )
    with pytest.raises(ConfigError, match=r"travel\.md:5: conversation\.time_zone: .*Mars/Base"):
        load(scenario())
