"""A runnable as a tool of an agent: a value that definitions hold and hosts make a tool of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from orchestra.core.errors import InputError
from orchestra.core.names import check_agent

if TYPE_CHECKING:
    from orchestra.core.runnable import Runnable

ChildMemory: TypeAlias = Literal["fresh", "session"]
PREFIX = "agent:"
_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class AgentTool:
    """An agent, swarm or graph as a tool: what ``agent.as_tool()`` and ``agent:researcher`` make.

    ``runnable`` is the definition, or its name when it is registered by itself. ``name`` is the tool's (default: the
    runnable's, with ``_`` for what model providers refuse), ``description`` what the model reads (default: the
    runnable's). With ``memory="fresh"`` each call
    starts without messages; with ``"session"`` it remembers its earlier calls under the caller's session.
    """

    runnable: Runnable | str
    name: str = ""
    description: str = ""
    memory: ChildMemory = "fresh"

    def __post_init__(self) -> None:
        """Raises :class:`InputError` for a ``memory`` that there is not."""
        if self.memory not in ("fresh", "session"):
            raise InputError(f"memory={self.memory!r} of a tool: use 'fresh' or 'session'")
        check_agent(self.target)
        if not self.name:
            object.__setattr__(self, "name", _UNUSUAL.sub("_", self.target)[:64])

    @property
    def target(self) -> str:
        """The name of the runnable."""
        return self.runnable if isinstance(self.runnable, str) else self.runnable.name

    @classmethod
    def of(cls, text: str) -> AgentTool | None:
        """The tool that a configuration names (``agent:researcher``), or ``None``."""
        return cls(text.removeprefix(PREFIX).strip()) if text.startswith(PREFIX) else None
