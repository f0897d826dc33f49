"""What a host is asked to do: one turn of one agent. Plain values, so it travels."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestra.core.agent import Limits, OnBusy
from orchestra.core.messages import Message
from orchestra.core.pickling import by_constructor


@by_constructor
@dataclass(frozen=True, slots=True)
class RunRequest:
    """One turn. The same ``run_id`` sent again, to any host, continues or answers the same turn.

    Without ``session_id`` nothing is loaded or stored; ``history`` is then what the model sees before ``input``.
    ``functions`` names the by-value functions that travel beside the request.
    """

    run_id: str
    agent: str
    input: tuple[Message, ...]
    session_id: str | None = None
    user_id: str | None = None
    limits: Limits | None = None
    on_busy: OnBusy | None = None
    history: tuple[Message, ...] = ()
    needs_invocation_state: bool = False
    path: tuple[str, ...] = field(default=())
