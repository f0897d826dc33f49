"""What shapes a chat history when it is loaded and before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestra.core.errors import InputError
from orchestra.memory.call_pairs import whole_pairs
from orchestra.memory.session_items import Item


class Preprocessor(Protocol):
    """A function from messages to messages. It gets copies; what it changes in them is changed in its answer only."""

    def __call__(self, messages: Sequence[Item], /) -> Sequence[Item]:
        """The messages that stay, oldest first."""


@dataclass(frozen=True, slots=True)
class WindowSize:
    """The last ``size`` messages; fewer where a call would be cut from its result. Raises :class:`InputError`."""

    size: int

    def __post_init__(self) -> None:
        """Refuse what is no window."""
        if self.size < 1:
            raise InputError(f"window size {self.size}: use 1 or more")

    def __call__(self, messages: Sequence[Item], /) -> Sequence[Item]:
        """The end of ``messages``."""
        return whole_pairs(messages, range(max(0, len(messages) - self.size), len(messages)))


@dataclass(frozen=True, slots=True)
class FilterMessages:
    """The messages for which ``predicate`` is true; a call or result whose other half goes, goes with it."""

    predicate: Callable[[Item], bool]

    def __call__(self, messages: Sequence[Item], /) -> Sequence[Item]:
        """The messages that pass."""
        return whole_pairs(messages, [place for place, message in enumerate(messages) if self.predicate(message)])


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The agent's current system prompt in front, in place of any that was stored."""

    text: str

    def __call__(self, messages: Sequence[Item], /) -> Sequence[Item]:
        """The messages under the current prompt."""
        return [{"role": "system", "content": self.text}, *without_system(messages)]


def without_system(messages: Sequence[Item]) -> list[Item]:
    """The messages that are no system prompt."""
    return [message for message in messages if not (isinstance(message, dict) and message.get("role") == "system")]


def applied(preprocessors: Sequence[Preprocessor], messages: Sequence[Item]) -> list[Item]:
    """The messages after all of them, in order."""
    for preprocessor in preprocessors:
        messages = preprocessor(messages)
    return list(messages)
