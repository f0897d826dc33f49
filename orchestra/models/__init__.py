"""Floor 2: talking to a model."""

from orchestra.models.fallback import FallbackModel
from orchestra.models.function import FunctionModel
from orchestra.models.providers import ProviderModel, close_connections
from orchestra.models.registry import ModelSpec, describe_auto, resolve
from orchestra.models.retries import RetryingModel
from orchestra.models.scripted import ScriptedModel, ScriptedReply
from orchestra.models.windows import context_window

__all__ = [
    "FallbackModel",
    "FunctionModel",
    "ModelSpec",
    "ProviderModel",
    "RetryingModel",
    "ScriptedModel",
    "ScriptedReply",
    "close_connections",
    "context_window",
    "describe_auto",
    "resolve",
]
