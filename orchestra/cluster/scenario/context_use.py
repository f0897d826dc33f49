"""What kept the prompts of a play within the window, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestra.core.events import ContextDecided, ModelReplied, RunEvent
from orchestra.core.jsontext import Json

NAMES = {
    "flush": ("memory flush", "memory flushes"),
    "compaction": ("compaction", "compactions"),
    "pruning": ("time old results were shortened", "times old results were shortened"),
    "offload": ("large result put away", "large results put away"),
    "fit": ("time older turns were left out", "times older turns were left out"),
    "overflow": ("overflow", "overflows"),
    "pressure": ("notice of memory pressure", "notices of memory pressure"),
}


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How often each step was done and how often it failed; the largest prompt with its reply, and the window."""

    done: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    largest: int = 0
    window: int = 0

    @property
    def any(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.done or self.failed)

    def to_json(self) -> dict[str, Json]:
        """All of it."""
        return {
            "done": dict(self.done),
            "failed": dict(self.failed),
            "largest_tokens": self.largest,
            "window_tokens": self.window,
        }

    def text(self) -> str:
        """One sentence."""
        parts = [f"{n} {names[n != 1]}" for part, names in NAMES.items() if (n := self.done.get(part, 0))]
        parts += [f"{count} failed: {part}" for part, count in self.failed.items()]
        return f"{', '.join(parts)}; the largest prompt had {self.largest:,} of {self.window:,} tokens"


class ContextWatch:
    """Counts what the events of a play tell. Owner: the player."""

    def __init__(self) -> None:
        self._done: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._largest = self._window = 0

    def see(self, event: RunEvent) -> None:
        """One more event."""
        if isinstance(event, ModelReplied):
            self._largest = max(self._largest, event.usage.total_tokens)
        elif isinstance(event, ContextDecided):
            self._window = max(self._window, event.window)
            if event.decision == "failed":
                self._failed[event.part] += 1
            # A flush that is due is told before and after: it counts when it is done.
            elif event.decision == "yes" and event.part in NAMES:
                self._done[event.part] += event.part != "flush" or event.reason.startswith("done")

    def use(self) -> ContextUse:
        """What it came to."""
        return ContextUse(
            {part: n for part, n in self._done.items() if n}, dict(self._failed), self._largest, self._window
        )
