"""Conversation strategies: one interface from the log to the history that is shown.

``full`` and ``window`` are whole here. ``summarizing`` and ``safeguard`` need recorded summaries, the window's size and
the clock; who has these assembles them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from orchestra.context.history_limit import limit
from orchestra.context.repair import repair
from orchestra.context.window import last_messages
from orchestra.core.conversation import Window
from orchestra.core.messages import Message

StrategyName: TypeAlias = Literal["full", "window", "summarizing", "safeguard"]


class Strategy(Protocol):
    """From the messages of a log to those that are shown: pure, and the same object when nothing changes."""

    @property
    def name(self) -> StrategyName:
        """What chooses it in a configuration."""

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The history that is shown, oldest first; a valid list for a provider."""


@dataclass(frozen=True, slots=True)
class Full:
    """Everything; prompts grow without bound."""

    name: StrategyName = "full"

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """All messages, repaired."""
        return repair(messages)


@dataclass(frozen=True, slots=True)
class LastOnes:
    """The last turns, or the last messages."""

    window: Window
    name: StrategyName = "window"

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The end of the messages, repaired; a head summary and the user's newest message are always there."""
        whole = repair(messages)
        if self.window.messages is not None:
            return last_messages(whole, self.window.messages)
        return repair(limit(whole, self.window.turns))
