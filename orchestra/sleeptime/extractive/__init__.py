"""The extractive consolidator: keeps, supersedes and removes sentences without a language model."""

from orchestra.sleeptime.extractive.consolidator import consolidate
from orchestra.sleeptime.extractive.line import Line, Said

__all__ = ["Line", "Said", "consolidate"]
