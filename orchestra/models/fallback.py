"""Several models, of which the next one answers when one fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from orchestra.core.errors import ContextOverflow, InputError, ModelError, ModelNotConfigured, ModelUnavailable
from orchestra.core.model import Delta, Model, ModelReply, ModelRequest, keeps_conversations
from orchestra.models.retries import closable


class FallbackModel:
    """Asks ``models`` in order until one answers. The reply's ``model`` tells which one it was.

    Two failures are passed on instead. After a delta was shown, since another answer would be glued to half of the
    first one. And a request that is larger than a model's window: the runtime compacts and asks again, while the
    next model might have a smaller window still.

    A conversation that the provider keeps is known to that provider only, so the list can go on with one when all its
    models can and all are of one provider (the part of their names before the colon).
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise InputError("a list of models needs at least one")
        self.models = tuple(models)

    @property
    def name(self) -> str:
        """The names of all models, in order."""
        return ", ".join(model.name for model in self.models)

    @property
    def keeps_conversations(self) -> bool:
        """Whether any of the models can go on with what another one of them began."""
        providers = {model.name.partition(":")[0] for model in self.models}
        return len(providers) == 1 and all(keeps_conversations(model) for model in self.models)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelReply, None]:
        """The answer of the first model that gives one.

        Raises:
            ModelError: every model failed, and how; retryable when one of the failures is.
        """
        failures: list[ModelError] = []
        for model in self.models:
            shown = False
            try:
                async with aclosing(closable(model.stream(request))) as items:
                    async for item in items:
                        shown = True
                        yield item
                return
            except ContextOverflow:
                raise
            except ModelError as error:
                if shown:
                    raise
                failures.append(error)
        raise _together(failures)


def _together(failures: Sequence[ModelError]) -> ModelError:
    """One error for all: as hopeful as the most hopeful of them, a configuration error only when all are."""
    if len(failures) == 1:
        return failures[0]
    names = ", ".join(failure.model for failure in failures)
    problem = "every model failed: " + "; ".join(f"{failure.model}: {failure.problem}" for failure in failures)
    if any(failure.retryable for failure in failures):
        waits = [failure.retry_after for failure in failures if isinstance(failure, ModelUnavailable)]
        return ModelUnavailable(names, problem, min((wait for wait in waits if wait is not None), default=None))
    if all(isinstance(failure, ModelNotConfigured) for failure in failures):
        return ModelNotConfigured(names, problem)
    return ModelError(names, problem)
