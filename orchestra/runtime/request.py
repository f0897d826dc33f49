"""What a host is asked to do: one turn of one agent. Plain values, so it travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestra.core.agent import Limits, OnBusy
from orchestra.core.jsontext import Json, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import ServerConversation
from orchestra.core.names import thread_name
from orchestra.core.pickling import by_constructor
from orchestra.runtime.lineage import Lineage


@by_constructor
@dataclass(frozen=True, slots=True)
class RunRequest:
    """One turn. The same ``run_id`` sent again, to any host, continues or answers the same turn.

    Without ``session_id`` nothing is loaded or stored; ``history`` is then what the model sees before ``input``.
    ``functions`` names the by-value functions that travel beside the request. With a ``conversation`` the provider
    keeps what was said before; there is no session and no history then.

    A child run has a ``lineage``; ``left`` is what is left to it of the limits of the run above it, and ``handoffs``
    names the agents (with their descriptions) of the swarm to whom it may hand its task. ``answering``: its answer
    may be that of the whole run.

    ``answers`` are responses by id to what this run, or one below it, has asked (of a run in a session its own stand in
    Redis too), ``approved`` the tools that are not asked about. ``carried`` is the journal of a run without a session
    that goes on. ``ending`` ends a run that waits, with this as reason; nothing of it runs any more.
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
    lineage: Lineage | None = None
    left: Limits | None = None
    handoffs: tuple[tuple[str, str], ...] = ()
    answers: Mapping[str, Json] = field(default_factory=dict)
    approved: tuple[str, ...] = ()
    carried: Mapping[str, str] = field(default_factory=dict)
    ending: str = ""
    answering: bool = False

    @property
    def parent(self) -> str:
        """The run that this one is a child of, or ``""``."""
        return "" if self.lineage is None else self.lineage.parent

    @property
    def callers(self) -> tuple[str, ...]:
        """The runnables above this one, outermost first."""
        return () if self.lineage is None else self.lineage.callers

    @property
    def thread(self) -> str:
        """The thread that it works on; ``""`` without a session."""
        if self.session_id is None:
            return ""
        return thread_name(self.agent, self.session_id, "" if self.lineage is None else self.lineage.branch)

    @property
    def home(self) -> str:
        """The thread that keeps the state of a child whose own thread does not last; ``""``: its own."""
        if self.session_id is None or self.lineage is None or not self.lineage.home:
            return ""
        return thread_name(self.agent, self.session_id, self.lineage.home)

    @property
    def root(self) -> str:
        """The thread of the session that this run belongs to: its own, or for a child that of the outermost run."""
        return self.thread if self.lineage is None else self.lineage.root

    def to_text(self, shape: Mapping[str, Json] | None = None) -> str:
        """What is stored when the run begins, so that it can be done again without its caller.

        ``shape`` is what of the definition the run depends on from then on.
        """
        limits = self.limits.model_dump(mode="json", exclude_unset=True) if self.limits else None
        kept: dict[str, Json] = {"conversation": self.conversation.to_json()} if self.conversation else {}
        if shape is not None:
            kept["shape"] = dict(shape)
        if self.lineage is not None:
            kept["lineage"] = self.lineage.to_json()
        return dumps({"messages": [message.to_json() for message in self.input], "limits": limits, **kept})

    @classmethod
    def from_text(cls, text: str, *, run_id: str, agent: str, session_id: str, user_id: str | None) -> RunRequest:
        """The request again, for the same run."""
        value: Mapping[str, Json] = loads(text)
        messages: object = value["messages"]
        limits = value["limits"]
        kept: Mapping[str, Json] | None = value.get("conversation")  # type: ignore[assignment]
        lineage: Mapping[str, Json] | None = value.get("lineage")  # type: ignore[assignment]
        return cls(
            run_id=run_id,
            agent=agent,
            input=tuple(Message.from_json(message) for message in messages),  # type: ignore[attr-defined]
            session_id=session_id,
            user_id=user_id,
            limits=None if limits is None else Limits.model_validate(limits),
            conversation=None if kept is None else ServerConversation.from_json(kept),
            lineage=None if lineage is None else Lineage.from_json(lineage),
        )
