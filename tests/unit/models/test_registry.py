from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestra.core.errors import ConfigError, InputError, ModelNotConfigured
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, ModelRequest
from orchestra.models import (
    FallbackModel,
    FunctionModel,
    ProviderModel,
    RetryingModel,
    ScriptedModel,
    describe_auto,
    resolve,
)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("opnai:gpt-5-mini", "did you mean 'openai'"),
        ("antropic:some-model", "did you mean 'anthropic'"),
        ("script:replies.yaml", "did you mean 'scripted'"),
        ("extractiv", "did you mean 'extractive'"),
        ("gpt-5-mini", "provider:name"),
        ("openai:", "the name of the model is missing"),
        ("", "provider:name"),
    ],
)
def test_an_unknown_provider_is_an_error_that_names_the_nearest(spec: str, hint: str) -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        resolve(spec)
    assert hint in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_same_name_is_the_same_object() -> None:
    assert resolve("openai:gpt-5-mini") is resolve(" openai:gpt-5-mini ")
    assert resolve("openai:gpt-5-mini") is not resolve("openai:gpt-5")
    assert resolve("openai:gpt-5-mini", environment={"OPENAI_API_KEY": "k"}) is not resolve("openai:gpt-5-mini")


def test_a_provider_is_retried_and_a_list_falls_back() -> None:
    model = resolve("anthropic:some-model")
    assert isinstance(model, RetryingModel)
    assert isinstance(model.model, ProviderModel)
    assert model.name == "anthropic:some-model"
    several = resolve(["openai:gpt-5-mini", "groq:qwen", ScriptedModel(["hi"])])
    assert isinstance(several, FallbackModel)
    assert several.name == "openai:gpt-5-mini, groq:qwen, scripted:inline"
    assert several.models[0] is resolve("openai:gpt-5-mini")
    assert resolve(["openai:gpt-5-mini"]) is resolve("openai:gpt-5-mini")
    with pytest.raises(InputError):
        resolve([])


async def test_the_extractive_model_needs_nothing() -> None:
    model = resolve("extractive")
    assert model is resolve("extractive")
    assert resolve("auto", environment={}).name == "extractive"
    items = [item async for item in model.stream(ModelRequest((Message("user", "I live in Kyoto."),)))]
    assert isinstance(items[-1], ModelReply)
    assert "Kyoto" in items[-1].message.text


def test_a_model_is_itself_and_a_stored_script_is_read() -> None:
    model = FunctionModel(lambda request: "hi")
    assert resolve(model) is model
    stored = resolve(ScriptedModel(["one", "two"], name="scripted:x").to_spec())
    assert isinstance(stored, ScriptedModel)
    assert (stored.name, len(stored.replies)) == ("scripted:x", 2)
    with pytest.raises(InputError):
        resolve({"script": []})
    with pytest.raises(InputError):
        resolve(3)  # type: ignore[arg-type]


def test_a_script_is_read_once_until_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text("- text: one\n")
    first = resolve(f"scripted:{path}")
    assert resolve(f"scripted:{path}") is first
    path.write_text("- text: one\n- text: two\n")
    second = resolve(f"scripted:{path}")
    assert isinstance(second, ScriptedModel)
    assert len(second.replies) == 2
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve(f"scripted:{tmp_path}/absent.yaml")


@pytest.mark.parametrize(
    ("environment", "name", "reason"),
    [
        ({"OPENAI_API_KEY": "sk-secret"}, "openai:gpt-5-mini", "OPENAI_API_KEY is set"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "openai:gpt-5-mini", "OPENAI_BASE_URL is set"),
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "ORCHESTRA_OPENAI_MODEL": "qwen3:8b"},
            "openai:qwen3:8b",
            "ORCHESTRA_OPENAI_MODEL names it",
        ),
        ({}, "extractive", "none of OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": ""}, "extractive", "none of OPENAI_API_KEY"),
    ],
)
def test_auto_takes_what_is_configured_and_says_why(environment: dict[str, str], name: str, reason: str) -> None:
    text = describe_auto(environment)
    assert text.startswith(f"{name} (")
    assert reason in text
    assert "sk-secret" not in text
    if name != "extractive":
        assert resolve("auto", environment=environment).name == name


def test_auto_prefers_openai_and_skips_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestra.models import registry

    keys = {"ANTHROPIC_API_KEY": "a", "GEMINI_API_KEY": "g"}
    monkeypatch.setattr(registry, "_installed", lambda module: module != "anthropic")
    assert describe_auto(keys).startswith("google:")
    assert describe_auto({**keys, "OPENAI_API_KEY": "o"}).startswith("openai:")
    monkeypatch.setattr(registry, "_installed", lambda module: False)
    text = describe_auto(keys)
    assert text.startswith("extractive (")
    assert "pip install 'pydantic-ai-slim[anthropic]'" in text


def test_auto_follows_the_environment_although_models_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    monkeypatch.setenv("ORCHESTRA_OPENAI_MODEL", "first")
    assert resolve("auto").name == "openai:first"
    monkeypatch.setenv("ORCHESTRA_OPENAI_MODEL", "second")
    assert resolve("auto").name == "openai:second"
    assert describe_auto(os.environ).startswith("openai:second")
