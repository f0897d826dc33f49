"""An agent's definition as JSON, and loaded again on a host."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from orchestra.context.preprocessors import Preprocessor, parse
from orchestra.context.window_guard import window_of
from orchestra.core.agent import RESERVED_TOOLS, Agent
from orchestra.core.agent_tool import AgentTool
from orchestra.core.errors import ConfigError, InputError
from orchestra.core.jsontext import Json, digest, dumps, loads
from orchestra.core.messages import Message
from orchestra.core.model import Model, ToolSpec
from orchestra.memory.recorded_edits import read_edits
from orchestra.models.registry import resolve
from orchestra.models.scripted import ScriptedModel
from orchestra.runtime.child_tool import InputType, child_from, pack_child
from orchestra.runtime.function_ref import FunctionTable, Ref, from_text, load, pack
from orchestra.runtime.guardrails import NO_GUARDRAILS, LoadedGuardrails, load_guardrails, pack_guardrails
from orchestra.runtime.kinds import kind_named
from orchestra.runtime.memory_tools import MEMORY_TOOLS
from orchestra.runtime.output_type import OutputType
from orchestra.runtime.tool import Tool

_REFERENCES = {
    "tools",
    "hooks",
    "guardrails",
    "model",
    "sleeptime",
    "session_input_callback",
    "input_type",
    "output_type",
}


@dataclass(frozen=True, slots=True)
class Packed:
    """A definition for the store: its JSON text and hash."""

    name: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A definition that can run. ``agent`` holds its plain fields, ``size`` the bytes it is worth in a cache.

    ``window`` is what the model's own metadata say of it; ``spec_sizes`` are tools' descriptions with their tokens.
    Of a swarm or graph, ``kind`` and ``pattern`` say what it is, and ``shape`` what a run that has begun depends on.
    """

    agent: Agent
    digest: str
    tools: Mapping[str, Tool]
    hooks: Sequence[object]
    model: Model
    sleep_model: Model | str
    size: int
    merge: Callable[[list[Message], list[Message]], Sequence[Message]] | None = None
    preprocessors: tuple[Preprocessor, ...] = ()
    window: int | None = None
    spec_sizes: dict[str, tuple[ToolSpec, int]] = field(default_factory=dict)
    kind: str = ""
    pattern: object = None
    shape: Mapping[str, Json] | None = None
    output: OutputType | None = None
    guardrails: LoadedGuardrails = NO_GUARDRAILS

    @property
    def window_tokens(self) -> int:
        """The window of the agent's model in tokens, as far as the agent may use it."""
        return window_of(None, self.window, self.agent.context_tokens)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, without the memory tools."""
        return tuple(tool.spec for tool in self.tools.values())


def pack_agent(agent: Agent, table: FunctionTable, known: Mapping[str, Mapping[str, Json]] | None = None) -> Packed:
    """The definition of an agent. Its tools are checked now: names, schemas, that they can be imported.

    ``known`` says, by name, what the definitions of the runnables that it calls as tools tell of themselves.

    Raises:
        InputError: two tools have one name, or a reserved one.
        FunctionUnavailable: a tool that is named cannot be imported.
        ConfigError: a source of ``sleeptime`` is not there, or its recorded edits cannot be read.
    """
    plain = agent.model_dump(mode="json", exclude=_REFERENCES)
    tools = [_pack_tool(item, table, known or {}) for item in agent.tools]
    hooks = [from_text(item) if isinstance(item, str) else pack(item, table) for item in agent.hooks]
    callback = agent.session_input_callback
    merge = from_text(callback) if isinstance(callback, str) else pack(callback, table) if callback else None
    input_, output = reference(agent.input_type, table), reference(agent.output_type, table)
    guardrails = pack_guardrails(agent.guardrails, table)
    models = agent.model if isinstance(agent.model, tuple) else (agent.model,)
    sleeptime: Json = None
    if agent.sleeptime is not None:
        sleeptime = agent.sleeptime.model_dump(mode="json", exclude={"model"})
        sleeptime["model"] = _pack_model(agent.sleeptime.model, table)
        if agent.sleeptime.consolidator == "replay" and agent.sleeptime.script is not None:
            script = os.path.abspath(Path(agent.sleeptime.script).expanduser())
            read_edits(script)
            sleeptime["script"] = script
        sleeptime["sources"] = [_source(agent.name, i, one) for i, one in enumerate(agent.sleeptime.sources)]
    if agent.workspace is not None:
        plain["workspace"] = str(Path(os.path.abspath(Path(agent.workspace).expanduser())))
    value = {
        **plain,
        "tools": tools,
        "hooks": hooks,
        "guardrails": guardrails,
        "session_input_callback": merge,
        "input_type": input_,
        "output_type": output,
        "model": [_pack_model(model, table) for model in models],
        "sleeptime": sleeptime,
    }
    _tools(agent.name, [_load_tool(ref, table) for ref in tools])
    for ref in (*hooks, *([merge] if merge else [])):
        load(ref, table)
    _output(agent.name, output, table)
    load_guardrails(agent.name, guardrails, table)
    if input_ is not None:
        InputType(agent.name, load(input_, table))
    parse(agent.conversation.preprocessors, lambda path: load(from_text(path), table))
    return Packed(agent.name, dumps(value), digest(value))


def load_agent(text: str, digest_: str, table: FunctionTable) -> Loaded:
    """A definition ready to run on this host. Raises :class:`FunctionUnavailable`, :class:`ModelNotConfigured`."""
    value = loads(text)
    if "kind" in value:
        return kind_named(value["kind"]).load(value, digest_, table)
    refs, hook_refs, models = value.pop("tools"), value.pop("hooks"), value.pop("model")
    sleeptime, merge = value.pop("sleeptime"), value.pop("session_input_callback", None)
    output = value.pop("output_type", None)
    value.pop("input_type", None)  # for those who call it
    guardrails = value.pop("guardrails", {})
    sleep_model: Model | str = "auto"
    if sleeptime is not None:
        found = _load_model(sleeptime.pop("model"), table)
        sleep_model = found
        value["sleeptime"] = sleeptime
    agent = Agent.model_validate(value)
    loaded = [_load_model(model, table) for model in models]
    return Loaded(
        agent,
        digest_,
        _tools(agent.name, [_load_tool(ref, table) for ref in refs]),
        tuple(_hook(load(ref, table)) for ref in hook_refs),
        resolve(loaded[0] if len(loaded) == 1 else loaded),
        sleep_model,
        2048 + 4 * len(text),
        cast("Callable[[list[Message], list[Message]], Sequence[Message]]", load(merge, table)) if merge else None,
        parse(agent.conversation.preprocessors, lambda path: load(from_text(path), table)),
        output=_output(agent.name, output, table),
        guardrails=load_guardrails(agent.name, guardrails, table),
    )


def _output(agent: str, ref: Ref | None, table: FunctionTable) -> OutputType | None:
    return None if ref is None else OutputType(agent, load(ref, table))


def reference(value: object, table: FunctionTable) -> Ref | None:
    """What a definition keeps of a function or type that it names or holds; ``None`` of none."""
    return None if value is None else from_text(value) if isinstance(value, str) else pack(value, table)


def _pack_tool(item: object, table: FunctionTable, known: Mapping[str, Mapping[str, Json]]) -> Ref:
    child = item if isinstance(item, AgentTool) else AgentTool.of(item) if isinstance(item, str) else None
    if child is not None:
        return pack_child(child, known)
    return from_text(item) if isinstance(item, str) else pack(item, table)


def _load_tool(ref: Ref, table: FunctionTable) -> object:
    return child_from(ref, table) if "agent" in ref else load(ref, table)


def _source(agent: str, number: int, name: str) -> str:
    full = Path(os.path.abspath(Path(name).expanduser()))
    if not full.exists():
        problem = f"agent {agent!r}: {full}: there is no such file or folder"
        raise ConfigError(problem, field=f"sleeptime.sources[{number}]")
    return str(full)


def _pack_model(model: str | Model, table: FunctionTable) -> Json:
    if isinstance(model, str):
        return model
    if isinstance(model, ScriptedModel):
        return {"scripted": model.to_spec(), "value": table.put(model)}
    return {**pack(model, table), "object": ""}


def _load_model(value: Json, table: FunctionTable) -> str | Model:
    if isinstance(value, str):
        return value
    fields = cast("dict[str, Json]", value)
    if "scripted" in fields:
        # In the process that registered it the very object answers, so its `requests` can be looked at.
        if isinstance(mine := table.get(cast("str", fields["value"])), ScriptedModel):
            return mine
        return ScriptedModel.from_spec(cast("dict[str, Json]", fields["scripted"]))
    found = load(cast("Ref", {k: v for k, v in fields.items() if k != "object"}), table)
    if not isinstance(found, Model):
        raise InputError(f"{found!r} is no model: it needs a name and a stream(request) method")
    return found


def _hook(value: object) -> object:
    return value() if isinstance(value, type) else value


def _tools(agent: str, values: Sequence[object]) -> dict[str, Tool]:
    made: dict[str, Tool] = {}
    for value in values:
        if not callable(value):
            raise InputError(f"agent {agent!r}: {value!r} is no tool; give a function, or one made by @tool")
        one = value if isinstance(value, Tool) else Tool(cast("Callable[..., object]", value))
        if one.name in RESERVED_TOOLS or one.name in MEMORY_TOOLS:
            raise ConfigError(f"agent {agent!r}: the tool name {one.name!r} is reserved", hint="Choose another name.")
        if one.name in made:
            raise ConfigError(
                f"agent {agent!r} has two tools named {one.name!r}", hint="Rename one with @tool(name=…)."
            )
        made[one.name] = one
        _ = one.spec
    return made
