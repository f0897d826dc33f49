"""Agent files: what they give, and every way in which they can be wrong."""

from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.runtime.agent_file import check_together, load_agent, load_agents, read_agent, read_agents

NOTHING: dict[str, str] = {}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def agent(folder: Path, front: str, *, name: str = "a", file: str = "a.md", body: str = "Help.") -> Path:
    return write(folder / file, f"---\nname: {name}\n{front}\n---\n{body}\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_front_matter_and_body(here: Path) -> None:
    found = load_agent(
        agent(here, "blocks: [{label: human, scope: user}]\nsleeptime: {every: off}"), environment=NOTHING
    )
    assert (found.name, found.instructions, found.blocks[0].scope) == ("a", "Help.", "user")
    assert found.sleeptime is not None
    assert found.sleeptime.every is None


def test_files_are_relative_to_the_agent_file_and_come_back_absolute(here: Path) -> None:
    write(here / "agents/tools/weather.py", "")
    write(here / "agents/replies.yaml", "- text: hi")
    front = (
        "model: ['scripted:replies.yaml', extractive]\ntools: ['tools/weather.py:forecast', 'json:dumps']\n"
        "hooks: ['tools/weather.py:audit']\nsleeptime: {consolidator: scripted, script: replies.yaml}"
    )
    found = load_agent(agent(here / "agents", front), environment=NOTHING)
    assert found.model == (f"scripted:{here}/agents/replies.yaml", "extractive")
    assert found.tools == (f"{here}/agents/tools/weather.py:forecast", "json:dumps")
    assert found.hooks == (f"{here}/agents/tools/weather.py:audit",)
    assert found.sleeptime is not None
    assert found.sleeptime.script == f"{here}/agents/replies.yaml"


FAULTS = [
    ("tools: ['tools/nowhere.py:f']", 3, "tools[0]", "tools/nowhere.py: there is no such file"),
    ("tools:\n  - 'json:dumps'\n  - forecast", 5, "tools[1]", "'forecast' names no function"),
    ("tools: ['agent:']", 3, "tools[0]", "'agent:' names no agent"),
    ("tools: ['mcp:files']", 3, "tools[0]", "'mcp:files' is not in this version yet"),
    ("tools: ['folder.py:f']", 3, "tools[0]", "folder.py: it is a directory"),
    ("hooks: ['nowhere.py:f']", 3, "hooks[0]", "nowhere.py: there is no such file"),
    ("model: gpt-5-mini", 3, "model", "'gpt-5-mini' names no provider"),
    ("model: [auto, 'openai:']", 3, "model[1]", "'openai:' names no provider"),
    ("model: []", 3, "model", "the list names no model"),
    ("model: scripted:nowhere.yaml", 3, "model", "nowhere.yaml: there is no such file"),
    ("sleeptime: {model: gpt}", 3, "sleeptime.model", "'gpt' names no provider"),
    ("sleeptime: {script: nowhere.yaml}", 3, "sleeptime.script", "nowhere.yaml: there is no such file"),
    ("embeddings: {}", 3, "embeddings", "the key 'embeddings' is not in this version yet"),
    ("guardrails: {output: ['nowhere.py:f']}", 3, "guardrails.output[0]", "nowhere.py: there is no such file"),
    ("blocks: [{label: b, limt: 3}]", 3, "blocks[0].limt", "there is no key 'limt'"),
    ("name: b", 3, "name", "twice: on line 2 and on line 3"),
]


@pytest.mark.parametrize(("front", "line", "field", "problem"), FAULTS)
def test_each_fault(here: Path, front: str, line: int, field: str, problem: str) -> None:
    (here / "folder.py").mkdir()
    with pytest.raises(ConfigError) as caught:
        load_agent(agent(here, front), environment=NOTHING)
    error = caught.value
    assert not isinstance(error, ConfigErrors), str(error)
    assert (error.file, error.line, error.field) == ("a.md", line, field)
    assert problem in error.problem


def test_missing_and_unreadable_files(here: Path) -> None:
    agent(here, "")
    cases = {
        "b.md": "there is no such agent file",
        "gone/a.md": "there is no such agent file",
        "a.md/x.md": "a part of the path is a file",
        "dir.md": "this is a directory, not an agent file",
        "empty.md": "there is no front matter",
        "latin.md": "the text is not UTF-8",
    }
    (here / "dir.md").mkdir()
    write(here / "empty.md", "")
    (here / "latin.md").write_bytes(b"---\nname: caf\xe9\n---\n")
    for name, problem in cases.items():
        with pytest.raises(ConfigError) as caught:
            load_agent(name, environment=NOTHING)
        assert caught.value.file == name
        assert problem in caught.value.problem
    assert caught.value.line == 2


def test_a_missing_file_names_the_nearest_one_beside_it(here: Path) -> None:
    agent(here, "", file="travel.md")
    with pytest.raises(ConfigError, match=r"Did you mean 'travel.md'\?"):
        load_agent("travle.md", environment=NOTHING)
    with pytest.raises(ConfigError, match="There is no directory gone"):
        load_agent("gone/travel.md", environment=NOTHING)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(here: Path) -> None:
    (here / "a.md").write_bytes(b"\xef\xbb\xbf---\r\nname: a\r\n---\r\nHelp.\r\n")
    assert load_agent("a.md", environment=NOTHING).instructions == "Help."


def test_variables_come_from_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = agent(here, "context_tokens: ${WINDOW:-8000}\nmodel: openai:${NAME}")
    found = load_agent(path, environment={"NAME": "gpt-5-mini", "WINDOW": "9000"})
    assert (found.model, found.context_tokens) == ("openai:gpt-5-mini", 9000)
    monkeypatch.setenv("NAME", "other")
    assert load_agent(path).model == "openai:other"


@pytest.mark.parametrize(
    ("front", "model", "sleeping"),
    [
        ("", "x:y", None),
        ("model: auto\nsleeptime: {every: 2}", "x:y", "x:y"),
        ("model: extractive\nsleeptime: {model: auto}", "extractive", "x:y"),
        ("model: [extractive, auto]\nsleeptime: {model: extractive}", ("extractive", "x:y"), "extractive"),
    ],
)
def test_orchestra_model_stands_in_for_auto(here: Path, front: str, model: object, sleeping: str | None) -> None:
    found = load_agent(agent(here, front), environment={"ORCHESTRA_MODEL": "x:y"})
    assert found.model == model
    assert (found.sleeptime.model if found.sleeptime else None) == sleeping


def test_a_wrong_orchestra_model_is_named_as_the_place_at_fault(here: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_agent(agent(here, ""), environment={"ORCHESTRA_MODEL": "gpt"})
    assert (caught.value.file, caught.value.field) == (None, "ORCHESTRA_MODEL")


def test_a_script_that_the_environment_names_is_relative_to_the_current_directory(here: Path) -> None:
    write(here / "replies.yaml", "- text: hi")
    found = load_agent(agent(here / "agents", ""), environment={"ORCHESTRA_MODEL": "scripted:replies.yaml"})
    assert found.model == f"scripted:{here}/replies.yaml"


def test_warnings_have_file_and_line(here: Path) -> None:
    front = "blocks:\n  - {label: human, description: The user.}\n  - {label: trip}\nconversation: {strategy: full}"
    warnings = read_agent(agent(here, front), environment=NOTHING).warnings
    assert [warning.split(": ")[0] for warning in warnings] == ["a.md:5", "a.md:6"]
    assert "'trip' has no description" in warnings[0]
    assert "grow without bound" in warnings[1]


def test_a_folder_of_agents(here: Path) -> None:
    agent(here / "agents", "", name="b", file="2.md")
    agent(here / "agents", "", name="a", file="1.md")
    write(here / "agents/README.md", "About these agents.")
    write(here / "agents/notes.txt", "")
    assert [found.name for found in load_agents("agents", environment=NOTHING)] == ["a", "b"]


def test_a_folder_without_agents(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"empty: there are no agent files"):
        load_agents("empty")
    with pytest.raises(ConfigError, match="gone: there is no such folder"):
        load_agents("gone")


def test_the_faults_of_all_agents_are_told_together(here: Path) -> None:
    agent(here / "agents", "x: 1", file="1.md")
    agent(here / "agents", "y: 1", file="2.md")
    with pytest.raises(ConfigErrors) as caught:
        load_agents("agents", environment=NOTHING)
    assert [(error.file, error.field) for error in caught.value.errors] == [("agents/1.md", "x"), ("agents/2.md", "y")]


def test_two_agents_with_one_name(here: Path) -> None:
    agent(here / "agents", "", file="1.md")
    agent(here / "agents", "", file="2.md")
    with pytest.raises(ConfigError, match=r"agents/2.md:2: name: another agent is named 'a' too: agents/1.md:2"):
        load_agents("agents", environment=NOTHING)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("limit: 3000", "limit: 5000", "limit: 5000 here, 3000 there"),
        ("value: x", "value: y", "value: 'y' here, 'x' there"),
        ("description: x", "description: y", "description: 'y' here, 'x' there"),
        ("read_only: true", "read_only: false", "read_only: False here, True there"),
    ],
)
def test_declarations_of_one_shared_block_that_disagree(here: Path, first: str, second: str, told: str) -> None:
    one = agent(here, f"blocks:\n  - {{label: team, scope: shared, {first}}}", file="1.md", name="a")
    two = agent(here, f"blocks:\n  - {{label: team, scope: shared, {second}}}", file="2.md", name="b")
    with pytest.raises(ConfigError) as caught:
        check_together(read_agents([one, two], environment=NOTHING))
    assert (caught.value.file, caught.value.line, caught.value.field) == ("2.md", 4, "blocks[0]")
    assert "1.md:4" in caught.value.problem
    assert told in caught.value.hint


def test_shared_blocks_that_agree_and_private_ones_that_differ_are_fine(here: Path) -> None:
    shared = "{label: team, scope: shared, limit: 9, access: %s}"
    one = agent(here, f"blocks: [{shared % 'read'}, {{label: own, limit: 1}}]", file="1.md", name="a")
    two = agent(here, f"blocks: [{shared % 'write'}, {{label: own, limit: 2}}]", file="2.md", name="b")
    check_together(read_agents([one, two], environment=NOTHING))
