"""Where a child run comes from: its parent, the session that its thread belongs to, who called whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from orchestra.core.jsontext import Json
from orchestra.core.pickling import by_constructor


@by_constructor
@dataclass(frozen=True, slots=True)
class Lineage:
    """What a child run is told of where it stands.

    ``parent`` is the run that made it; ``root`` the thread of the session that it belongs to (``""`` without a
    session); ``branch`` what names its own thread below that; ``callers`` the runnables above it, outermost first.
    ``home`` is the branch that keeps the agent's state, which outlives a thread of one call (``""``: the same one).
    Its thread is kept for ``keep`` seconds after its last write, ``None``: as long as the session, which itself is kept
    for ``ttl`` seconds (``None``: for ever).
    """

    parent: str
    root: str = ""
    branch: str = ""
    callers: tuple[str, ...] = ()
    home: str = ""
    keep: float | None = None
    ttl: float | None = None

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return {**asdict(self), "callers": list(self.callers)}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Lineage:
        """The inverse of :meth:`to_json`."""
        fields = {**value, "callers": tuple(cast("Sequence[str]", value["callers"]))}
        return cls(**fields)  # type: ignore[arg-type]

    @property
    def life(self) -> float | None:
        """How long, in seconds, the child's thread is kept from now on by itself."""
        lives = [seconds for seconds in (self.keep, self.ttl) if seconds is not None]
        return min(lives, default=None)
