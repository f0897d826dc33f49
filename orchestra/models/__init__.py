"""Floor 2: talking to a model."""

from orchestra.models.fallback import FallbackModel
from orchestra.models.function import FunctionModel
from orchestra.models.providers import ProviderModel, close_connections
from orchestra.models.registry import ModelSpec, describe_auto, resolve
from orchestra.models.retries import RetryingModel
from orchestra.models.scripted import ScriptedModel, ScriptedReply

__all__ = [
    "FallbackModel",
    "FunctionModel",
    "ModelSpec",
    "ProviderModel",
    "RetryingModel",
    "ScriptedModel",
    "ScriptedReply",
    "close_connections",
    "describe_auto",
    "resolve",
]
