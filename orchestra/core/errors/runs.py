"""Interrupted runs, and what keeps one from being resumed. Whatever is refused here has changed nothing."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.errors.root import InputError


class ResumeError(InputError):
    """A run cannot be resumed like this; nothing was changed. Data: ``run_id``."""

    def __init__(self, run_id: str, *more: object) -> None:
        super().__init__(run_id, *more)
        self.run_id = run_id


class UnknownInterrupt(ResumeError):
    """An answer to what nobody has asked. Data: ``run_id``, ``id``, ``known``."""

    def __init__(self, run_id: str, id: str, known: Sequence[str] = ()) -> None:
        super().__init__(run_id, id, tuple(known))
        self.id, self.known = id, tuple(known)

    def message(self) -> str:
        """Lists what the run waits for."""
        waits = f"it waits for: {', '.join(self.known)}" if self.known else "it waits for nothing"
        return f"run {self.run_id} has not asked {self.id!r}; {waits}"


class MissingAnswer(ResumeError):
    """The run waits for more than was answered. Data: ``run_id``, ``ids``, those without an answer."""

    def __init__(self, run_id: str, ids: Sequence[str]) -> None:
        super().__init__(run_id, tuple(ids))
        self.ids = tuple(ids)

    def message(self) -> str:
        """Lists what is missing."""
        return f"run {self.run_id} waits for answers to {', '.join(self.ids)}; give all of them at once"


class AlreadyAnswered(ResumeError):
    """The answer has been given before. Data: ``run_id``, ``id``."""

    def __init__(self, run_id: str, id: str) -> None:
        super().__init__(run_id, id)
        self.id = id

    def message(self) -> str:
        """Says how to go on."""
        return f"interrupt {self.id} of run {self.run_id} has been answered; resume the run without responses"


class RunFinished(ResumeError):
    """The run has ended, so there is nothing to answer. Data: ``run_id``."""

    def message(self) -> str:
        """Says how to get its result."""
        return f"run {self.run_id} has ended and waits for nothing; resume it without responses to get its result"
