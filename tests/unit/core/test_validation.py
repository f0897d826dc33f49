"""Every fault of a file in plain English, with file, line, field, what is allowed and the nearest name."""

import pickle

import pytest
from pydantic import BaseModel

from orchestra.core.agent import Agent
from orchestra.core.cluster import ClusterConfig
from orchestra.core.errors import ConfigError, ConfigErrors
from orchestra.core.later import LATER_KEYS, LATER_VALUES
from orchestra.core.scenario import Scenario
from orchestra.core.validation import keys_at, raise_all, validated
from orchestra.core.yamltext import parse

SCENARIO = "agents: [a.md]\nrun: a\n"
FAULTS: list[tuple[type[BaseModel], str, int, str, str, str]] = [
    (Agent, "description: x", 1, "name", "is missing", "The agent's name"),
    (Agent, "name:", 1, "name", "has no value; it must be text", "remove the key"),
    (Agent, "name: [a]", 1, "name", "must be text, not a list", ""),
    (Agent, "name: a|b", 1, "name", "without '|'", ""),
    (Agent, "name: a\ndescripton: x", 2, "descripton", "there is no key 'descripton'", "Did you mean 'description'?"),
    (Agent, "name: a\nzzz: x", 2, "zzz", "there is no key 'zzz'", "There are: name, description"),
    (Agent, "name: a\nembeddings: b", 2, "embeddings", "'embeddings' is not in this version yet", "Remove it"),
    (Agent, "name: a\nmodel: {a: b}", 2, "model", "must be text or a list, not a mapping", ""),
    (Agent, "name: a\nmemory_tools: maybe", 2, "memory_tools", "must be true or false, not 'maybe'", ""),
    (Agent, "name: a\ncontext_tokens: 0", 2, "context_tokens", "must be greater than 0, not 0", ""),
    (Agent, "name: a\ncontext_tokens: 1.5", 2, "context_tokens", "must be a whole number greater than 0, not 1.5", ""),
    (Agent, "name: a\ncontext_tokens: ${N:-x}", 2, "context_tokens", "not what its variable holds", ""),
    (Agent, "name: a\ntools: x.py:f", 2, "tools", "must be a list, not 'x.py:f'", ""),
    (Agent, "name: a\ntools:\n - {a: b}", 3, "tools[0]", "must be text, not a mapping", ""),
    (Agent, "name: a\nblocks: {human: x}", 2, "blocks", "must be a list, not a mapping", ""),
    (Agent, "name: a\nblocks: [human]", 2, "blocks[0]", "must be a mapping of keys to values, not 'human'", ""),
    (Agent, "name: a\nblocks:\n - limit: 3", 3, "blocks[0].label", "is missing", "A letter"),
    (Agent, "name: a\nblocks:\n - label: b\n   limit: x", 4, "blocks[0].limit", "must be a whole number greater", ""),
    (Agent, "name: a\nblocks:\n - {label: 1st}", 3, "blocks[0].label", "use a letter, then letters", ""),
    (Agent, "name: a\nblocks:\n - {label: b}\n - {label: b}", 4, "blocks[1].label", "two blocks", "blocks[0]"),
    (Agent, "name: a\nblocks: [{label: b, scope: usr}]", 2, "blocks[0].scope", "must be one of agent, user", "'user'?"),
    (Agent, "name: a\nsleeptime: 5", 2, "sleeptime", "must be a mapping of keys to values, not 5", ""),
    (Agent, "name: a\nsleeptime: {every: 0}", 2, "sleeptime.every", "number of turns greater than 0, or off", ""),
    (Agent, "name: a\nsleeptime: {every: true}", 2, "sleeptime.every", "a whole number of turns", ""),
    (Agent, "name: a\nsleeptime: {every: 1.5}", 2, "sleeptime.every", "a whole number of turns", ""),
    (Agent, "name: a\nsleeptime: {every: often}", 2, "sleeptime.every", "or off, not 'often'", ""),
    (Agent, "name: a\nsleeptime: {timeout: soon}", 2, "sleeptime.timeout", "with s, m, h or d behind it", ""),
    (Agent, "name: a\nsleeptime: {timeout: 0s}", 2, "sleeptime.timeout", "must be greater than 0", ""),
    (Agent, "name: a\nsleeptime: {trigger: idel}", 2, "sleeptime.trigger", "must be one of turns, tokens", "'idle'?"),
    (Agent, "name: a\nsleeptime: {trigger: 5}", 2, "sleeptime.trigger", "a mapping such as {tokens: 4000}, not 5", ""),
    (Agent, "name: a\nsleeptime: {trigger: {}}", 2, "sleeptime.trigger", "exactly one of turns, tokens", ""),
    (Agent, "name: a\nsleeptime: {trigger: {tokens: 9, idle: 1m}}", 2, "sleeptime.trigger", "tokens and idle", ""),
    (Agent, "name: a\nsleeptime: {trigger: {tokens: 0}}", 2, "sleeptime.trigger.tokens", "greater than 0, not 0", ""),
    (Agent, "name: a\nsleeptime: {trigger: {idle: soon}}", 2, "sleeptime.trigger.idle", "s, m, h or d behind it", ""),
    (Agent, "name: a\nsleeptime: {trigger: {adaptive: {min: 9, max: 2}}}", 2, "sleeptime.trigger.adaptive.max",
     "max is 2 and min is 9", "at least min"),
    (Agent, "name: a\nsleeptime: {blocks: [b]}", 2, "sleeptime.blocks[0]", "declares no block 'b'", "none"),
    (Agent, "name: a\nconversation: {history_limit: -1}", 2, "conversation.history_limit", "must be at least 0", ""),
    (Agent, "name: a\nconversation: {window: {turns: 1, messages: 1}}", 2, "conversation.window", "not both", ""),
    (Agent, "name: a\nconversation: {pruning: {head: 4000}}", 2, "conversation.pruning", "must not be above", ""),
    (ClusterConfig, "namespace: Big", 1, "namespace", "lower-case letters", ""),
    (ClusterConfig, "redis: {url: localhost}", 1, "redis.url", "use embedded, redis://", ""),
    (ClusterConfig, "ray: {address: ray://a:1}", 1, "redis.url", "listens on this machine only", "a server that all"),
    (ClusterConfig, "hosts: {primry: 2}", 1, "hosts.primry", "there is no key", "Did you mean 'primary'?"),
    (Scenario, SCENARIO, 1, "turns", "is missing", "JSON lines"),
    (Scenario, "agents: []\nrun: a\nturns: [x]", 1, "agents", "must have at least 1 entry", ""),
    (Scenario, f"{SCENARIO}turns: {{file: x}}", 3, "turns", "must be a path or a list, not a mapping", ""),
    (Scenario, f"{SCENARIO}turns:\n - [x]", 4, "turns[0]", "text or a mapping of keys to values, not a list", ""),
    (Scenario, f"{SCENARIO}turns:\n - {{contnt: x, content: y}}", 4, "turns[0].contnt", "there is no", "'content'?"),
    (Scenario, f"{SCENARIO}turns:\n - {{role: assistant, content: x}}", 4, "turns[0].role", "only what the user", ""),
    (Scenario, f"{SCENARIO}turns: [x]\nsession: ''", 4, "session", "must not be empty", ""),
    (Scenario, f"{SCENARIO}turns: [x]\ncluster: {{namspace: x}}", 4, "cluster.namspace", "no key", "'namespace'?"),
    (Scenario, f"{SCENARIO}turns: [x]\ncluster:\n  redis:\n    url: x", 6, "cluster.redis.url", "use embedded", ""),
    (Scenario, f"{SCENARIO}turns: [x]\ngraph: {{}}", 4, "graph.nodes", "is missing", ""),
    (Scenario, f"{SCENARIO}turns: [x]\nexpect: {{passes_at: [0]}}", 4, "expect.passes_at[0]", "greater than 0", ""),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text", "line", "field", "problem", "hint"), FAULTS)
def test_each_fault(model: type[BaseModel], text: str, line: int, field: str, problem: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validated(model, parse(text, file="f.yaml"))
    error = caught.value
    assert not isinstance(error, ConfigErrors), str(error)
    assert (error.file, error.line, error.field) == ("f.yaml", line, field)
    assert problem in error.problem
    assert hint in error.hint
    assert error.exit_code == 2
    for jargon in ("pydantic", "https://", "Input should", "type=", "Value error", "valid string"):
        assert jargon not in str(error)


def test_all_faults_of_a_file_are_told_together_in_the_order_of_their_lines() -> None:
    text = "model: ${NOWHERE}\nblocks:\n  - {label: b, limit: x, scpe: user}\nname: a\ntols: []\nname: b\n"
    with pytest.raises(ConfigErrors) as caught:
        validated(Agent, parse(text, file="f.yaml"))
    assert [(error.line, error.field) for error in caught.value.errors] == [
        (1, "model"),
        (3, "blocks[0].limit"),
        (3, "blocks[0].scpe"),
        (5, "tols"),
        (6, "name"),
    ]
    assert str(caught.value).count("\n") == 4
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert caught.value.__context__ is None


def test_a_variable_that_is_not_set_is_told_once() -> None:
    with pytest.raises(ConfigError) as caught:
        validated(Agent, parse("name: a\nblocks: [{label: '${LABEL}'}]", file="f.yaml"))
    assert caught.value.problem == "the environment variable LABEL is not set"


def test_where_text_is_wanted_a_number_counts_as_it_was_written() -> None:
    scenario = validated(
        Scenario, parse("agents: [1.50]\nrun: 0x10\nuser: ${USER}\nturns: [42, true]\n", variables={"USER": "1e3"})
    )
    assert (scenario.run, scenario.user, scenario.turns) == ("0x10", "1e3", ("42", "true"))
    assert [str(path) for path in scenario.agents] == ["1.50"]


def test_invocation_state_keeps_types_and_is_never_shown() -> None:
    text = SCENARIO + "turns: [x]\ninvocation_state: {n: 3, key: secret}\n"
    assert validated(Scenario, parse(text)).invocation_state == {"n": 3, "key": "secret"}
    with pytest.raises(ConfigError) as caught:
        validated(Scenario, parse(SCENARIO + "turns: [x]\ninvocation_state: secret\n"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("written", ["off", "'off'", "OFF", "false", "null"])
def test_off_means_never(written: str) -> None:
    agent = validated(Agent, parse(f"name: a\nsleeptime: {{every: {written}}}"))
    assert agent.sleeptime is not None
    assert agent.sleeptime.every is None


@pytest.mark.parametrize(("written", "seconds"), [("30", 30), ("1.5", 1.5), ("2m", 120), ("1 h", 3600), ("1d", 86400)])
def test_times_have_units(written: str, seconds: float) -> None:
    agent = validated(Agent, parse(f"name: a\nlimits: {{seconds: {written}}}"))
    assert agent.limits.seconds == seconds


def test_no_key_is_promised_for_later_that_is_there_already() -> None:
    models = {found.__name__: found for found in (Agent, ClusterConfig, Scenario)}
    models |= {name: Agent.model_fields[key].annotation for name, key in (("Conversation", "conversation"),)}
    for name, keys in LATER_KEYS.items():
        if name in models:
            assert not keys & set(models[name].model_fields)
    for name, field in LATER_VALUES:
        text = f"name: a\n{name.lower()}: {{{field}: {min(LATER_VALUES[name, field])}}}"
        with pytest.raises(ConfigError, match="not in this version yet"):
            validated(Agent, parse(text))


def test_keys_at_a_path() -> None:
    assert "label" in keys_at(Agent, ("blocks", 0))
    assert "namespace" in keys_at(Scenario, ("cluster",))
    assert keys_at(Agent, ("model_settings",)) == ()
    assert keys_at(Agent, ("nowhere", "below")) == ()


def test_raise_all_keeps_one_error_as_it_is_and_files_apart() -> None:
    raise_all([])
    one = ConfigError("x", "a.md", 3)
    with pytest.raises(ConfigError) as caught:
        raise_all([one])
    assert caught.value is one
    many = [ConfigError("x", "b.md", 9), ConfigErrors([ConfigError("y", "a.md", 2), ConfigError("z", "a.md", 1)])]
    with pytest.raises(ConfigErrors) as several:
        raise_all(many)
    assert [error.problem for error in several.value.errors] == ["x", "z", "y"]
