"""The providers that a model's name may start with: what each needs, and how a name is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from orchestra.core.errors import ModelNotConfigured

BUILT_IN = ("auto", "extractive", "scripted")


@dataclass(frozen=True, slots=True)
class ProviderNeeds:
    """What a provider needs: one of the environment ``variables``, and the ``module`` that the ``extra`` installs.

    ``keeps_conversations``: its protocol can go on with a conversation that the provider keeps.
    """

    variables: tuple[str, ...]
    extra: str = "openai"
    module: str = "openai"
    keeps_conversations: bool = False

    @property
    def install(self) -> str:
        """The command that installs its client library."""
        return f"pip install 'pydantic-ai-slim[{self.extra}]'"


PROVIDERS: dict[str, ProviderNeeds] = {
    "openai": ProviderNeeds(("OPENAI_API_KEY", "OPENAI_BASE_URL")),
    "openai-responses": ProviderNeeds(("OPENAI_API_KEY", "OPENAI_BASE_URL"), keeps_conversations=True),
    "anthropic": ProviderNeeds(("ANTHROPIC_API_KEY",), "anthropic", "anthropic"),
    "google": ProviderNeeds(("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google", "google.genai"),
    "google-cloud": ProviderNeeds(("GOOGLE_CLOUD_PROJECT", "GOOGLE_API_KEY"), "google", "google.genai"),
    "bedrock": ProviderNeeds(("AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"), "bedrock", "boto3"),
    "groq": ProviderNeeds(("GROQ_API_KEY",), "groq", "groq"),
    "mistral": ProviderNeeds(("MISTRAL_API_KEY",), "mistral", "mistralai"),
    "cohere": ProviderNeeds(("CO_API_KEY",), "cohere", "cohere"),
    "huggingface": ProviderNeeds(("HF_TOKEN",), "huggingface", "huggingface_hub"),
    "xai": ProviderNeeds(("XAI_API_KEY",), "xai", "xai_sdk"),
    "alibaba": ProviderNeeds(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    "azure": ProviderNeeds(("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT")),
    "cerebras": ProviderNeeds(("CEREBRAS_API_KEY",)),
    "deepseek": ProviderNeeds(("DEEPSEEK_API_KEY",)),
    "fireworks": ProviderNeeds(("FIREWORKS_API_KEY",)),
    "moonshotai": ProviderNeeds(("MOONSHOTAI_API_KEY",)),
    "nebius": ProviderNeeds(("NEBIUS_API_KEY",)),
    "ollama": ProviderNeeds(("OLLAMA_BASE_URL", "OLLAMA_API_KEY")),
    "openrouter": ProviderNeeds(("OPENROUTER_API_KEY",)),
    "ovhcloud": ProviderNeeds(("OVHCLOUD_API_KEY",)),
    "sambanova": ProviderNeeds(("SAMBANOVA_API_KEY",)),
    "together": ProviderNeeds(("TOGETHER_API_KEY",)),
    "vercel": ProviderNeeds(("VERCEL_AI_GATEWAY_API_KEY",)),
    "vllm": ProviderNeeds(("VLLM_BASE_URL", "VLLM_API_KEY")),
    "zai": ProviderNeeds(("ZAI_API_KEY",)),
}


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean …?`` with the known name that is most like ``name``, or nothing."""
    found = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def split_name(spec: str) -> tuple[str, str]:
    """(provider, model) of ``provider:model``.

    Raises:
        ModelNotConfigured: the provider is unknown or a half is missing; names the nearest known one.
    """
    provider, colon, model = spec.partition(":")
    if provider in PROVIDERS and model.strip():
        return provider, model
    known = (*PROVIDERS, *BUILT_IN)
    if not colon:
        hint = nearest(spec, known)
        raise ModelNotConfigured(spec, f"a model is written provider:name, for example openai:gpt-5-mini{hint}")
    if provider in PROVIDERS:
        raise ModelNotConfigured(spec, f"the name of the model is missing behind {provider}:")
    raise ModelNotConfigured(
        spec, f"there is no provider {provider!r}{nearest(provider, known)} (known: {', '.join(known)})"
    )
