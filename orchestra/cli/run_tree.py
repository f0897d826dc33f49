"""A run as a tree that grows with its events: nodes, handoffs, tool calls, agents within, tokens and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from orchestra.core.agent import RESERVED_TOOLS
from orchestra.core.events import (
    HandedOff,
    Interrupted,
    ModelReplied,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunEvent,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from orchestra.core.jsontext import Json, dumps
from orchestra.patterns.visits import visit_key

ItemKind: TypeAlias = Literal["run", "node", "tool", "handoff"]
ItemStatus: TypeAlias = Literal["running", "completed", "failed", "interrupted", "cancelled", "limit", "skipped"]
TAIL = 200


@dataclass(slots=True)
class TreeItem:
    """One line of the tree. ``agent`` is who works there, ``given`` a tool's arguments, ``note`` what came out of it.

    ``said`` is the end of what its model says now. ``own_tokens`` are those of its own model calls. ``key`` is that
    of a visit, ``group`` that of the ``map`` whose item number ``place`` this is.
    """

    kind: ItemKind
    label: str
    agent: str = ""
    status: ItemStatus = "running"
    given: str = ""
    note: str = ""
    said: str = ""
    own_tokens: int = 0
    began: float = 0.0
    seconds: float | None = None
    group: str = ""
    place: int = 0
    items: list[TreeItem] = field(default_factory=list)
    key: str = ""

    @property
    def tokens(self) -> int:
        """Its own tokens and those of all below it."""
        return self.own_tokens + sum(item.tokens for item in self.items)

    def to_json(self) -> dict[str, Json]:
        """What it is and what came of it, with all below it; what says nothing is left out."""
        out: dict[str, Json] = {"kind": self.kind, "name": self.label, "status": self.status}
        for name in ("agent", "given", "note", "key"):
            if text := getattr(self, name):
                out[name] = text
        if self.tokens:
            out["tokens"] = self.tokens
        if self.items:
            out["items"] = [item.to_json() for item in self.items]
        return out

    def walk(self) -> Iterator[TreeItem]:
        """It and all below it."""
        yield self
        for item in self.items:
            yield from item.walk()


@dataclass(frozen=True, slots=True)
class Change:
    """What an event changed: the item, and what is above it, outermost first, without the run itself."""

    item: TreeItem
    above: tuple[TreeItem, ...]


class RunTree:
    """The tree of one run. ``clock`` gives seconds; only differences count."""

    def __init__(self, run_id: str, label: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.root = TreeItem("run", label, began=clock())
        self._runs: dict[str, TreeItem] = {run_id: self.root}
        self._above: dict[int, tuple[TreeItem, ...]] = {id(self.root): ()}
        self._visits: dict[tuple[str, str], TreeItem] = {}
        self._calls: dict[tuple[str, str], TreeItem] = {}
        self._waiting: set[str] = set()
        self._counted: set[tuple[str, int]] = set()
        self._places: dict[str, TreeItem] = {}
        self._replies: dict[str, tuple[int, int]] = {}

    @property
    def branched(self) -> bool:
        """Whether there is more to show than one agent with its tools."""
        return any(item.kind != "tool" or item.items or item.agent for item in self.root.items)

    def add(self, event: RunEvent) -> Change | None:
        """Take an event in; what it began or ended, ``None`` when it is nothing that is told by itself."""
        at = self._runs.get(event.run_id) or self._attached(event)
        if isinstance(event, RunStarted):
            self._again(at)
        if isinstance(event, NodeStarted):
            return self._change(self._visit(at, event))
        if isinstance(event, NodeEnded):
            item = self._node_ended(at, event)
            return None if event.replayed else self._change(item)
        if isinstance(event, ToolStarted):
            self._tool_started(at, event)
        elif isinstance(event, ToolEnded):
            return self._tool_ended(at, event)
        elif isinstance(event, HandedOff):
            item = TreeItem("handoff", event.target, event.source, "completed", note=event.message, seconds=0.0)
            return self._change(self._below(at, item))
        elif isinstance(event, ModelReplied):
            self._replied(at, event)
        elif isinstance(event, TextDelta) and event.kind == "text":
            at.said = (at.said + event.text)[-TAIL:]
        elif isinstance(event, Interrupted):
            return self._asked(at, event)
        elif isinstance(event, RunEnded) and at is self.root:
            result = event.result
            self._ended(at, result.status, result.error or result.reason)
            for item in at.walk():  # what was cancelled or ran out of time has no end of its own
                if item.status == "running":
                    self._ended(item, "cancelled" if result.status != "interrupted" else "interrupted", "")
        return None

    # --- pieces -----------------------------------------------------------------------------------------------------

    def _attached(self, event: RunEvent) -> TreeItem:
        """The place of a run that is heard of for the first time: at a visit, at a tool call, or below its caller."""
        parent = max((run for run in self._runs if event.run_id.startswith(run + ".")), key=len, default="")
        above = self._runs.get(parent, self.root)
        suffix = event.run_id.removeprefix(parent + ".")
        place = event.path[-1] if event.path else event.agent
        found = self._visits.get((parent, suffix)) or self._places.get(event.run_id)
        if found is None:
            free = (item for item in above.items if item.kind == "tool" and item.label == place and not item.agent)
            found = next(free, None)
        if found is None:
            found = self._below(above, TreeItem("run", place, began=self._clock()))
        found.agent = event.agent
        self._runs[event.run_id] = found
        return found

    def _visit(self, at: TreeItem, event: NodeStarted | NodeEnded) -> TreeItem:
        key = visit_key(event.node, event.visit, event.item)
        item = self._visits.get((event.run_id, key))
        if item is None:
            item = visit_item(event.node, event.visit, event.item)
            item.began = self._clock()
            waited = (one for one in at.items if one.kind == "node" and not one.key and one.label == event.node)
            asked = next(waited, None)
            if asked is None:
                self._below(at, item)
            else:  # what waited for an approval starts now
                asked.label, asked.key, item = item.label, item.key, asked
            self._visits[event.run_id, key] = item
        if isinstance(event, NodeStarted):
            item.agent = event.runs
            self._again(item)
        return item

    def _node_ended(self, at: TreeItem, event: NodeEnded) -> TreeItem:
        item = self._visit(at, event)
        if event.replayed and item.status != "running":  # it was seen when it happened
            return item
        note = event.error or event.reason or (event.text if not item.items else "")
        self._ended(item, event.status, note)
        item.seconds = event.seconds
        if not item.tokens:  # nothing was heard of its calls: they were made before
            item.own_tokens = event.usage.total_tokens
        return item

    def _replied(self, at: TreeItem, event: ModelReplied) -> None:
        if (event.run_id, event.call_number) not in self._counted:  # a run that goes on tells its earlier ones again
            self._counted.add((event.run_id, event.call_number))
            at.own_tokens += event.usage.total_tokens
        self._replies[event.run_id] = (event.call_number + 1, 0)
        at.said = ""

    def _tool_started(self, at: TreeItem, event: ToolStarted) -> None:
        calls, index = self._replies.get(event.run_id, (0, 0))
        self._replies[event.run_id] = (calls, index + 1)
        if event.tool in RESERVED_TOOLS:  # a handoff is told by itself, unless it goes wrong
            return
        known = self._calls.get((event.run_id, event.call_id))
        if known is not None and known.status == "interrupted":
            self._again(known)
            return
        given = short_arguments(event.arguments)
        item = self._below(at, TreeItem("tool", event.tool, began=self._clock(), given=given))
        self._calls[event.run_id, event.call_id] = item
        # An agent as a tool is the run of this very call: the first reply of a run is number 0.
        self._places[f"{event.run_id}.{max(0, calls - 1)}.{index}"] = item

    def _tool_ended(self, at: TreeItem, event: ToolEnded) -> Change | None:
        item = self._calls.get((event.run_id, event.call_id))
        if item is None:
            if event.tool in RESERVED_TOOLS and not event.is_error:
                return None
            item = self._below(at, TreeItem("tool", event.tool, began=self._clock()))
        self._ended(item, "failed" if event.is_error else "completed", event.content)
        return self._change(item)

    def _asked(self, at: TreeItem, event: Interrupted) -> Change | None:
        asked = event.interrupt
        if asked.id in self._waiting:  # each run above tells it again
            return None
        self._waiting.add(asked.id)
        label = asked.node or asked.tool or asked.name
        running = (item for item in at.walk() if item.status == "running" and not item.items)
        item = next((item for item in running if label in (item.label, item.key.split("#")[0])), None)
        if item is None:
            item = self._below(at, TreeItem("node" if asked.node else "tool", label, began=self._clock()))
        self._ended(item, "interrupted", asked.reason or asked.name)
        return self._change(item)

    def _again(self, item: TreeItem) -> None:
        """It starts, or goes on after it has waited."""
        if item.status != "running":
            item.status, item.note, item.seconds, item.began = "running", "", None, self._clock()

    def _ended(self, item: TreeItem, status: ItemStatus, note: str) -> None:
        item.status, item.note, item.said = status, note, ""
        if item.seconds is None:
            item.seconds = self._clock() - item.began

    def _below(self, above: TreeItem, item: TreeItem) -> TreeItem:
        above.items.append(item)
        way = self._above[id(above)]
        self._above[id(item)] = way if above is self.root else (*way, above)
        return item

    def _change(self, item: TreeItem) -> Change:
        return Change(item, self._above[id(item)])

    def since(self, item: TreeItem) -> float:
        """How long an item has been running, or ran, in seconds."""
        return self._clock() - item.began if item.seconds is None else item.seconds


def visit_item(node: str, number: int, place: int | None) -> TreeItem:
    """The item of one visit of a node; ``place`` is that of the item of a ``map``, from 0."""
    label = node if number == 1 else f"{node}, visit {number}"
    item = TreeItem("node", label, key=visit_key(node, number, place))
    if place is not None:
        item.label += f" [{place + 1}]"
        item.group, item.place = visit_key(node, number, None), place
    return item


def short_arguments(arguments: object) -> str:
    """Arguments for people: ``city='Kyoto', nights=3``."""
    if not isinstance(arguments, dict):
        return ""
    parts = (f"{name}={value if isinstance(value, str) else dumps(value)}" for name, value in arguments.items())
    text = " ".join(", ".join(parts).split())
    return text if len(text) <= 60 else text[:59] + "…"
