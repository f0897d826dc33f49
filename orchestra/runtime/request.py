"""What a host is asked to do: one turn of one agent. Plain values, so it travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestra.core.agent import Limits, OnBusy
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import ServerConversation
from orchestra.core.pickling import by_constructor


@by_constructor
@dataclass(frozen=True, slots=True)
class RunRequest:
    """One turn. The same ``run_id`` sent again, to any host, continues or answers the same turn.

    Without ``session_id`` nothing is loaded or stored; ``history`` is then what the model sees before ``input``.
    ``functions`` names the by-value functions that travel beside the request. With a ``conversation`` the provider
    keeps what was said before; there is no session and no history then.
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
    conversation: ServerConversation | None = None

    def to_text(self) -> str:
        """What is stored when the run begins, so that it can be done again without its caller."""
        limits = self.limits.model_dump(mode="json", exclude_unset=True) if self.limits else None
        kept = {"conversation": self.conversation.to_json()} if self.conversation else {}
        return dumps({"messages": [message.to_json() for message in self.input], "limits": limits, **kept})

    @classmethod
    def from_text(cls, text: str, *, run_id: str, agent: str, session_id: str, user_id: str | None) -> RunRequest:
        """The request again, for the same run."""
        value: Mapping[str, Json] = loads(text)
        messages: object = value["messages"]
        limits = value["limits"]
        kept: Mapping[str, Json] | None = value.get("conversation")  # type: ignore[assignment]
        return cls(
            run_id=run_id,
            agent=agent,
            input=tuple(Message.from_json(message) for message in messages),  # type: ignore[attr-defined]
            session_id=session_id,
            user_id=user_id,
            limits=None if limits is None else Limits.model_validate(limits),
            conversation=None if kept is None else ServerConversation.from_json(kept),
        )
