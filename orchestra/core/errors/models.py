"""Models, tools and limits."""

from __future__ import annotations

from orchestra.core.errors.root import OrchestraError


class ModelError(OrchestraError):
    """A model call failed. Data: ``model``, ``problem``."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model, self.problem = model, problem

    def message(self) -> str:
        """Names the model."""
        return f"model {self.model}: {self.problem}"


class ModelUnavailable(ModelError):
    """The model's server cannot be reached or is overloaded; a later call may succeed.

    Data besides ``model`` and ``problem``: ``retry_after``, the seconds that the server asked to wait.
    """

    retryable = True

    def __init__(self, model: str, problem: str, retry_after: float | None = None) -> None:
        super().__init__(model, problem)
        self.args = (model, problem, retry_after)
        self.retry_after = retry_after


class ModelNotConfigured(ModelError):
    """Key, server or client library of a model is missing."""

    exit_code = 2


class ContextOverflow(ModelError):
    """The request is larger than the model's window."""


class ContextWindowTooSmall(ModelError):
    """A model's window is too small for a conversation; raised before it is asked, so another model can be tried.

    Data: ``provider``, ``model``, ``tokens`` (its window), ``minimum`` (configured, or what stands in every prompt).
    """

    exit_code = 2

    def __init__(self, provider: str, model: str, tokens: int, minimum: int) -> None:
        super().__init__(model, f"its window of {tokens} tokens is below the {minimum} that are needed at least")
        self.args = (provider, model, tokens, minimum)
        self.provider, self.tokens, self.minimum = provider, tokens, minimum

    def message(self) -> str:
        """Names provider and model, and what to do."""
        name = f"{self.provider}:{self.model}" if self.provider else self.model
        return (
            f"model {name}: {self.problem}. Take a model with a larger window, raise context_tokens, "
            "shorten instructions, blocks and tools, or lower conversation.guard.minimum"
        )


class OutputError(OrchestraError):
    """An answer does not fit the agent's ``output_type``, also when asked again. Data: ``agent``, ``problem``."""

    def __init__(self, agent: str, problem: str) -> None:
        super().__init__(agent, problem)
        self.agent, self.problem = agent, problem

    def message(self) -> str:
        """Says what does not fit."""
        return f"the answer of {self.agent!r} does not fit its output_type: {self.problem}"


class ToolError(OrchestraError):
    """What a tool raises to give the model an error result with exactly this text."""


class LimitReached(OrchestraError):
    """A limit of the run was reached. Data: ``limit`` (its name), ``value``."""

    def __init__(self, limit: str, value: float) -> None:
        super().__init__(limit, value)
        self.limit, self.value = limit, value

    def message(self) -> str:
        """Names the limit."""
        return f"the run reached its limit {self.limit}={self.value:g}"
