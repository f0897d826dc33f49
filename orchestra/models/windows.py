"""How much a model can read."""

from __future__ import annotations

from orchestra.core.errors import ModelError
from orchestra.core.model import Model
from orchestra.models.fallback import FallbackModel
from orchestra.models.providers import ProviderModel
from orchestra.models.retries import RetryingModel


async def context_window(model: Model) -> int | None:
    """The window of ``model`` in tokens by its own metadata, ``None`` when it has none.

    Of several models it is the smallest known one, since any of them may have to read the prompt. Asks no server. A
    model that is not configured has no window here; its call says what is missing.
    """
    if isinstance(model, RetryingModel):
        return await context_window(model.model)
    if isinstance(model, FallbackModel):
        windows = [await context_window(each) for each in model.models]
        return min((window for window in windows if window is not None), default=None)
    if isinstance(model, ProviderModel):
        try:
            return await model.context_window()
        except ModelError:
            return None
    return None
