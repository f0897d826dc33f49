"""What the starter of a supervisor hands to it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Settings:
    """Paths are absolute; descriptors are inherited. ``lock`` is the supervisor lock, already held by the starter."""

    data_dir: str
    socket: str
    binary: str
    durability: str
    lock: int
    report: int

    def to_argument(self) -> str:
        """One ASCII argument, whatever the paths and the locale are."""
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, argument: str) -> Settings:
        """The inverse of :meth:`to_argument`."""
        return cls(**json.loads(argument))
