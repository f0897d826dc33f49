"""Gates: whether a step of the context is due, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gate:
    """A yes or a no with its reason, a sentence for the event that tells of it. True in a condition when yes."""

    yes: bool
    reason: str

    def __bool__(self) -> bool:
        """Whether it is a yes."""
        return self.yes
