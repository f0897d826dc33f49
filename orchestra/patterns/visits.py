"""Visits of nodes, what they are given, and what they come to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from orchestra.core.errors import InputError
from orchestra.core.handoff import Handoff
from orchestra.core.jsontext import Json, copied
from orchestra.core.messages import Message
from orchestra.core.model import Usage
from orchestra.core.names import derived_id
from orchestra.core.pickling import by_constructor
from orchestra.core.runnable import Memory

NodeStatus: TypeAlias = Literal["completed", "failed", "interrupted", "cancelled", "limit", "skipped"]
ABORTED = "aborted"
"""The reason of a failed result that ends the whole run, whatever ``on_failure`` says: a hook's way to abort."""
NODE_TIMEOUT = "node_timeout"
_KEY = re.compile(r"(.+)#(\d+)(?:\[(\d+)\])?", re.DOTALL)


@by_constructor
@dataclass(frozen=True, slots=True)
class NodeResult:
    """What one visit of a node came to.

    ``reason`` is a word that a program can test, ``error`` the text for people. ``output`` is text or structured data,
    ``text`` the same as text. ``interrupts`` are those of the node and of what runs below it. How long it took is not
    here: equal runs have equal results.
    """

    status: NodeStatus
    reason: str = ""
    error: str = ""
    output: Json = None
    text: str = ""
    handoff: Handoff | None = None
    usage: Usage = field(default_factory=Usage)
    usage_by_agent: Mapping[str, Usage] = field(default_factory=dict)
    interrupts: tuple[Json, ...] = ()
    guardrail_results: tuple[Json, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether edges for success are satisfied: completed, or skipped by a hook."""
        return self.status in ("completed", "skipped")

    @property
    def settles(self) -> bool:
        """Whether the visit has ended for good; an interrupted or cancelled one may go on later."""
        return self.status not in ("interrupted", "cancelled")

    def to_json(self) -> dict[str, Json]:
        """The fields that say something."""
        out: dict[str, Json] = {"status": self.status}
        for name in ("reason", "error", "output", "text"):
            if (item := getattr(self, name)) not in ("", None):
                out[name] = item
        if self.handoff is not None:
            out["handoff"] = self.handoff.to_json()
        if self.usage != Usage():
            out["usage"] = self.usage.to_json()
        if self.usage_by_agent:
            out["usage_by_agent"] = {name: usage.to_json() for name, usage in self.usage_by_agent.items()}
        if self.interrupts:
            out["interrupts"] = list(self.interrupts)
        if self.guardrail_results:
            out["guardrail_results"] = list(self.guardrail_results)
        return out

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> NodeResult:
        """The inverse of :meth:`to_json`."""
        handoff = cast("Mapping[str, Json] | None", value.get("handoff"))
        by_agent = cast("Mapping[str, Mapping[str, Json]]", value.get("usage_by_agent") or {})
        return cls(
            cast("NodeStatus", value["status"]),
            str(value.get("reason", "")),
            str(value.get("error", "")),
            value.get("output"),
            str(value.get("text", "")),
            Handoff.from_json(handoff) if handoff else None,
            Usage.from_json(cast("Mapping[str, Json]", value.get("usage") or {})),
            {name: Usage.from_json(usage) for name, usage in by_agent.items()},
            tuple(cast("Sequence[Json]", value.get("interrupts") or ())),
            tuple(cast("Sequence[Json]", value.get("guardrail_results") or ())),
        )


@by_constructor
@dataclass(frozen=True, slots=True)
class VisitInput:
    """What a node is given. ``messages`` is for an agent, ``text`` the same as one text.

    ``outputs`` has what the nodes before it gave, as data, by their names in the order of the declared edges; ``item``
    is this visit's item of a ``map``; ``value`` is what a node's own ``inputs`` function returned.
    """

    messages: tuple[Message, ...]
    text: str
    outputs: Mapping[str, Json] = field(default_factory=dict)
    item: Json = None
    value: Json = None


@by_constructor
@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a node.

    ``number`` counts the visits of this node from 1, ``index`` all visits of the run from 0 in the order in which they
    became ready. ``item`` is the index in a ``map``'s list. ``runs`` names what works there. With ``verdict`` nothing
    is to be run: that is its result. ``gated``: somebody must approve first.
    """

    node: str
    number: int
    index: int
    runs: str
    memory: Memory
    given: VisitInput
    item: int | None = None
    verdict: NodeResult | None = None
    gated: bool = False

    @property
    def key(self) -> str:
        """``check#2``, or ``part#1[3]`` for an item: the same in every run of this graph on this input."""
        return visit_key(self.node, self.number, self.item)

    def copied(self) -> Visit:
        """The same visit for a hook to look at: what that does to the data in it is done to nothing else."""
        given = self.given
        outputs, item, value = copied(dict(given.outputs)), copied(given.item), copied(given.value)
        return replace(self, given=replace(given, outputs=outputs, item=item, value=value))  # type: ignore[arg-type]


def visit_key(node: str, number: int, item: int | None) -> str:
    """``check#2``, or ``part#1[3]`` for an item."""
    return f"{node}#{number}" if item is None else f"{node}#{number}[{item}]"


def split_key(key: str) -> tuple[str, int, int | None]:
    """Node, number and item of a visit's key.

    Raises:
        InputError: it is no such key.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise InputError(f"{key!r} is no visit's key")
    return found[1], int(found[2]), int(found[3]) if found[3] else None


def interrupt_id(run_id: str, visit: Visit) -> str:
    """The id under which a run asks for the approval of a visit; always the same one."""
    return derived_id(run_id, visit.key, "approval")


@by_constructor
@dataclass(frozen=True, slots=True)
class Settlement:
    """A visit's result with what was decided because of it, as the journal keeps it.

    ``edges`` maps the index of each outgoing edge that was looked at to whether it is satisfied, or to the text of the
    error that its condition raised. Decisions are kept rather than made again: a condition may look at the clock, or at
    an ``invocation_state`` that is another one after resuming.
    """

    visit: str
    result: NodeResult
    edges: Mapping[int, bool | str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """As the journal keeps it."""
        edges: dict[str, Json] = {str(index): taken for index, taken in self.edges.items()}
        return {"visit": self.visit, "result": self.result.to_json(), "edges": edges}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Settlement:
        """The inverse of :meth:`to_json`."""
        edges = cast("Mapping[str, bool | str]", value.get("edges") or {})
        result = NodeResult.from_json(cast("Mapping[str, Json]", value["result"]))
        return cls(str(value["visit"]), result, {int(index): taken for index, taken in edges.items()})


def summed(results: Sequence[NodeResult]) -> tuple[Usage, dict[str, Usage]]:
    """The usage of all results together, in total and by agent."""
    total, by_agent = Usage(), dict[str, Usage]()
    for result in results:
        total += result.usage
        for name, usage in result.usage_by_agent.items():
            by_agent[name] = by_agent.get(name, Usage()) + usage
    return total, by_agent
