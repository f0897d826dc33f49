"""What narrows a search before anything is counted: labels and a span of time."""

from __future__ import annotations

from dataclasses import dataclass

from orchestra.core.passages import TagMode
from orchestra.core.span import ALWAYS, Span


@dataclass(frozen=True, slots=True)
class Filter:
    """Entries that have ``any`` or ``all`` of ``labels`` (none: every entry) and whose time lies in ``span``."""

    labels: tuple[str, ...] = ()
    match: TagMode = "any"
    span: Span = ALWAYS


EVERYTHING = Filter()
