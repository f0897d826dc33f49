"""Who is next and what it is given: the one thing in which swarm and graph differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from orchestra.core.result import Status
from orchestra.patterns.outcome import PatternOutcome
from orchestra.patterns.visits import NodeResult, Settlement, Visit


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ends before everything ran. ``running``: what happens to the visits that are running."""

    status: Status
    reason: str
    error: str
    running: Literal["cancel", "finish"] = "cancel"


class Planner(Protocol):
    """A deterministic state machine whose only state is what it was told in :meth:`settled`.

    A planner that is told the settlements of an earlier process, in their order, stands where that one stood: what is
    ``ready`` then is what was running or about to run there.
    """

    def ready(self) -> Sequence[Visit]:
        """The visits that may start now and were not given before, in the order in which they are to start."""

    def judge(self, visit: Visit, result: NodeResult) -> Settlement:
        """What ``result`` decides. Changes nothing: the settlement is stored before anything follows from it."""

    def settled(self, settlement: Settlement) -> None:
        """Go on from a settlement, new or of an earlier process.

        Raises:
            InputError: it settles a visit that is not outstanding, so it comes from another definition or input.
        """

    @property
    def stop(self) -> Stop | None:
        """Why nothing more may start; ``None`` while the run goes on or has run to its end."""

    def outcome(self, unsettled: Sequence[tuple[Visit, NodeResult]] = (), stop: Stop | None = None) -> PatternOutcome:
        """The outcome as of now. ``unsettled`` visits were interrupted or cancelled; ``stop`` is why it ends."""
