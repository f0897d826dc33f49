"""Playing a scenario: the player, what it tells while it plays, and its report."""

from orchestra.cluster.scenario.player import ScenarioPlayer
from orchestra.cluster.scenario.report import PlayReport

__all__ = ["PlayReport", "ScenarioPlayer"]
