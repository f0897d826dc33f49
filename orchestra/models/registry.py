"""From what a configuration writes to the model that answers."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from orchestra.core.errors import InputError
from orchestra.core.jsontext import Json
from orchestra.core.model import Model
from orchestra.models.catalog import PROVIDERS
from orchestra.models.fallback import FallbackModel
from orchestra.models.providers import ProviderModel
from orchestra.models.retries import RetryingModel
from orchestra.models.scripted import ScriptedModel

ModelSpec: TypeAlias = "str | Model | Mapping[str, Json] | Sequence[str | Model | Mapping[str, Json]]"

_SCRIPTED = "scripted:"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A provider that ``auto`` may take: its default model, and the variable that names another one."""

    provider: str
    model: str
    variable: str


_CANDIDATES = (
    _Candidate("openai", "gpt-5-mini", "ORCHESTRA_OPENAI_MODEL"),
    _Candidate("anthropic", "claude-haiku-4-5", "ORCHESTRA_ANTHROPIC_MODEL"),
    _Candidate("google", "gemini-3.8-flash", "ORCHESTRA_GOOGLE_MODEL"),
)

_cache: dict[object, Model] = {}


def resolve(spec: ModelSpec, *, environment: Mapping[str, str] = os.environ) -> Model:
    """The model that ``spec`` stands for.

    - ``provider:name``: that provider's API; retryable errors are tried again while nothing was shown.
    - ``auto``: a configured provider when a key or a server is there, else ``extractive``; see :func:`describe_auto`.
    - ``extractive``: no language model.
    - ``scripted:FILE``: replies from a YAML file, which is read here (call this off the event loop).
    - the JSON of :meth:`ScriptedModel.to_spec`.
    - a list: the next one when one fails.
    - a model: itself.

    With the process's own environment the same text gives the same object, whatever the number of agents.

    Raises:
        ModelNotConfigured: unknown provider; names the nearest known one. A missing key or library shows at the call.
        ConfigError: the script's file is missing or wrong.
        InputError: ``spec`` is none of these.
    """
    if isinstance(spec, str):
        return _named(spec.strip(), environment)
    if isinstance(spec, Mapping):
        if "scripted" not in spec:
            raise InputError("a model as an object is a script: {scripted: [...]}")
        return ScriptedModel.from_spec(spec)
    if isinstance(spec, Model):
        return spec
    if isinstance(spec, Sequence):
        models = [resolve(item, environment=environment) for item in spec]
        return models[0] if len(models) == 1 else FallbackModel(models)
    raise InputError(f"a model is text, a list or a model object, not {type(spec).__name__}")


def describe_auto(environment: Mapping[str, str] = os.environ) -> str:
    """Which model ``auto`` is with ``environment``, and why. Shows names of variables, never their values."""
    name, reason = _auto(environment)
    return f"{name} ({reason})"


def _named(spec: str, environment: Mapping[str, str]) -> Model:
    if spec == "auto":
        spec = _auto(environment)[0]
    key: object = spec
    if spec.startswith(_SCRIPTED):
        key = (spec, _version(Path(spec.removeprefix(_SCRIPTED))))
    if environment is not os.environ:
        return _made(spec, environment)
    if (found := _cache.get(key)) is None:
        # Two threads may both make one: the first to store it wins, and both get that one.
        found = _cache.setdefault(key, _made(spec, None))
    return found


def _made(spec: str, environment: Mapping[str, str] | None) -> Model:
    if spec == "extractive":
        from orchestra.models.extractive import ExtractiveModel

        return ExtractiveModel()
    if spec.startswith(_SCRIPTED):
        from orchestra.models.script import load_script

        return load_script(spec.removeprefix(_SCRIPTED))
    return RetryingModel(ProviderModel(spec, environment=environment))


def _version(path: Path) -> tuple[int, int] | None:
    """Changes when the file does; ``None`` when it is not there, which reading it then reports."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _auto(environment: Mapping[str, str]) -> tuple[str, str]:
    """(name, reason) of what ``auto`` stands for."""
    without_library: list[str] = []
    for candidate in _CANDIDATES:
        needs = PROVIDERS[candidate.provider]
        variable = next((name for name in needs.variables if environment.get(name)), None)
        if variable is None:
            continue
        if not _installed(needs.module):
            without_library.append(f"{variable} is set, but its client library is missing: {needs.install}")
            continue
        name = environment.get(candidate.variable) or candidate.model
        chosen = f"{candidate.variable} names it" if environment.get(candidate.variable) else "the default there"
        return f"{candidate.provider}:{name}", f"{variable} is set; {chosen}"
    looked_for = ", ".join(name for candidate in _CANDIDATES for name in PROVIDERS[candidate.provider].variables)
    return "extractive", "; ".join(without_library) or f"no language model: none of {looked_for} is set"


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
