"""The swarms and graphs of a scenario file, with the agents and functions that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from orchestra.core.agent import Agent
from orchestra.core.agent_tool import AgentTool
from orchestra.core.document import Document, KeyPath, nearest
from orchestra.core.errors import ConfigError
from orchestra.core.graph import Graph, GraphDraft, Node
from orchestra.core.runnable import Runnable, name_of
from orchestra.core.scenario import PATTERN_KINDS, PatternKind, named
from orchestra.core.swarm import Swarm, check_reserved_tools
from orchestra.core.validation import raise_all, validated
from orchestra.runtime.agent_file import Places

AnyPattern: TypeAlias = Swarm | Graph


@dataclass(frozen=True, slots=True)
class DraftPart:
    """A swarm, or a graph of any shape, as a scenario file writes it. ``document`` is where it stands."""

    pattern: Swarm | GraphDraft
    document: Document


@dataclass(frozen=True, slots=True)
class PatternPart(DraftPart):
    """A swarm or graph as a scenario file writes it: what it names are still names."""

    pattern: AnyPattern


def pattern_documents(
    document: Document, *, run: str, agents: Sequence[str] = ()
) -> tuple[tuple[PatternKind, Document], ...]:
    """The mappings under ``swarm`` and ``graph``, each as a document of its own.

    One without a name is called as the scenario says what to ``run``, or ``swarm`` or ``graph`` when that is an agent.
    """
    found: list[tuple[PatternKind, Document]] = []
    for kind in PATTERN_KINDS:
        value = document.data.get(kind)
        parts = [document.part(kind)] if isinstance(value, Mapping) else []
        if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
            parts = [document.part(kind, i) for i in range(len(value))]
        for part in parts:
            data = named(part.data, kind if run in agents else run)
            assert isinstance(data, Mapping)
            found.append((kind, replace(part, data=data)))
    return tuple(found)


def read_pattern(kind: PatternKind, document: Document) -> PatternPart:
    """The swarm or graph in ``document``; files that it names come back absolute. Raises all its faults together."""
    try:
        pattern: AnyPattern = validated(Swarm, document) if kind == "swarm" else validated(Graph, document)
    except ConfigError as error:
        draft = draft_part(kind, document)
        _, faults = ({}, []) if draft is None else _files(draft.pattern, document)
        raise_all([error, *faults])
        raise
    update, faults = _files(pattern, document)
    raise_all(faults)
    return PatternPart(pattern.model_copy(update=update), document)


def draft_part(kind: PatternKind, document: Document) -> DraftPart | None:
    """What can be read of a swarm or graph that :func:`read_pattern` refuses; ``None``: nothing."""
    try:
        return DraftPart(read_draft(kind, document), document)
    except ConfigError:
        return None


def _files(pattern: Swarm | GraphDraft, document: Document) -> tuple[dict[str, object], list[ConfigError]]:
    """(the fields that name files, with these absolute; the files that are not there)."""
    places = Places(document)
    update: dict[str, object] = {
        "hooks": tuple(places.reference(hook, ("hooks", i)) for i, hook in enumerate(pattern.hooks))
    }
    if isinstance(pattern, GraphDraft):
        update["nodes"] = {name: _absolute(node, places, ("nodes", name)) for name, node in pattern.nodes.items()}
    return update, places.errors


def read_draft(kind: PatternKind, document: Document) -> Swarm | GraphDraft:
    """As :func:`read_pattern`, for a drawing: a graph of any shape, and files are not looked for."""
    return validated(Swarm, document) if kind == "swarm" else validated(GraphDraft, document)


def with_kinds(drafts: Sequence[Swarm | GraphDraft]) -> tuple[Swarm | GraphDraft, ...]:
    """The drafts, with the swarms and graphs themselves in place of their names: so they are drawn as what they are."""
    known = {draft.name: draft for draft in drafts}

    def node(one: Node) -> Node:
        found = known.get(one.run) if isinstance(one.run, str) else None
        return one if found is None else one.model_copy(update={"run": found})

    return tuple(
        draft.model_copy(update={"nodes": {name: node(one) for name, one in draft.nodes.items()}})
        if isinstance(draft, GraphDraft)
        else draft
        for draft in drafts
    )


def joined(parts: Sequence[PatternPart], agents: Sequence[Agent]) -> tuple[AnyPattern, ...]:
    """The patterns with the agents and patterns themselves in place of their names, in the order of ``parts``.

    Raises:
        ConfigError: a name that two have or that leads nowhere, a pattern inside itself, or an agent with a tool whose
            name its swarm needs; all of them together.
    """
    raise_all(faults_between(parts, agents))
    made = _Joining({part.pattern.name: part for part in parts}, {agent.name: agent for agent in agents})
    return tuple(made.pattern(part.pattern.name) for part in parts)


def faults_between(parts: Sequence[DraftPart], agents: Sequence[Agent]) -> list[ConfigError]:
    """Names that two have or that lead nowhere, and agents with a tool whose name their swarm needs."""
    by_name = {agent.name: agent for agent in agents}
    patterns: dict[str, DraftPart] = {}
    errors: list[ConfigError] = []
    for part in parts:
        name = part.pattern.name
        if name in by_name or name in patterns:
            what = "an agent" if name in by_name else "another pattern"
            errors.append(part.document.fault(("name",), f"{what} is named {name!r} too", "Give it another name"))
        patterns.setdefault(name, part)
    there = (*by_name, *patterns)
    for part in parts:
        for path, name in _members(part):
            if name not in there:
                hint = nearest(name, there) or f"There are: {', '.join(there)}"
                errors.append(part.document.fault(path, f"there is no agent, swarm or graph {name!r}", hint))
            elif isinstance(part.pattern, Swarm) and name in by_name:
                errors += _reserved(part, path, by_name[name])
    return errors


def taking_part(
    runnable: Runnable | str, agents: Sequence[Agent], seen: frozenset[str] = frozenset()
) -> tuple[Agent, ...]:
    """The agents that ``runnable`` is or holds, and those of ``agents`` that they use as tools, each once."""
    if isinstance(runnable, str):
        runnable = next((agent for agent in agents if agent.name == runnable), runnable)
    if isinstance(runnable, str) or runnable.name in seen:
        return ()
    seen |= {runnable.name}
    within: list[Runnable | str] = []
    if isinstance(runnable, Agent):
        tools = (AgentTool.of(tool) if isinstance(tool, str) else tool for tool in runnable.tools)
        within = [tool.runnable for tool in tools if isinstance(tool, AgentTool)]
    elif isinstance(runnable, Swarm | Graph):
        within = list(runnable.members.values())
    found: dict[str, Agent] = {runnable.name: runnable} if isinstance(runnable, Agent) else {}
    for one in within:
        found |= {agent.name: agent for agent in taking_part(one, agents, seen)}
    return tuple(found.values())


class _Joining:
    """Puts runnables in place of names, those within first."""

    def __init__(self, patterns: Mapping[str, PatternPart], agents: Mapping[str, Agent]) -> None:
        self.patterns = patterns
        self.known: dict[str, Runnable] = dict(agents)

    def pattern(self, name: str, way: tuple[str, ...] = ()) -> AnyPattern:
        part = self.patterns[name]
        for path, member in _members(part):
            if member in (*way, name):
                around = " in ".join(map(repr, (member, *reversed((*way, name)))))
                raise part.document.fault(path, f"a pattern cannot be inside itself: {around}")
            if member not in self.known:
                self.pattern(member, (*way, name))
        made = part.pattern.with_members(self.known)
        self.known[name] = made
        return made


def _members(part: DraftPart) -> Iterator[tuple[KeyPath, str]]:
    """Where each agent or pattern is named, and the name."""
    pattern = part.pattern
    if isinstance(pattern, Swarm):
        for i, member in enumerate(pattern.agents):
            yield ("agents", i), name_of(member)
        return
    for name, node in pattern.nodes.items():
        if node.run is not None:
            path: KeyPath = ("nodes", name)
            yield (path if isinstance(part.document.get(path), str) else (*path, "run")), name_of(node.run)


def _reserved(part: DraftPart, path: KeyPath, agent: Agent) -> list[ConfigError]:
    try:
        check_reserved_tools(part.pattern.name, agent)
    except ConfigError as error:
        return [part.document.fault(path, error.problem, error.hint)]
    return []


def _absolute(node: Node, places: Places, path: KeyPath) -> Node:
    update = {
        key: places.reference(value, (*path, key))
        for key in ("function", "inputs")
        if isinstance(value := getattr(node, key), str)
    }
    return node.model_copy(update=update) if update else node
