"""The result of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

from pydantic_core import to_jsonable_python

from orchestra.core.guardrails import GuardrailResult
from orchestra.core.interrupts import InterruptView, RunState
from orchestra.core.jsontext import Json, copied
from orchestra.core.messages import Message
from orchestra.core.model import ModelReply, Usage
from orchestra.core.pickling import by_constructor

Status: TypeAlias = Literal["completed", "interrupted", "failed", "cancelled", "limit"]


@by_constructor
@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    ``output`` is the answer: text, or of an agent with an ``output_type`` JSON, which the client makes an
    instance of that type where this program has given it. ``reason`` is a word that a program can test (``""`` when
    completed), ``error`` the text for people. ``messages``
    are those that this run made, its input first. ``turn`` counts the completed turns of the session, this one
    included. ``duplicate`` is True when the run had ended before and only its stored result is given again.
    ``last_response_id`` belongs to a conversation that the provider keeps: the reply that the next run goes on from, as
    its ``previous_response_id``. Of a swarm or graph, ``node_history`` names the nodes in the order of their visits,
    and ``node_results`` has for each node the results of all its visits as JSON objects (``status``, ``output``, …).
    ``interrupts`` are what an interrupted run waits for; ``carried`` is what such a run without a session has done so
    far, as :meth:`to_state` hands it on. ``guardrail_results`` are the guardrails that ended the run.
    """

    run_id: str
    status: Status
    output: Any = None
    reason: str = ""
    error: str = ""
    messages: tuple[Message, ...] = ()
    raw_responses: tuple[ModelReply, ...] = ()
    last_agent: str = ""
    usage: Usage = field(default_factory=Usage)
    usage_by_agent: Mapping[str, Usage] = field(default_factory=dict)
    session_id: str | None = None
    turn: int = 0
    host: str = ""
    duplicate: bool = False
    last_response_id: str | None = None
    node_results: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    node_history: tuple[str, ...] = ()
    interrupts: tuple[InterruptView, ...] = ()
    carried: Mapping[str, Json] | None = None
    guardrail_results: tuple[GuardrailResult, ...] = ()

    def to_state(self) -> RunState:
        """The interrupted run as a JSON value that can be answered, kept anywhere, and given to ``runtime.resume``."""
        state = RunState(run_id=self.run_id, interrupts=[one.to_json() for one in self.interrupts], responses={})
        if self.carried is not None:
            state["carried"] = copied(dict(self.carried))
        return state

    def to_input_list(self, mode: Literal["preserve_all", "normalized"] = "preserve_all") -> list[dict[str, Json]]:
        """This run's messages as the input of the next run, for people who keep the history themselves."""
        kept = (message for message in self.messages if mode == "preserve_all" or not message.meta.synthetic)
        return [message.to_json(meta=False) for message in kept]

    def to_json(self, *, messages: bool = True) -> dict[str, Json]:
        """The result as one JSON object; without ``messages`` it is what the store remembers of a finished run."""
        return {
            "run_id": self.run_id,
            "status": self.status,
            "reason": self.reason,
            "error": self.error,
            "output": to_jsonable_python(self.output, by_alias=False),
            "last_agent": self.last_agent,
            "session_id": self.session_id,
            "turn": self.turn,
            "last_response_id": self.last_response_id,
            "usage": self.usage.to_json(),
            "usage_by_agent": {name: usage.to_json() for name, usage in self.usage_by_agent.items()},
            **self._of_nodes(),
            **self._of_guardrails(),
            "interrupts": [interrupt.to_json() for interrupt in self.interrupts],
            "messages": [message.to_json() for message in self.messages] if messages else [],
        }

    def _of_nodes(self) -> dict[str, Json]:
        results: dict[str, Json] = {name: list(visits) for name, visits in self.node_results.items()}
        return {"node_results": results, "node_history": list(self.node_history)} if self.node_history else {}

    def _of_guardrails(self) -> dict[str, Json]:
        tripped: list[Json] = [one.to_json() for one in self.guardrail_results]
        return {"guardrail_results": tripped} if tripped else {}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> RunResult:
        """The inverse of :meth:`to_json`; model replies are not kept."""
        made = cls(**{name: value[name] for name in _PLAIN if name in value})  # type: ignore[arg-type]
        by_agent: object = value.get("usage_by_agent") or {}
        listed: object = value.get("messages") or []
        nodes, history = value.get("node_results") or {}, value.get("node_history") or ()
        asked: object = value.get("interrupts") or []
        tripped: object = value.get("guardrail_results") or []
        return replace(
            made,
            node_results=cast("Mapping[str, Sequence[Json]]", nodes),
            node_history=tuple(cast("Sequence[str]", history)),
            usage=Usage.from_json(value.get("usage") or {}),  # type: ignore[arg-type]
            usage_by_agent={name: Usage.from_json(usage) for name, usage in by_agent.items()},  # type: ignore[attr-defined]
            messages=tuple(Message.from_json(message) for message in listed),  # type: ignore[attr-defined]
            guardrail_results=tuple(GuardrailResult.from_json(one) for one in tripped),  # type: ignore[attr-defined]
            interrupts=tuple(InterruptView.from_json(one) for one in asked),  # type: ignore[attr-defined]
        )


_PLAIN = ("run_id", "status", "reason", "error", "output", "last_agent", "session_id", "turn", "last_response_id")
