"""What a host tells of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host at one moment.

    Attributes:
        name: ``primary-0``.
        role: ``primary``, ``sleeptime`` or, without Ray, ``inline``.
        id: Name and incarnation, as in ``RunResult.host``; empty while the host does not answer.
        alive: It answered just now.
        pid: Its process; 0 while it does not answer.
        node: The Ray node's address; empty without Ray.
        active: The runs that it serves, in no order.
        memory_bytes: Resident memory of its process.
        version: Hash of the configuration and code that it was made from.
    """

    name: str
    role: str
    id: str = ""
    alive: bool = False
    pid: int = 0
    node: str = ""
    active: tuple[str, ...] = ()
    memory_bytes: int = 0
    version: str = ""
