"""What a run asks, and the answers that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from orchestra.core.errors import InputError, ToolError
from orchestra.core.interrupts import (
    APPROVAL,
    Approve,
    Interrupt,
    InterruptKind,
    InterruptView,
    Reject,
    Response,
    response_from_json,
)
from orchestra.core.jsontext import Json, copied

Ask: TypeAlias = Callable[..., Json]
NOT_APPROVED = "The call was not approved, so it did not run."


@dataclass(slots=True)
class Questions:
    """The questions of one run. Owner: its turn; tools ask from their threads too, which only reads.

    ``answers`` are stored responses by id, of this run and of all below it. ``always`` holds the tools (``agent|tool``)
    that are not asked about in this session. ``marks`` collects what the journal keeps when the run is to wait. A
    question's id is made of run, place and name, so it is the same on any host.
    """

    run_id: str = ""
    agent: str = ""
    answers: Mapping[str, Json] = field(default_factory=dict)
    always: frozenset[str] = frozenset()
    open: bool = False
    marks: dict[str, str] = field(default_factory=dict)

    def asker(self, place: str, tool: str = "", arguments: Mapping[str, Json] | None = None) -> Ask:
        """``interrupt(name, reason=None)`` for a tool or hook at ``place``."""

        def interrupt(name: str, reason: str | None = None) -> Json:
            if not isinstance(name, str) or not name.strip():
                raise InputError(f"an interrupt needs a name, not {name!r}")
            response = self._response(f"{place}:{name}", name, reason or "", tool, arguments or {}, "question")
            if isinstance(response, Reject):
                raise ToolError(refusal(response))
            return True if isinstance(response, Approve) else copied(response)

        return interrupt

    def approval(self, place: str, tool: str, arguments: Mapping[str, Json]) -> str | None:
        """``None`` when the call at ``place`` may run, else why not. Raises :class:`Interrupt` until somebody says."""
        response = self._response(place, APPROVAL, f"{tool} needs an approval", tool, arguments, APPROVAL)
        return refusal(response) if isinstance(response, Reject) else None

    def always_approved(self, tool: str) -> bool:
        """Whether nobody wants to be asked about this tool any more."""
        return always_line(self.agent, tool) in self.always

    def _response(
        self, place: str, name: str, reason: str, tool: str, arguments: Mapping[str, Json], kind: InterruptKind
    ) -> Response:
        if not self.open:
            raise InputError(f"interrupt {name!r}: there is nobody to ask here")
        id_ = f"{self.run_id}:{place}"
        if id_ in self.answers:
            return response_from_json(self.answers[id_])  # type: ignore[arg-type]
        raise Interrupt(InterruptView(id_, name, reason, self.agent, tool, copied(dict(arguments)), kind))  # type: ignore[arg-type]


def no_questions(name: str, reason: str | None = None) -> Json:
    """Stands where nobody can be asked."""
    raise InputError(f"interrupt {name!r}: there is nobody to ask here")


def always_line(agent: str, tool: str) -> str:
    """How "always" is remembered for a tool of an agent."""
    return f"{agent}|{tool}"


def refusal(response: Reject) -> str:
    """What the model reads when somebody has said no."""
    return f"{NOT_APPROVED} Reason: {response.reason}" if response.reason else NOT_APPROVED


def asked_in(error: BaseException) -> Interrupt | None:
    """The questions in a group of errors that has nothing else in it, as of a task group of a tool."""
    if isinstance(error, Interrupt):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    parts = [asked_in(part) for part in error.exceptions]
    if any(part is None for part in parts):
        return None
    return Interrupt(*(one for part in parts if part is not None for one in part.interrupts))
