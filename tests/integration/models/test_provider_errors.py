"""What goes wrong between a provider and us: errors, retries, fallback."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable

import pytest

from orchestra.core.errors import ContextOverflow, ModelError, ModelNotConfigured, ModelUnavailable
from orchestra.core.model import Delta
from orchestra.models import FallbackModel, ProviderModel, RetryingModel
from orchestra.models.catalog import PROVIDERS
from orchestra.testing import ScriptedModel
from tests.integration.models.asking import KEY, answered, asked, at_once, model
from tests.openai_server import OVERFLOW, Answer, Fault, OpenAIServer, in_order


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault(429, "slow down", headers={"Retry-After": "4"}), ModelUnavailable, "HTTP 429: slow down"),
        (Fault(500, "oops"), ModelUnavailable, "HTTP 500: oops"),
        (Fault(503, "overloaded"), ModelUnavailable, "overloaded"),
        (Fault(408, "too slow"), ModelUnavailable, "too slow"),
        (Fault(429, "You exceeded your quota", "insufficient_quota"), ModelError, "quota"),
        (Fault(403, "not for you"), ModelNotConfigured, "OPENAI_API_KEY"),
        (Fault(404, "The model does not exist", "model_not_found"), ModelError, "does not exist"),
        (Fault(400, "bad temperature"), ModelError, "bad temperature"),
        (OVERFLOW, ContextOverflow, "maximum context length"),
        (Fault(400, "the request exceeds the available context size, try increasing it"), ContextOverflow, "context"),
        (Fault(400, f"strange words with {KEY} in them"), ModelError, "strange words with ***"),
    ],
)
async def test_each_failure_is_one_of_our_errors(
    serve: Callable[..., OpenAIServer], fault: Fault, kind: type[ModelError], words: str
) -> None:
    server = serve(fault)
    with pytest.raises(kind) as caught:
        await answered(model())
    error = caught.value
    assert type(error) is kind
    assert words in str(error)
    assert KEY not in repr(error)
    assert error.model == "openai:test-model"
    assert (error.__cause__, error.__context__) == (None, None)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.retryable) == (kind, str(error), error.retryable)
    if fault.headers:
        assert isinstance(copy, ModelUnavailable)
        assert copy.retry_after == 4.0
    assert len(server.requests) == 1  # the client library itself retries nothing


async def test_a_refused_key_names_the_variable_and_not_the_key(serve: Callable[..., OpenAIServer]) -> None:
    serve(api_key="another")
    with pytest.raises(ModelNotConfigured, match="OPENAI_API_KEY") as caught:
        await answered(model())
    assert KEY not in str(caught.value)
    assert caught.value.exit_code == 2


async def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelNotConfigured, match="OPENAI_API_KEY, or OPENAI_BASE_URL"):
        await answered(model())


@pytest.mark.parametrize("provider", [name for name, needs in PROVIDERS.items() if needs.module == "openai"])
async def test_each_provider_that_is_not_configured_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    for needs in PROVIDERS.values():
        for variable in needs.variables:
            monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelNotConfigured) as caught:
        await answered(model(f"{provider}:some-model"))
    assert PROVIDERS[provider].variables[0] in str(caught.value)


async def test_a_missing_library_says_what_to_install() -> None:
    with pytest.raises(ModelNotConfigured, match=r"pip install 'pydantic-ai-slim\[cohere\]'"):
        await answered(ProviderModel("cohere:command-r"))


@pytest.fixture
def nowhere() -> str:
    """The address of a server that has ended."""
    with OpenAIServer() as server:
        return server.base_url


async def test_a_server_that_is_not_there_may_come_back(monkeypatch: pytest.MonkeyPatch, nowhere: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", nowhere.replace("http://", "http://user:pass-canary@"))
    with pytest.raises(ModelUnavailable) as caught:
        await answered(model())
    assert "pass-canary" not in str(caught.value)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[oops")
    with pytest.raises(ModelNotConfigured, match="not a URL"):
        await answered(model())


@pytest.mark.parametrize("then", ["cut", "close"])
async def test_a_stream_that_breaks_is_no_reply(serve: Callable[..., OpenAIServer], then: str) -> None:
    serve(Answer("half of the ans", then=then))  # type: ignore[arg-type]
    words: list[str] = []

    async def read() -> None:
        async for item in model().stream(asked()):
            assert isinstance(item, Delta)
            words.append(item.text)

    with pytest.raises(ModelUnavailable):
        await read()
    assert "".join(words) == "half of the ans"


async def test_a_stream_that_stalls_ends_at_the_timeout(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("Hm", then="stall"))
    with pytest.raises(ModelUnavailable, match=r"(?i)time"):
        await answered(model(timeout=0.2))
    assert await asyncio.to_thread(server.wait_for, lambda state: state.hung_up == 1)


# --- retries and fallback -------------------------------------------------------------------------------------------


async def test_what_may_pass_is_asked_again(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(in_order(Fault(500), Fault(429), "third time lucky"))
    _, got = await answered(RetryingModel(model(), sleep=at_once))
    assert got.message.text == "third time lucky"
    assert len(server.requests) == 3
    assert server.connections == 1
    server = serve(Fault(503))
    with pytest.raises(ModelUnavailable):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 3
    server = serve(OVERFLOW)
    with pytest.raises(ContextOverflow):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 1


async def test_a_broken_stream_is_not_asked_again(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Answer("half of the ans", then="cut"))
    with pytest.raises(ModelUnavailable):
        await answered(RetryingModel(model(), sleep=at_once))
    assert len(server.requests) == 1


async def test_the_next_model_answers_when_the_server_fails(serve: Callable[..., OpenAIServer]) -> None:
    server = serve(Fault(500))
    _, got = await answered(FallbackModel([RetryingModel(model(), sleep=at_once), ScriptedModel(["from the script"])]))
    assert (got.message.text, got.model) == ("from the script", "scripted:inline")
    assert len(server.requests) == 3
