"""Scenario files: agents, swarms and graphs, a conversation to play, and what is expected of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from orchestra.core.agent import Agent
from orchestra.core.cluster import ClusterConfig
from orchestra.core.document import Document, KeyPath, nearest
from orchestra.core.errors import ConfigError, ConfigErrors, InputError
from orchestra.core.graph import Graph, GraphDraft
from orchestra.core.runnable import Runnable
from orchestra.core.scenario import Scenario, Turn
from orchestra.core.session_template import SessionTemplate
from orchestra.core.swarm import Swarm
from orchestra.core.validation import raise_all, validated
from orchestra.core.yamltext import parse
from orchestra.runtime.agent_file import AgentFile, check_together, finish_agents, read_documents
from orchestra.runtime.cluster_file import finish_cluster, read_cluster
from orchestra.runtime.override import Override, apply, parse_overrides
from orchestra.runtime.scenario_checks import faults_together, there_are
from orchestra.runtime.scenario_patterns import (
    AnyPattern,
    DraftPart,
    PatternPart,
    draft_part,
    faults_between,
    joined,
    pattern_documents,
    read_draft,
    read_pattern,
    taking_part,
    with_kinds,
)
from orchestra.runtime.text_file import read_text, shown
from orchestra.runtime.turn_file import load_turns

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A scenario with everything that it names. ``path`` and ``directory`` are absolute.

    ``patterns`` are its swarms and graphs, with the agents themselves in them. ``warnings`` tell what is allowed and
    probably not meant, each with file and line. The session's id was made from ``template``.
    """

    scenario: Scenario
    cluster: ClusterConfig
    agents: tuple[Agent, ...]
    turns: tuple[Turn, ...]
    directory: Path
    path: Path
    warnings: tuple[str, ...] = ()
    template: SessionTemplate = field(default_factory=lambda: SessionTemplate("default"))
    patterns: tuple[AnyPattern, ...] = ()

    @property
    def runnable(self) -> Runnable:
        """What gets the turns: an agent, a swarm or a graph."""
        return next(one for one in (*self.agents, *self.patterns) if one.name == self.scenario.run)

    @property
    def taking_part(self) -> tuple[Agent, ...]:
        """The agents that can have a part in a run: the one that gets the turns, or those within the pattern."""
        return taking_part(self.runnable, self.agents)


def load_scenario(
    path: str | Path,
    *,
    overrides: Sequence[str] = (),
    cluster: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> LoadedScenario:
    """The scenario in the file at ``path``, its cluster, agents and turns.

    Files are relative to the file that names them. ``overrides`` are ``key=value``, as of ``--set``: keys of the
    scenario, ``cluster.…``, or ``agents.NAME.…``. ``cluster`` is a cluster file that stands in for the scenario's own.
    ``environment`` (default: the process's) fills in variables. Raises :class:`ConfigError` with all faults.
    """
    return _Loader(Path(path), parse_overrides(overrides), environment).load(None if cluster is None else Path(cluster))


@dataclass(frozen=True, slots=True)
class ToDraw:
    """What can be drawn of a scenario: what it runs first, then its other swarms and graphs. ``agents`` take part."""

    runnables: tuple[Agent | Swarm | GraphDraft, ...]
    agents: tuple[Agent, ...] = ()


def load_drawings(
    path: str | Path, *, overrides: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> tuple[ToDraw, tuple[ConfigError, ...]]:
    """(what can be drawn of the file, what is wrong with it).

    A graph that is refused when built is drawn all the same, as long as its keys can be read. Raises
    :class:`ConfigError` when the file cannot be read at all.
    """
    loader = _Loader(Path(path), parse_overrides(overrides), environment)
    try:
        loaded = loader.load(None)
    except ConfigError as error:
        return ToDraw(loader.drafts()), error.errors if isinstance(error, ConfigErrors) else (error,)
    rest = (one for one in loaded.patterns if one is not loaded.runnable)
    return ToDraw((loaded.runnable, *rest), loaded.taking_part), ()  # type: ignore[arg-type]


class _Loader:
    def __init__(self, path: Path, overrides: Sequence[Override], environment: Mapping[str, str] | None) -> None:
        self.path, self.environment = path, environment
        self.for_cluster = tuple(found for one in overrides if (found := one.under("cluster.")))
        self.for_agents = tuple(found for one in overrides if (found := one.under("agents.")))
        special = tuple(one for one in overrides if one.key.startswith(("cluster.", "agents.")))
        variables = os.environ if environment is None else environment
        document = parse(read_text(path, what="scenario file"), file=shown(path), variables=variables)
        self.document = apply(document, [one for one in overrides if one not in special])
        self.whole = self.document
        self.errors: list[ConfigError] = []

    def load(self, cluster: Path | None) -> LoadedScenario:
        config = self._try(lambda: self._cluster(cluster))
        if cluster is not None or isinstance(self.document.get(("cluster",)), Mapping):
            self.document = self.document.without(("cluster",))
        kinds = {kind for kind, _ in pattern_documents(self.document, run="")}
        for kind in kinds:  # each is validated by itself, with the agents' names known
            self.document = self.document.without((kind,))
        scenario = self._try(lambda: validated(Scenario, self.document))
        if scenario is None:
            self._parts(())
            raise_all(self.errors)
            raise AssertionError("a scenario that does not validate has errors")
        files = self._try(lambda: self._agents(scenario))
        turns = self._try(lambda: self._turns(scenario)) or ()
        agents = tuple(file.agent for file in files or ())
        parts = self._parts(agents)
        patterns = template = None
        if files is not None and parts is not None:
            patterns = self._try(lambda: joined(parts, agents))
        if files is not None and patterns is not None:
            self.errors += faults_together(scenario, self.document, agents=agents, patterns=patterns, turns=turns)
            template = self._try(lambda: self._template(scenario, agents))
        raise_all(self.errors)
        assert config is not None
        assert files is not None
        assert patterns is not None
        assert template is not None
        session = template.fill(user=scenario.user, at=time.time())
        path = Path(os.path.abspath(self.path))
        return LoadedScenario(
            scenario.model_copy(
                update={
                    "cluster": config,
                    "session": session,
                    "swarm": tuple(one for one in patterns if isinstance(one, Swarm)),
                    "graph": tuple(one for one in patterns if isinstance(one, Graph)),
                }
            ),
            config,
            agents,
            turns,
            path.parent,
            path,
            tuple(warning for file in files for warning in file.warnings),
            template,
            patterns,
        )

    def drafts(self) -> tuple[Swarm | GraphDraft, ...]:
        """What can be drawn of the swarms and graphs, whatever is wrong with the rest."""
        out: list[Swarm | GraphDraft] = []
        for kind, part in pattern_documents(self.whole, run=str(self.whole.get(("run",)))):
            try:
                out.append(read_draft(kind, part))
            except ConfigError:  # told by load() already
                continue
        return with_kinds(out)

    def _parts(self, agents: Sequence[Agent]) -> tuple[PatternPart, ...] | None:
        """The swarms and graphs by themselves; ``None`` when one has a fault."""
        run = str(self.whole.get(("run",)))
        found: list[PatternPart] = []
        readable: list[DraftPart] = []
        documents = pattern_documents(self.whole, run=run, agents=[agent.name for agent in agents])
        for kind, document in documents:
            part = self._try(lambda kind=kind, document=document: read_pattern(kind, document))  # type: ignore[misc]
            found += [part] if part is not None else []
            draft = part or draft_part(kind, document)
            readable += [draft] if draft is not None else []
        if len(found) == len(documents):
            return tuple(found)
        if agents and len(readable) == len(documents):
            self.errors += faults_between(readable, agents)
        return None

    def _try(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except ConfigError as error:
            self.errors.append(error)
            return None

    def _cluster(self, other: Path | None) -> ClusterConfig | None:
        if other is not None:
            return read_cluster(other, overrides=self.for_cluster, environment=self.environment)
        value = self.document.written.get(("cluster",), self.document.get(("cluster",)))
        if isinstance(value, str):
            path = self._resolved(value, ("cluster",))
            self._must_be_there(path, ("cluster",), "cluster file")
            return read_cluster(path, overrides=self.for_cluster, environment=self.environment)
        if isinstance(value, Mapping) or "cluster" not in self.document.data:
            part = self.document.part("cluster")
            return finish_cluster(part, self.path.parent, overrides=self.for_cluster, environment=self.environment)
        return None  # of no kind that a cluster can be, which validation reports

    def _agents(self, scenario: Scenario) -> tuple[AgentFile, ...]:
        paths = [self._resolved(path, ("agents", i)) for i, path in enumerate(scenario.agents)]
        missing = [
            found
            for i, path in enumerate(paths)
            if (found := self._try_there(path, ("agents", i), "agent file")) is not None
        ]
        raise_all(missing)
        documents = read_documents(paths, environment=self.environment)
        files = finish_agents(documents, overrides=self._by_agent(documents), environment=self.environment)
        check_together(files)
        return files

    def _by_agent(self, documents: Sequence[Document]) -> list[list[Override]]:
        """The ``agents.NAME.…`` overrides of each document, ``agents.*.…`` for all of them before those.

        Names may hold dots: the longest that fits is meant.
        """
        names = [str(document.get(("name",))) for document in documents]
        everywhere = [found for override in self.for_agents if (found := override.under("*."))]
        out: list[list[Override]] = [list(everywhere) for _ in documents]
        errors: list[ConfigError] = []
        for override in self.for_agents:
            if override.under("*."):
                continue
            fitting = [name for name in names if override.under(f"{name}.")]
            if fitting:
                name = max(fitting, key=len)
                found = override.under(f"{name}.")
                assert found is not None
                out[names.index(name)].append(found)
                continue
            asked = override.key.split(".")[0]
            problem = f"{asked!r} has keys of its own; name one" if asked in names else f"there is no agent {asked!r}"
            hint = "Write agents.NAME.key=value" if asked in names else nearest(asked, names) or there_are(names)
            errors.append(ConfigError(problem, field=override.name, hint=hint))
        raise_all(errors)
        return out

    def _turns(self, scenario: Scenario) -> tuple[Turn, ...]:
        if isinstance(scenario.turns, Path):
            path = self._resolved(scenario.turns, ("turns",))
            self._must_be_there(path, ("turns",), "turn file")
            return load_turns(path)
        if not scenario.turns:
            raise self.document.fault(("turns",), "there are no turns in it")
        return tuple(turn if isinstance(turn, Turn) else self._said(turn, i) for i, turn in enumerate(scenario.turns))

    def _template(self, scenario: Scenario, agents: Sequence[Agent]) -> SessionTemplate:
        zones = [agent.conversation.time_zone for agent in agents if agent.name == scenario.run]
        try:
            template = SessionTemplate(scenario.session, *zones[:1])
            template.fill(user=scenario.user, at=time.time())
        except ConfigError as error:
            raise self.document.fault(("session",), error.problem, error.hint) from None
        except InputError as error:
            raise self.document.fault(("session",), str(error)) from None
        return template

    def _said(self, text: str, place: int) -> Turn:
        if not text:
            raise self.document.fault(("turns", place), "must not be empty")
        return Turn(content=text)

    def _resolved(self, name: str | Path, path: KeyPath) -> Path:
        """Relative to the scenario file, or to the current directory when the command line set it."""
        base = self.path.parent if self.document.setter(path) is None else Path.cwd()
        return Path(os.path.abspath(base / Path(name).expanduser()))

    def _try_there(self, file: Path, path: KeyPath, what: str) -> ConfigError | None:
        if file.exists():
            return None
        siblings = sorted(item.name for item in file.parent.iterdir()) if file.parent.is_dir() else []
        return self.document.fault(path, f"{shown(file)}: there is no such {what}", nearest(file.name, siblings))

    def _must_be_there(self, file: Path, path: KeyPath, what: str) -> None:
        if (error := self._try_there(file, path, what)) is not None:
            raise error
