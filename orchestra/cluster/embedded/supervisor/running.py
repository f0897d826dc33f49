"""What a supervisor publishes about itself, and why one gave up."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from .files import Files, read_text, replace_text
from .process import Process


@dataclass(frozen=True)
class Running:
    """The state of one supervisor. Its owner is that supervisor; everybody else reads.

    A reader trusts it only while ``supervisor`` is alive: a killed one leaves its file behind.
    """

    incarnation: str
    supervisor: Process
    server: Process | None
    ready: bool
    socket: str
    kind: str
    version: str
    durability: str

    def write(self, files: Files) -> None:
        """Publish; readers see all of it or nothing."""
        replace_text(files.running, json.dumps(asdict(self)))

    @classmethod
    def read(cls, files: Files) -> Running | None:
        """What was published last, None when there is nothing."""
        try:
            data = json.loads(read_text(files.running) or "")
            server = data.pop("server")
            return cls(
                supervisor=Process(**data.pop("supervisor")),
                server=None if server is None else Process(**server),
                **data,
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None  # Not there, or empty after a power cut: it is not synced, since no supervisor survives one.

    @classmethod
    def read_live(cls, files: Files) -> Running | None:
        """What a supervisor that still lives has published."""
        running = cls.read(files)
        return running if running is not None and running.supervisor.alive() else None


@dataclass(frozen=True)
class Failure:
    """Why a supervisor gave up. ``incarnation`` tells one failure from an earlier one with the same text."""

    incarnation: str
    problem: str

    def write(self, files: Files) -> None:
        """Leave it for those who wait."""
        replace_text(files.failure, json.dumps(asdict(self)))

    @classmethod
    def read(cls, files: Files) -> Failure | None:
        """The last one, None when the last server became ready."""
        try:
            return cls(**json.loads(read_text(files.failure) or ""))
        except (ValueError, TypeError):
            return None
