"""To whom an agent of a swarm may hand its task."""

from __future__ import annotations

from collections.abc import Sequence

from orchestra.core.swarm import Swarm


def targets_of(swarm: Swarm, agent: str) -> dict[str, str]:
    """Whom ``agent`` may hand off to, with their descriptions, in declared order: its ``handoffs``, else all others."""
    allowed: Sequence[str] | None = getattr(swarm.members[agent], "handoffs", None)
    return {
        name: "" if isinstance(member, str) else member.description
        for name, member in swarm.members.items()
        if name != agent and (allowed is None or name in allowed)
    }
