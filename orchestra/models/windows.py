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


async def large_enough(model: Model, minimum: int) -> Model:
    """``model``; of several, without those whose window is known to be smaller than ``minimum`` tokens.

    When all of them are, ``model`` itself: the window guard then refuses it, before any of them is asked.
    """
    if not isinstance(model, FallbackModel):
        return model
    windows = [await context_window(each) for each in model.models]
    kept = [each for each, window in zip(model.models, windows, strict=True) if window is None or window >= minimum]
    if not kept or len(kept) == len(model.models):
        return model
    return kept[0] if len(kept) == 1 else FallbackModel(kept)
