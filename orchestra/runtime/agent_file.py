"""Agent files: Markdown with YAML front matter, whose body is the instructions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestra.core.agent import Agent, Sleeptime
from orchestra.core.blocks import Block
from orchestra.core.document import Document, KeyPath
from orchestra.core.errors import ConfigError
from orchestra.core.guardrails import Guardrails
from orchestra.core.later import NOT_YET
from orchestra.core.model import Model
from orchestra.core.validation import raise_all, validated
from orchestra.core.yamltext import parse_front_matter
from orchestra.runtime.environment import model_from_environment
from orchestra.runtime.override import Override, apply
from orchestra.runtime.text_file import read_text, shown

_SCRIPTED = "scripted:"
_REFERENCE = re.compile(r"(?P<where>.+):(?P<name>[A-Za-z_][A-Za-z0-9_.]*)")
_DECLARED = ("value", "limit", "description", "read_only")


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent and the document that it was read from."""

    agent: Agent
    document: Document

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and probably not meant, with file and line."""
        agent = self.agent
        found: list[tuple[KeyPath, str]] = [
            (
                ("blocks", i),
                f"the block {block.label!r} has no description, so the agent cannot know what belongs in it",
            )
            for i, block in enumerate(agent.blocks)
            if not block.description.strip()
        ]
        if agent.conversation.strategy == "full":
            found.append(
                (
                    ("conversation", "strategy"),
                    "with the strategy full prompts grow without bound; safeguard keeps what fits",
                )
            )
        return tuple(self.document.fault(path, problem).message() for path, problem in found)


def load_agent(path: str | Path, *, environment: Mapping[str, str] | None = None) -> Agent:
    """The agent in the file at ``path``; files that it names are relative to it and come back absolute.

    ``environment`` (default: the process's) fills in variables; its ``ORCHESTRA_MODEL`` stands in for the model
    ``auto``. Raises :class:`ConfigError` with all faults of the file.
    """
    return read_agent(Path(path), environment=environment).agent


def load_agents(folder: str | Path, *, environment: Mapping[str, str] | None = None) -> tuple[Agent, ...]:
    """The agents in the ``*.md`` files of ``folder``, by file name; a ``README.md`` is none.

    Raises :class:`ConfigError` when there are none, two have one name, or they disagree on a shared block.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError("there is no such folder of agents", shown(folder))
    paths = sorted(path for path in folder.glob("*.md") if path.stem.upper() != "README")
    if not paths:
        raise ConfigError("there are no agent files (*.md) in this folder", shown(folder))
    files = read_agents(paths, environment=environment)
    check_together(files)
    return tuple(file.agent for file in files)


def read_agents(paths: Sequence[Path], *, environment: Mapping[str, str] | None = None) -> tuple[AgentFile, ...]:
    """The agent files at ``paths``. Raises all faults of all files together."""
    documents = read_documents(paths, environment=environment)
    return finish_agents(documents, environment=environment)


def read_agent(path: Path, *, environment: Mapping[str, str] | None = None) -> AgentFile:
    """One agent with its document; see :func:`load_agent`."""
    return read_agents([path], environment=environment)[0]


def read_documents(paths: Sequence[Path], *, environment: Mapping[str, str] | None = None) -> tuple[Document, ...]:
    """The front matter and body of the agent files at ``paths``, not yet checked."""
    variables = os.environ if environment is None else environment
    out: list[Document] = []
    errors: list[ConfigError] = []
    for path in paths:
        try:
            out.append(parse_front_matter(read_text(path, what="agent file"), file=shown(path), variables=variables))
        except ConfigError as error:
            errors.append(error)
    raise_all(errors)
    return tuple(out)


def finish_agents(
    documents: Sequence[Document],
    *,
    overrides: Sequence[Sequence[Override]] = (),
    environment: Mapping[str, str] | None = None,
) -> tuple[AgentFile, ...]:
    """The agents of ``documents``, each with the ``overrides`` at the same place. Raises all faults together."""
    out: list[AgentFile] = []
    errors: list[ConfigError] = []
    for i, document in enumerate(documents):
        try:
            document = apply(document, overrides[i] if overrides else ())
            document = model_from_environment(document, os.environ if environment is None else environment)
            out.append(AgentFile(Places(document).absolute(validated(Agent, document)), document))
        except ConfigError as error:
            errors.append(error)
    raise_all(errors)
    return tuple(out)


def check_together(files: Sequence[AgentFile]) -> None:
    """Raise :class:`ConfigError` when two agents have one name or declare one shared block differently."""
    names: dict[str, AgentFile] = {}
    shared: dict[str, tuple[Block, str]] = {}
    errors: list[ConfigError] = []
    for file in files:
        agent, document = file.agent, file.document
        if (other := names.get(agent.name)) is not None:
            there = f"{other.document.file}:{other.document.line(('name',))}"
            errors.append(document.fault(("name",), f"another agent is named {agent.name!r} too: {there}"))
        names.setdefault(agent.name, file)
        for i, block in enumerate(agent.blocks):
            if block.scope != "shared":
                continue
            first, there = shared.setdefault(block.label, (block, f"{document.file}:{document.line(('blocks', i))}"))
            if differing := [name for name in _DECLARED if getattr(block, name) != getattr(first, name)]:
                problem = (
                    f"the shared block {block.label!r} is declared with another {' and '.join(differing)} in {there}"
                )
                hint = "; ".join(
                    f"{name}: {_short(block, name)} here, {_short(first, name)} there" for name in differing
                )
                errors.append(document.fault(("blocks", i), problem, hint))
    raise_all(errors)


def _short(block: Block, name: str) -> str:
    text = repr(getattr(block, name))
    return text if len(text) <= 60 else f"{text[:57]}…'"


class Places:
    """Makes the files that a document names absolute and checks that they are there; ``errors`` has the faults."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.errors: list[ConfigError] = []

    def absolute(self, agent: Agent) -> Agent:
        """The agent with absolute files. Raises all faults together."""
        model = agent.model
        if model == ():
            self.errors.append(self.document.fault(("model",), "the list names no model", "Name one, or write auto"))
        if isinstance(model, tuple):
            model = tuple(self._model(one, ("model", i)) for i, one in enumerate(model))
        elif isinstance(model, str):
            model = self._model(model, ("model",))
        callback = agent.session_input_callback
        changed = agent.model_copy(
            update={
                "model": model,
                "tools": tuple(self.reference(tool, ("tools", i)) for i, tool in enumerate(agent.tools)),
                "hooks": tuple(self.reference(hook, ("hooks", i)) for i, hook in enumerate(agent.hooks)),
                "guardrails": self._guardrails(agent.guardrails),
                "session_input_callback": callback and self.reference(callback, ("session_input_callback",)),
                "input_type": agent.input_type and self.reference(agent.input_type, ("input_type",)),
                "output_type": agent.output_type and self.reference(agent.output_type, ("output_type",)),
                "sleeptime": self._sleeptime(agent.sleeptime) if agent.sleeptime else None,
                "workspace": agent.workspace and str(self._beside(agent.workspace, ("workspace",))),
            }
        )
        raise_all(self.errors)
        return changed

    def _guardrails(self, guardrails: Guardrails) -> Guardrails:
        made = {
            stage: tuple(
                self.reference(one, ("guardrails", stage, i)) for i, one in enumerate(getattr(guardrails, stage))
            )
            for stage in Guardrails.model_fields
        }
        return guardrails.model_copy(update=made)

    def _sleeptime(self, sleeptime: Sleeptime) -> Sleeptime:
        script = sleeptime.script
        if script is not None:
            script = self.file(script, ("sleeptime", "script"))
        sources = tuple(self._source(name, ("sleeptime", "sources", i)) for i, name in enumerate(sleeptime.sources))
        model = self._model(sleeptime.model, ("sleeptime", "model"))
        return sleeptime.model_copy(update={"script": script, "model": model, "sources": sources})

    def _source(self, name: str, path: KeyPath) -> str:
        """A file or a folder."""
        full = self._beside(name, path)
        if not full.exists():
            problem = f"{shown(full)}: there is no such file or folder"
            self.errors.append(self.document.fault(path, problem, _relative(self.document, path)))
        return str(full)

    def _model(self, model: str | Model, path: KeyPath) -> str | Model:
        if not isinstance(model, str):
            return model
        if model.startswith(_SCRIPTED):
            return _SCRIPTED + self.file(model.removeprefix(_SCRIPTED), path)
        provider, colon, name = model.partition(":")
        if model not in ("auto", "extractive") and not (provider and colon and name):
            problem = f"{model!r} names no provider"
            self.errors.append(
                self.document.fault(
                    path, problem, "Write provider:name, such as openai:gpt-5-mini, or auto or extractive"
                )
            )
        return model

    def reference(self, reference: object, path: KeyPath) -> object:
        """A function such as tools/mail.py:send, which stands at ``path``, with its file absolute."""
        if not isinstance(reference, str):
            return reference
        if reference.startswith("agent:"):
            if not (name := reference.removeprefix("agent:").strip()):
                self.errors.append(self.document.fault(path, f"{reference!r} names no agent", "Write agent:researcher"))
            return reference if not name else f"agent:{name}"
        if reference.startswith("mcp:"):
            self.errors.append(self.document.fault(path, f"{reference!r} is {NOT_YET}", "Name a function"))
            return reference
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            hint = "Write tools/weather.py:forecast or package.module:function"
            self.errors.append(self.document.fault(path, f"{reference!r} names no function", hint))
            return reference
        where = found["where"]
        return f"{self.file(where, path)}:{found['name']}" if where.endswith(".py") else reference

    def _beside(self, name: str, path: KeyPath) -> Path:
        base = Path.cwd() if self.document.setter(path) is not None else Path(self.document.file or "").parent
        return Path(os.path.abspath(base / Path(name).expanduser()))

    def file(self, name: str, path: KeyPath) -> str:
        """``name`` relative to the agent file, or to the current directory when something else set it."""
        full = self._beside(name, path)
        if not full.is_file():
            there = "it is a directory" if full.is_dir() else "there is no such file"
            self.errors.append(self.document.fault(path, f"{shown(full)}: {there}", _relative(self.document, path)))
        return str(full)


def _relative(document: Document, path: KeyPath) -> str:
    return "" if document.setter(path) is not None else "Files are looked for beside the file that names them"
