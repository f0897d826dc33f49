"""Questions that a run waits for: what is asked, what may be answered, and the state of such a run as a JSON value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from orchestra.core.errors import InputError, UnknownInterrupt
from orchestra.core.jsontext import Json, copied, fault
from orchestra.core.pickling import by_constructor

InterruptKind: TypeAlias = Literal["approval", "question"]
APPROVAL: Final = "approval"


@by_constructor
@dataclass(frozen=True, slots=True)
class InterruptView:
    """One thing that a run waits for. ``id`` is the same whenever and wherever the run gets there.

    ``kind`` is ``approval`` (answered by :class:`Approve` or :class:`Reject`) or ``question`` (answered by any JSON
    value, or by :class:`Reject`). ``agent`` asked; ``tool`` with ``arguments`` is what it asked for or in, ``""``
    outside of a tool. ``node`` is the node of a pattern, if one waits.
    """

    id: str
    name: str
    reason: str = ""
    agent: str = ""
    tool: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    kind: InterruptKind = "question"
    node: str = ""

    def to_json(self) -> dict[str, Json]:
        """All fields."""
        return {
            "id": self.id,
            "name": self.name,
            "reason": self.reason,
            "agent": self.agent,
            "tool": self.tool,
            "arguments": copied(dict(self.arguments)),
            "kind": self.kind,
            "node": self.node,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> InterruptView:
        """The inverse of :meth:`to_json`; what is missing is empty, and what is named ``approval`` asks for one."""
        text = {key: str(value.get(key) or "") for key in ("id", "name", "reason", "agent", "tool", "node")}
        kind = value.get("kind") or (APPROVAL if text["name"] == APPROVAL else "question")
        arguments = cast("Mapping[str, Json]", value.get("arguments") or {})
        return cls(arguments=arguments, kind=cast("InterruptKind", kind), **text)


@dataclass(frozen=True, slots=True)
class Approve:
    """Yes: the tool runs, with the arguments that were shown.

    ``always``: this tool is not asked about again in this session. Nodes of graphs are asked about in each run.
    """

    always: bool = False


@dataclass(frozen=True, slots=True)
class Reject:
    """No: the tool does not run (again), and the model gets an error result with the reason."""

    reason: str = ""


Response: TypeAlias = "Approve | Reject | Json"


class Interrupt(BaseException):
    """A tool or hook has asked something that nobody has answered yet: the run ends here, until it is resumed.

    Raised by ``ctx.interrupt`` and passed on by tools; no ``Exception``, so that ``except Exception`` in a tool does
    not swallow it. Data: ``interrupts``, what is asked.
    """

    def __init__(self, *interrupts: InterruptView) -> None:
        super().__init__(*interrupts)
        self.interrupts = interrupts

    def __str__(self) -> str:
        return "the run waits for an answer to " + ", ".join(repr(one.name) for one in self.interrupts)


def response_to_json(interrupt: InterruptView, response: Response) -> dict[str, Json]:
    """An answer as it is stored. Raises :class:`InputError` for one that does not answer ``interrupt``."""
    if isinstance(response, Approve):
        if response.always and interrupt.kind == APPROVAL and not interrupt.tool:
            raise InputError(f"{interrupt.node!r} is asked about in each run: answer {interrupt.id} with Approve()")
        return {"approve": True, "always": response.always}
    if isinstance(response, Reject):
        return {"reject": response.reason}
    if interrupt.kind == APPROVAL:
        raise InputError(
            f"interrupt {interrupt.id} asks for an approval: answer it with Approve() or Reject(reason), "
            f"not with a {type(response).__name__}"
        )
    if found := fault(response, f"the answer to {interrupt.id}"):
        raise InputError(": ".join(found))
    return {"value": response}


def response_from_json(value: Mapping[str, Json]) -> Response:
    """The inverse of :func:`response_to_json`."""
    if "approve" in value:
        return Approve(bool(value.get("always")))
    if "reject" in value:
        return Reject(str(value["reject"]))
    return value.get("value")


class RunState(dict[str, Json]):
    """An interrupted run as a JSON value: ``json.dumps`` writes it, ``RunState(json.loads(text))`` has it back.

    ``runtime.resume(state)`` takes it in place of a run id. It holds the run's id, what is asked and what has been
    answered here; of a run without a session, of which nothing is stored, also what it has done so far. It carries no
    ``invocation_state``: hand that in again.
    """

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return str(self["run_id"])

    @property
    def interrupts(self) -> Sequence[InterruptView]:
        """What is asked."""
        return [InterruptView.from_json(one) for one in cast("list[dict[str, Json]]", self.get("interrupts") or [])]

    @property
    def responses(self) -> Mapping[str, Response]:
        """What has been answered here, by the interrupts' ids."""
        given = cast("dict[str, dict[str, Json]]", self.get("responses") or {})
        return {name: response_from_json(value) for name, value in given.items()}

    def approve(self, interrupt: InterruptView | str, *, always: bool = False) -> RunState:
        """Answer with :class:`Approve`; gives the state itself. Raises :class:`UnknownInterrupt`."""
        return self._answer(interrupt, Approve(always))

    def reject(self, interrupt: InterruptView | str, reason: str = "") -> RunState:
        """Answer with :class:`Reject`; gives the state itself. Raises :class:`UnknownInterrupt`."""
        return self._answer(interrupt, Reject(reason))

    def respond(self, interrupt: InterruptView | str, value: Json) -> RunState:
        """Answer a question with any JSON value; gives the state itself.

        Raises:
            UnknownInterrupt: the run does not wait for that.
            InputError: it asks for an approval, or ``value`` is no JSON.
        """
        return self._answer(interrupt, value)

    def _answer(self, interrupt: InterruptView | str, response: Response) -> RunState:
        name = interrupt if isinstance(interrupt, str) else interrupt.id
        asked = {one.id: one for one in self.interrupts}
        if name not in asked:
            raise UnknownInterrupt(self.run_id, name, tuple(asked))
        given = cast("dict[str, Json]", self.setdefault("responses", {}))
        given[name] = cast("Json", response_to_json(asked[name], response))
        return self
